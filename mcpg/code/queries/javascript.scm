(class_declaration name: (_) @name) @def.class
(class name: (_) @name) @def.class
(function_declaration name: (identifier) @name) @def.function
(generator_function_declaration name: (identifier) @name) @def.function
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @def.method
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)]) @def.function
(assignment_expression left: (member_expression property: (property_identifier) @name) right: [(arrow_function) (function_expression)]) @def.function
(import_statement) @import
(export_statement source: (string)) @import
(variable_declarator name: (_) value: (call_expression function: (identifier) @require (#eq? @require "require"))) @import
(call_expression function: (identifier) @call)
(call_expression function: (member_expression object: (_) @receiver property: (property_identifier) @call))
(new_expression constructor: (identifier) @call)
(new_expression constructor: (member_expression object: (_) @receiver property: (property_identifier) @call))
(arguments (identifier) @ref)
(pair value: (identifier) @ref)
(shorthand_property_identifier) @ref
(return_statement (identifier) @ref)
(array (identifier) @ref)
(variable_declarator name: (identifier) @variable value: [(new_expression) (call_expression) (identifier) (member_expression) (await_expression)] @value)
(assignment_expression left: (member_expression object: (this)) @variable right: (_) @value)
