(abstract_class_declaration name: (_) @name) @def.class
(interface_declaration name: (_) @name) @def.interface
(enum_declaration name: (_) @name) @def.enum
(type_alias_declaration name: (_) @name) @def.type
(internal_module name: [(identifier) (nested_identifier)] @name) @def.module
(method_signature name: (property_identifier) @name) @def.method
(abstract_method_signature name: (property_identifier) @name) @def.method
(function_signature name: (identifier) @name) @def.function
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name value: [(arrow_function) (function_expression)]) @def.method
(extends_clause value: [(identifier) (member_expression)] @base)
(implements_clause [(type_identifier) (nested_type_identifier)] @base)
(implements_clause (generic_type name: [(type_identifier) (nested_type_identifier)] @base))
(extends_type_clause [(type_identifier) (nested_type_identifier)] @base)
(extends_type_clause (generic_type name: [(type_identifier) (nested_type_identifier)] @base))
(required_parameter pattern: (identifier) @parameter type: (type_annotation (_) @type))
(optional_parameter pattern: (identifier) @parameter type: (type_annotation (_) @type))
(required_parameter (accessibility_modifier) pattern: (identifier) @field type: (type_annotation (_) @type))
(public_field_definition name: (property_identifier) @field type: (type_annotation (_) @type))
(public_field_definition name: (property_identifier) @field !type value: (_) @value)
(variable_declarator name: (identifier) @variable type: (type_annotation (_) @type))
