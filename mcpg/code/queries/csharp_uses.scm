(block) @block
(for_statement) @block
(foreach_statement) @block
(using_statement) @block
(catch_clause) @block
(switch_section) @block
(lambda_expression) @block
(anonymous_method_expression) @block
(type_parameter name: (identifier) @typevar)
(variable_declarator name: (identifier) @variable)
(parameter name: (identifier) @variable)
(implicit_parameter) @variable
(foreach_statement left: (identifier) @variable)
(declaration_expression name: (identifier) @variable)
(declaration_pattern name: (identifier) @variable)
(var_pattern name: (identifier) @variable)
(catch_declaration name: (identifier) @variable)
(tuple_pattern (identifier) @variable)
(event_declaration name: (identifier) @variable)
(enum_member_declaration name: (identifier) @skip)
(argument name: (identifier) @skip)
(attribute_argument (assignment_expression left: (identifier) @skip))
(labeled_statement (identifier) @skip)
(goto_statement (identifier) @skip)
(initializer_expression (assignment_expression left: (identifier) @skip))
(namespace_declaration name: (_) @skip)
(namespace_declaration name: (qualified_name (identifier) @skip))
(file_scoped_namespace_declaration name: (_) @skip)
(file_scoped_namespace_declaration name: (qualified_name (identifier) @skip))
(member_access_expression name: (generic_name (identifier) @skip))
(member_binding_expression name: (identifier) @skip)
(destructor_declaration name: (identifier) @skip)
(base_list (identifier) @skip)
(parameter type: (identifier) @type)
(variable_declaration type: (identifier) @type)
(property_declaration type: (identifier) @type)
(method_declaration returns: (identifier) @type)
(nullable_type type: (identifier) @type)
(array_type type: (identifier) @type)
(type_argument_list (identifier) @type)
(generic_name (identifier) @type)
(typeof_expression type: (identifier) @type)
(cast_expression type: (identifier) @type)
(as_expression right: (identifier) @type)
(declaration_pattern type: (identifier) @type)
(catch_declaration type: (identifier) @type)
(type_parameter_constraint type: (identifier) @type)
(foreach_statement type: (identifier) @type)
(object_creation_expression type: (identifier) @type)
(attribute name: (identifier) @attribute)
(qualified_name) @member
(member_access_expression) @member
(identifier) @ref
