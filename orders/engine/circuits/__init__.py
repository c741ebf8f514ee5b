"""The circuit breakers of the agents: pure rules, and the rows that all processes share."""
