"""What is read and written: numbers as text, tables of TOML and JSON, columns, journals, files."""
