"""Free ports. It imports nothing of the product, since conftest files load before there are settings."""

import random
import socket


def free_ports() -> int:
    """A free port whose successor is free too; the sandbox's SMTP sink takes that one."""
    while True:
        # Below those that the system gives to outgoing connections, so that none of these takes it before it is used.
        port = random.randrange(10_000, 32_000)
        with socket.socket() as first, socket.socket() as second:
            try:
                first.bind(("127.0.0.1", port))
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port
