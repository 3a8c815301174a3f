(class_definition name: (identifier) @name) @def.class
(function_definition name: (identifier) @name) @def.function
(assignment left: (identifier) @name right: (lambda)) @def.function
(class_definition superclasses: (argument_list [(identifier) (attribute)] @base))
(class_definition superclasses: (argument_list (subscript value: (_) @base)))
(class_definition body: (block . (expression_statement (string) @doc)))
(function_definition body: (block . (expression_statement (string) @doc)))
(module . (comment)* . (expression_statement (string) @doc))
(import_statement) @import
(import_from_statement) @import
(call function: (identifier) @call)
(call function: (attribute object: (_) @receiver attribute: (identifier) @call))
(assignment left: [(identifier) (attribute)] @variable right: (_) @value)
(assignment left: [(identifier) (attribute)] @variable type: (type) @type)
(typed_parameter (identifier) @parameter type: (type) @type)
(typed_default_parameter name: (identifier) @parameter type: (type) @type)
(as_pattern (_) @value alias: (as_pattern_target (identifier) @variable))
