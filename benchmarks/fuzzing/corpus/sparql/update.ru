INSERT DATA { <urn:a> <urn:b> 1.5e3 } ; DROP ALL
