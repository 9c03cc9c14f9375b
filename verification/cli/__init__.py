"""Commands about claims and their verification."""
