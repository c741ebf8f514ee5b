"""Whether the ports of `bin/up` are free, for the launcher and, before there is a virtual environment, for `bin/up`.

`python ports.py [the arguments of bin/up]` checks those that the environment names, and needs nothing that pip
installs: a port that is taken is reported before a minute is spent on the virtual environment.
"""

import errno
import os
import re
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TIMEOUT = 2.0  # seconds: a killed process holds its port until the kernel has cleaned up
WEB = "127.0.0.1:8000"
SANDBOX = "127.0.0.1:9000"


@dataclass(frozen=True, kw_only=True)
class Listener:
    """A role's place to listen: HOST:PORT, and the variable that says so. `use` is of a second port of the variable."""

    role: str
    variable: str
    value: str
    host_port: str
    use: str = ""


def listeners(*, bind: str, sandbox_bind: str) -> list[Listener]:
    """Where the web and the sandbox listen, which takes email one port above."""
    host, _, port = sandbox_bind.rpartition(":")
    sandbox = Listener(role="sandbox", variable="SANDBOX_BIND", value=sandbox_bind, host_port=sandbox_bind)
    smtp = f"{host}:{int(port) + 1}"
    mail = Listener(
        role="sandbox",
        variable="SANDBOX_BIND",
        value=sandbox_bind,
        host_port=smtp,
        use=f", which also uses {smtp} for email",
    )
    return [Listener(role="web", variable="BIND", value=bind, host_port=bind), sandbox, mail]


def find_trouble(listeners: Sequence[Listener]) -> str:
    """Why one of them cannot listen, in one line that says which setting to change; empty if all can. A port in use is
    tried for `TIMEOUT` seconds."""
    deadline = time.monotonic() + TIMEOUT
    for listener in listeners:
        while error := bind_error(listener.host_port):
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                return _describe(listener, error)
            time.sleep(0.1)
    return ""


def _describe(listener: Listener, error: OSError) -> str:
    variable, reason = listener.variable, os.strerror(error.errno or 0).lower()
    host, _, port = listener.host_port.rpartition(":")
    return (
        f"{variable}={listener.value}{listener.use}: cannot listen on port {port} ({reason});"
        f" set {variable} to another HOST:PORT, such as {variable}={host}:{_another(int(port))}"
    )


def _another(port: int) -> int:
    return port + 100 if port + 100 < 65_535 else port - 100


def bind_error(host_port: str) -> OSError | None:
    """The error of listening on HOST:PORT, if there is one."""
    host, _, port = host_port.rpartition(":")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host.strip("[]"), int(port), type=socket.SOCK_STREAM
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen()
    except socket.gaierror as error:
        return OSError(errno.EADDRNOTAVAIL, str(error))
    except OSError as error:
        return error
    return None


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Checks what `bin/up` with these arguments will listen on. Returns the exit status. What is not HOST:PORT is left
    to the launcher, which checks every setting."""
    bind, sandbox_bind = environ.get("BIND") or WEB, environ.get("SANDBOX_BIND") or SANDBOX
    if not all(
        re.fullmatch(r".+:[0-9]{1,5}", value) and _port(value) < 65_535 for value in (bind, sandbox_bind)
    ):
        return 0
    is_demonstration = environ.get("DEBUG", "true").lower() in ("true", "on", "yes", "1")
    scale = " ".join(arguments)
    runs = {"web": "web=0" not in scale, "sandbox": is_demonstration and "sandbox=0" not in scale}
    needed = [each for each in listeners(bind=bind, sandbox_bind=sandbox_bind) if runs[each.role]]
    if trouble := find_trouble(needed):
        print(f"sasweb: {trouble}", file=sys.stderr)
    return int(bool(trouble))


def _port(host_port: str) -> int:
    return int(host_port.rpartition(":")[2])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
