"""The agent host: runs agents. The role, one call, and what it keeps in the database."""
