"""Claims: numbers that somebody printed, read strictly from TOML."""
