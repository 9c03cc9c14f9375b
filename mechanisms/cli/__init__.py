"""Commands about mechanisms."""
