(class_declaration name: (_) @name) @def.class
(class name: (_) @name) @def.class
(function_declaration name: (identifier) @name) @def.function
(generator_function_declaration name: (identifier) @name) @def.function
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @def.method
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)]) @def.function
(variable_declarator name: (identifier) @name value: (class !name)) @def.class
(program (lexical_declaration (variable_declarator name: (identifier) @name value: (object)) @def.constant))
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @def.constant))
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @def.method
(assignment_expression left: (member_expression object: (_) @owner property: (property_identifier) @name) right: [(arrow_function) (function_expression)]) @def.function
(import_statement) @import
(export_statement source: (string)) @import
(export_statement !source (export_clause)) @import
(export_statement "default" value: (identifier) @default)
(export_statement "default" declaration: (_ name: (_) @default))
(variable_declarator name: (_) value: (call_expression function: (identifier) @require (#eq? @require "require"))) @import
(call_expression function: (identifier) @call)
(call_expression function: (member_expression object: (_) @receiver property: [(property_identifier) (private_property_identifier)] @call))
(new_expression constructor: (identifier) @call)
(new_expression constructor: (member_expression object: (_) @receiver property: (property_identifier) @call))
(variable_declarator name: (identifier) @variable value: (_) @value)
(assignment_expression left: (identifier) @assigned right: (_) @value)
(assignment_expression left: (member_expression object: (this)) @variable right: (_) @value)
