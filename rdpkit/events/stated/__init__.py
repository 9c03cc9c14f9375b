"""Events of which somebody states a guarantee, and nothing else is known."""
