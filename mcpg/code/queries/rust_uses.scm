(block) @block
(closure_expression) @block
(match_arm) @block
(for_expression) @block
(if_expression) @block
(while_expression) @block
(type_parameter name: (type_identifier) @typevar)
(const_parameter name: (identifier) @variable)
(parameter pattern: (identifier) @variable)
(closure_parameters (identifier) @variable)
(let_declaration pattern: (identifier) @variable)
(tuple_pattern (identifier) @variable)
(tuple_struct_pattern type: (_) (identifier) @variable)
(field_pattern name: (shorthand_field_identifier) @variable)
(field_pattern pattern: (identifier) @variable)
(for_expression pattern: (identifier) @variable)
(ref_pattern (identifier) @variable)
(mut_pattern (identifier) @variable)
(reference_pattern (identifier) @variable)
(captured_pattern . (identifier) @variable)
(slice_pattern (identifier) @variable)
(or_pattern (identifier) @ref)
(match_pattern . (identifier) @variable .)
(const_item name: (identifier) @variable)
(static_item name: (identifier) @variable)
(enum_variant name: (identifier) @skip)
(attribute (identifier) @skip)
(macro_invocation macro: (identifier) @skip)
(mod_item name: (identifier) @skip)
(macro_definition) @macro
(scoped_identifier) @member
(scoped_type_identifier) @member
(type_identifier) @type
[(identifier) (shorthand_field_identifier)] @ref
