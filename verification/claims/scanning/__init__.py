"""Reading code of repositories for calls of privacy libraries; nothing is imported or run."""
