"""Events that select: one candidate or one run out of several."""
