(block) @block
(if_statement) @block
(for_statement) @block
(func_literal) @block
(expression_switch_statement) @block
(type_switch_statement) @block
(expression_case) @block
(type_case) @block
(default_case) @block
(communication_case) @block
(type_parameter_declaration name: (identifier) @typevar)
(parameter_declaration name: (identifier) @variable)
(variadic_parameter_declaration name: (identifier) @variable)
(short_var_declaration left: (expression_list (identifier) @variable))
(var_spec name: (identifier) @variable)
(const_spec name: (identifier) @variable)
(range_clause left: (expression_list (identifier) @variable) ":=")
(receive_statement left: (expression_list (identifier) @variable) ":=")
(type_switch_statement alias: (expression_list (identifier) @variable))
(keyed_element key: (literal_element (identifier) @skip))
(type_identifier) @type
(qualified_type) @member
(selector_expression) @member
(identifier) @ref
