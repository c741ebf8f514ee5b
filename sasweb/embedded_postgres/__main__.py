"""`python -m sasweb.embedded_postgres -- COMMAND…`: runs a command with a temporary server."""

import sys

from sasweb.embedded_postgres.place import PostgresError
from sasweb.embedded_postgres.server import main

try:
    sys.exit(main(sys.argv[1:]))
except (PostgresError, FileNotFoundError, PermissionError) as error:
    sys.exit(f"sasweb: {error}")
