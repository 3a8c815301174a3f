(class_declaration name: (identifier) @name) @def.class
(record_declaration name: (identifier) @name) @def.class
(interface_declaration name: (identifier) @name) @def.interface
(struct_declaration name: (identifier) @name) @def.struct
(enum_declaration name: (identifier) @name) @def.enum
(delegate_declaration name: (identifier) @name) @def.type
(method_declaration name: (identifier) @name) @def.method
(local_function_statement name: (identifier) @name) @def.function
(constructor_declaration name: (identifier) @name) @def.constructor
(base_list [(identifier) (qualified_name)] @base)
(base_list (generic_name (identifier) @base))
(namespace_declaration name: (_) @package)
(file_scoped_namespace_declaration name: (_) @package)
(using_directive) @import
(invocation_expression function: (identifier) @call)
(invocation_expression function: (generic_name (identifier) @call))
(invocation_expression function: (member_access_expression expression: _ @receiver name: (identifier) @call))
(invocation_expression function: (member_access_expression expression: _ @receiver name: (generic_name (identifier) @call)))
(invocation_expression function: (conditional_access_expression (_) @receiver (member_binding_expression name: (identifier) @call)))
(object_creation_expression type: [(identifier) (qualified_name)] @create)
(object_creation_expression type: (generic_name (identifier) @create))
(parameter type: (_) @type name: (identifier) @parameter)
(field_declaration (variable_declaration type: (_) @type (variable_declarator name: (identifier) @field)))
(property_declaration type: (_) @type name: (identifier) @field)
(local_declaration_statement (variable_declaration type: [(identifier) (generic_name) (nullable_type) (qualified_name) (array_type) (predefined_type)] @type (variable_declarator name: (identifier) @variable)))
(local_declaration_statement (variable_declaration type: (implicit_type) (variable_declarator name: (identifier) @variable (_) @value)))
(foreach_statement type: [(identifier) (generic_name) (qualified_name)] @type left: (identifier) @variable)
(catch_declaration type: (_) @type name: (identifier) @variable)
(declaration_pattern type: (_) @type name: (identifier) @variable)
