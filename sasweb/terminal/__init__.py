"""The API's client for a terminal, `bin/sasweb`: it runs against any server, with Python's standard library alone."""
