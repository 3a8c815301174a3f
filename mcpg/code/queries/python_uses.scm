(lambda) @block
(list_comprehension) @block
(set_comprehension) @block
(dictionary_comprehension) @block
(generator_expression) @block
(assignment left: (identifier) @variable)
(augmented_assignment left: (identifier) @variable)
(parameters (identifier) @variable)
(default_parameter name: (identifier) @variable)
(typed_parameter (identifier) @variable)
(list_splat_pattern (identifier) @variable)
(dictionary_splat_pattern (identifier) @variable)
(lambda_parameters (identifier) @variable)
(for_statement left: (identifier) @variable)
(for_in_clause left: (identifier) @variable)
(pattern_list (identifier) @variable)
(tuple_pattern (identifier) @variable)
(list_pattern (identifier) @variable)
(as_pattern_target (identifier) @variable)
(named_expression name: (identifier) @variable)
(case_pattern (dotted_name . (identifier) @variable .))
(splat_pattern (identifier) @variable)
(global_statement (identifier) @global)
(keyword_argument name: (identifier) @skip)
(keyword_pattern . (identifier) @skip)
(attribute) @member
(identifier) @ref
