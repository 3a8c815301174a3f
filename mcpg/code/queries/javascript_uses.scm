(statement_block) @block
(for_statement) @block
(for_in_statement) @block
(catch_clause) @block
(switch_body) @block
(arrow_function) @block
(function_expression) @function
(generator_function) @function
(object) @object
(class) @class
(variable_declaration (variable_declarator name: (identifier) @hoisted))
(variable_declaration (variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @hoisted)))
(variable_declarator name: (identifier) @variable)
(shorthand_property_identifier_pattern) @variable
(pair_pattern value: (identifier) @variable)
(array_pattern (identifier) @variable)
(rest_pattern (identifier) @variable)
(assignment_pattern left: (identifier) @variable)
(for_in_statement left: (identifier) @variable)
(catch_clause parameter: (identifier) @variable)
(arrow_function parameter: (identifier) @variable)
(function_expression name: (identifier) @variable)
(member_expression) @member
[(identifier) (shorthand_property_identifier)] @ref
