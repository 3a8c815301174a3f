(block) @block
(for_statement) @block
(enhanced_for_statement) @block
(lambda_expression) @block
(catch_clause) @block
(try_with_resources_statement) @block
(switch_rule) @block
(switch_block_statement_group) @block
(object_creation_expression (class_body) @class)
(enum_constant (class_body) @class)
(type_parameter (type_identifier) @typevar)
(variable_declarator name: (identifier) @variable)
(formal_parameter name: (identifier) @variable)
(inferred_parameters (identifier) @variable)
(lambda_expression parameters: (identifier) @variable)
(catch_formal_parameter name: (identifier) @variable)
(enhanced_for_statement name: (identifier) @variable)
(instanceof_expression name: (identifier) @variable)
(type_pattern (identifier) @variable)
(enum_constant name: (identifier) @skip)
(element_value_pair key: (identifier) @skip)
(scoped_identifier name: (identifier) @skip)
(package_declaration (_) @skip)
(labeled_statement (identifier) @skip)
(break_statement (identifier) @skip)
(continue_statement (identifier) @skip)
(method_reference (identifier) @ref)
(marker_annotation name: (identifier) @type)
(annotation name: (identifier) @type)
(type_identifier) @type
(scoped_type_identifier) @member
(field_access) @member
(identifier) @ref
