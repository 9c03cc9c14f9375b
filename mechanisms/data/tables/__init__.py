"""Tables of people's own: a public schema, codes in a finite domain, and back to the same types."""
