(abstract_class_declaration name: (_) @name) @def.class
(interface_declaration name: (_) @name) @def.interface
(enum_declaration name: (_) @name) @def.enum
(type_alias_declaration name: (_) @name) @def.type
(method_signature name: (property_identifier) @name) @def.method
(abstract_method_signature name: (property_identifier) @name) @def.method
(function_signature name: (identifier) @name) @def.function
(extends_clause value: [(identifier) (member_expression)] @base)
(implements_clause (type_identifier) @base)
(implements_clause (generic_type name: (type_identifier) @base))
(extends_type_clause (type_identifier) @base)
(extends_type_clause (generic_type name: (type_identifier) @base))
(type_annotation (type_identifier) @ref)
(type_annotation (generic_type name: (type_identifier) @ref))
(type_arguments (type_identifier) @ref)
(required_parameter pattern: (identifier) @parameter type: (type_annotation (_) @type))
(required_parameter pattern: (identifier) @parameter)
(optional_parameter pattern: (identifier) @parameter type: (type_annotation (_) @type))
(required_parameter (accessibility_modifier) pattern: (identifier) @field type: (type_annotation (_) @type))
(public_field_definition name: (property_identifier) @field type: (type_annotation (_) @type))
(public_field_definition name: (property_identifier) @field value: (_) @value)
(variable_declarator name: (identifier) @variable type: (type_annotation (_) @type))
