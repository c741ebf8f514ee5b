"""Django's PostgreSQL backend for the web, which does not wait for a database that does not answer."""
