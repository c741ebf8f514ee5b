"""The agents' circuit breakers: the pure rules, the rows that all processes share, credit, and overrides."""
