(jsx_opening_element name: (identifier) @call @element)
(jsx_self_closing_element name: (identifier) @call @element)
(jsx_closing_element name: (identifier) @element)
