"""A client of the sandbox's own pages, for the chaos page: its faults and its ledgers."""

import http.client
import json
from collections.abc import Iterable, Mapping
from typing import Any

TIMEOUT = 2.0
"""Seconds that the sandbox has to answer."""


class Sandbox:
    """The sandbox at a host and port."""

    def __init__(self, bind: str) -> None:
        self._bind = bind

    def faults(self) -> Mapping[str, Mapping[str, Any]] | None:
        """Returns the faults in force, by service; None if the sandbox does not answer."""
        faults: Mapping[str, Mapping[str, Any]] | None = self._call("GET", "/_faults")
        return faults

    def set_faults(self, service: str, faults: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Sets a service's faults and returns those in force; None if the sandbox did not take them."""
        present: Mapping[str, Any] | None = self._call("PUT", f"/_faults/{service}", json.dumps(faults))
        return present

    def clear(self) -> bool:
        """Removes all faults."""
        return self._call("DELETE", "/_faults") is not None

    def effects(self, services: Iterable[str]) -> Mapping[str, int]:
        """Counts the effects in each service's ledger."""
        return {service: len(self._call("GET", f"/_ledger/{service}") or ()) for service in services}

    def _call(self, method: str, path: str, body: str | None = None) -> Any:
        connection = http.client.HTTPConnection(self._bind, timeout=TIMEOUT)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return json.loads(response.read()) if response.status == 200 else None
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()
