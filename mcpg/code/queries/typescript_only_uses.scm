(required_parameter pattern: (identifier) @variable)
(optional_parameter pattern: (identifier) @variable)
(function_type) @block
(type_parameter name: (type_identifier) @typevar)
(infer_type (type_identifier) @typevar)
(mapped_type_clause name: (type_identifier) @typevar)
(type_predicate name: (identifier) @skip)
(nested_type_identifier) @member
(type_identifier) @type
