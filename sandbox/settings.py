"""The sandbox's settings from the environment: `DEBUG`, `DRILL`, `SANDBOX_BIND` and `VAR_DIR`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROJECT_DIR = Path(__file__).resolve().parent.parent
DEFAULT_BIND = "127.0.0.1:9000"


class SettingsError(ValueError):
    """Raised when a variable has an invalid value. The text is one line."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where to listen and where to keep the ledger. The mail sink listens one port above `port`."""

    host: str
    port: int
    var_dir: Path

    @property
    def smtp_port(self) -> int:
        """The port of the mail sink."""
        return self.port + 1

    @property
    def ledger(self) -> Path:
        """The ledger's file."""
        return self.var_dir / "sandbox.sqlite3"

    @property
    def first_stock(self) -> Path:
        """The file with what the warehouse has when it opens; there may be none."""
        return self.var_dir / "sandbox-stock.json"

    def host_port(self, port: int) -> str:
        """`host:port`, as written in a url."""
        return f"[{self.host}]:{port}" if ":" in self.host else f"{self.host}:{port}"


def read(environ: Mapping[str, str]) -> Settings:
    """Reads the environment. Raises `SettingsError` for the first invalid value, and with neither DEBUG nor DRILL."""
    if not any(environ.get(name, "").lower() in ("true", "on", "yes", "1") for name in ("DEBUG", "DRILL")):
        raise SettingsError(
            "the sandbox obeys everybody who can reach it, so it only runs with DEBUG=true; in production set"
            " WAREHOUSE_URL, PAYMENTS_URL, CARRIER_URL and EMAIL_URL to your own services"
        )
    bind = environ.get("SANDBOX_BIND", DEFAULT_BIND)
    host, _, port = bind.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65_535:
        raise SettingsError(
            f"SANDBOX_BIND={bind!r} is not valid; expected HOST:PORT, port 1 to 65534, for example {DEFAULT_BIND}"
        )
    var_dir = Path(environ.get("VAR_DIR") or PROJECT_DIR / "var").expanduser().absolute()
    return Settings(host=host.removeprefix("[").removesuffix("]"), port=int(port), var_dir=var_dir)
