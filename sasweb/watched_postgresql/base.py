"""The backend: `DATABASES["default"]["ENGINE"]` of a web process."""

from typing import Any

import psycopg
from django.db.backends.postgresql import base

from sasweb.database_circuit import CIRCUIT, WatchedConnection


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection of the pool, or one of a thread that has its own and is not refused."""

    def __init__(self, settings_dict: dict[str, Any], *args: Any, **options: Any) -> None:
        if pool := settings_dict["OPTIONS"].get("pool"):
            pool["connection_class"] = WatchedConnection
        super().__init__(settings_dict, *args, **options)

    def get_new_connection(self, conn_params: Any) -> Any:
        """Takes a connection. Raises psycopg's `OperationalError`, at once while the database does not answer."""
        if not self.pool:
            return super().get_new_connection(conn_params)
        CIRCUIT.check()
        try:
            return super().get_new_connection(conn_params)
        except psycopg.OperationalError:
            CIRCUIT.suspect()
            raise
