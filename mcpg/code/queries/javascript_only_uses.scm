(formal_parameters (identifier) @variable)
