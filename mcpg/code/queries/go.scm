(function_declaration name: (identifier) @name) @def.function
(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @owner)) name: (field_identifier) @name) @def.method
(method_declaration receiver: (parameter_list (parameter_declaration name: (identifier) @parameter type: (_) @type)))
(type_spec name: (type_identifier) @name type: (struct_type)) @def.struct
(type_spec name: (type_identifier) @name type: (interface_type)) @def.interface
(type_spec name: (type_identifier) @name type: [(type_identifier) (qualified_type) (function_type) (map_type) (slice_type) (array_type) (pointer_type) (channel_type) (generic_type)]) @def.type
(type_alias name: (type_identifier) @name) @def.type
(method_elem name: (field_identifier) @name) @def.method
(field_declaration !name type: (_) @base)
(interface_type (type_elem . [(type_identifier) (qualified_type)] @base .))
(field_declaration name: (field_identifier) @field type: (_) @type)
(package_clause (package_identifier) @package)
(import_spec) @import
(call_expression function: (identifier) @call)
(call_expression function: (selector_expression operand: (_) @receiver field: (field_identifier) @call))
(parameter_declaration name: (identifier) @parameter type: (_) @type)
(var_spec name: (identifier) @variable type: (_) @type)
(short_var_declaration left: (expression_list . (identifier) @variable) right: (expression_list . (_) @value))
(short_var_declaration left: (expression_list . (identifier) @variable) right: (expression_list . (type_assertion_expression type: (_) @type)))
(var_spec . name: (identifier) @variable !type value: (expression_list . (_) @value))
