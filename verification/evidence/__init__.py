"""What is kept of tests of code: how to repeat one, and what all of them together say."""
