"""The embedded PostgreSQL server, for machines that have none."""
