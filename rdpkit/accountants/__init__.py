"""From an event to a number: Renyi divergences at the best order, or distributions of losses."""
