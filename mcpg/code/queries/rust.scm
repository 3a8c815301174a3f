(struct_item name: (type_identifier) @name) @def.struct
(union_item name: (type_identifier) @name) @def.struct
(enum_item name: (type_identifier) @name) @def.enum
(trait_item name: (type_identifier) @name) @def.trait
(type_item name: (type_identifier) @name) @def.type
(mod_item name: (identifier) @name body: (declaration_list)) @def.module
(function_item name: (identifier) @name) @def.function
(function_signature_item name: (identifier) @name) @def.function
(impl_item type: [(type_identifier) (scoped_type_identifier)] @name) @def.impl
(impl_item type: (generic_type type: [(type_identifier) (scoped_type_identifier)] @name)) @def.impl
(impl_item trait: [(type_identifier) (scoped_type_identifier)] @base)
(impl_item trait: (generic_type type: [(type_identifier) (scoped_type_identifier)] @base))
(use_declaration) @import
(call_expression function: (identifier) @call)
(call_expression function: (generic_function function: (identifier) @call))
(call_expression function: (field_expression value: (_) @receiver field: (field_identifier) @call))
(call_expression function: (scoped_identifier path: (_) @receiver name: (identifier) @call))
(parameter pattern: (identifier) @parameter type: (_) @type)
(field_declaration name: (field_identifier) @field type: (_) @type)
(let_declaration pattern: (identifier) @variable type: (_) @type)
(let_declaration pattern: (identifier) @variable !type value: (_) @value)
