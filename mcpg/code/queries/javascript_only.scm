(class_heritage [(identifier) (member_expression)] @base)
(field_definition property: [(property_identifier) (private_property_identifier)] @name value: [(arrow_function) (function_expression)]) @def.method
(field_definition property: (property_identifier) @field value: (_) @value)
(jsx_opening_element name: (identifier) @call @element)
(jsx_self_closing_element name: (identifier) @call @element)
(jsx_closing_element name: (identifier) @element)
