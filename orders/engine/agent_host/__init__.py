"""The agent host runs agents: the role, one call, its view of the circuits, and its records in the database."""
