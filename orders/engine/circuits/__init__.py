"""The circuit breakers of the agents: the pure rules, the rows that all processes share, credit, and overrides."""
