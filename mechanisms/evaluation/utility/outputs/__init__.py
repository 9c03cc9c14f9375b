"""A report in words, and the forms that these take."""

from rdpkit.mechanisms.evaluation.utility.outputs.page import utility_markdown, utility_page

__all__ = ["utility_markdown", "utility_page"]
