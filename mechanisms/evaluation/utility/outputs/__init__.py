"""A report in words, and the forms that these take."""
