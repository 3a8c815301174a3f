(class_declaration name: (identifier) @name) @def.class
(record_declaration name: (identifier) @name) @def.class
(interface_declaration name: (identifier) @name) @def.interface
(annotation_type_declaration name: (identifier) @name) @def.interface
(enum_declaration name: (identifier) @name) @def.enum
(method_declaration name: (identifier) @name) @def.method
(constructor_declaration name: (identifier) @name) @def.constructor
(superclass [(type_identifier) (scoped_type_identifier)] @base)
(superclass (generic_type [(type_identifier) (scoped_type_identifier)] @base))
(super_interfaces (type_list [(type_identifier) (scoped_type_identifier)] @base))
(super_interfaces (type_list (generic_type [(type_identifier) (scoped_type_identifier)] @base)))
(extends_interfaces (type_list [(type_identifier) (scoped_type_identifier)] @base))
(extends_interfaces (type_list (generic_type [(type_identifier) (scoped_type_identifier)] @base)))
(object_creation_expression type: [(type_identifier) (scoped_type_identifier)] @base (class_body) @body)
(object_creation_expression type: (generic_type [(type_identifier) (scoped_type_identifier)] @base) (class_body) @body)
(package_declaration (_) @package)
(import_declaration) @import
(method_invocation !object name: (identifier) @call)
(method_invocation object: (_) @receiver name: (identifier) @call)
(object_creation_expression type: [(type_identifier) (scoped_type_identifier)] @create)
(object_creation_expression type: (generic_type [(type_identifier) (scoped_type_identifier)] @create))
(method_reference . (_) @receiver (identifier) @method_ref)
(formal_parameter type: (_) @type name: (identifier) @parameter)
(field_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @field))
(local_variable_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @variable))
(enhanced_for_statement type: (_) @type name: (identifier) @variable)
(resource type: (_) @type name: (identifier) @variable)
(instanceof_expression right: (type_identifier) @type name: (identifier) @variable)
