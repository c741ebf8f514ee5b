"""The id of an order that is placed with an idempotency key. Pure.

The id follows from the client and the key alone. So an order that a restored database has lost gets the same id when it
is placed again, and with it the same keys at the remote services, which recognise what they have done (docs/adr/0024).
"""

import hashlib
from uuid import UUID

NAMESPACE = UUID("5d1c6f0e-2f0b-4a38-9c1b-6f2f6e0f7a51")
"""Another namespace, or any other change here, would give every order another id, and every effect another key."""


def derived_order_id(*, client: str, key: str) -> UUID:
    """The id of the order that this client places with this idempotency key: a UUIDv8 (RFC 9562) of their SHA-256.

    The client's length comes first, so that different clients and keys cannot form the same text together.
    """
    name = client.encode()
    return _id_of(len(name).to_bytes(4, "big") + name + key.encode())


def another_order_id(order_id: UUID) -> UUID:
    """The id of an order instead of this one, whose number another order has. It follows from it, too."""
    return _id_of(order_id.bytes)


def _id_of(text: bytes) -> UUID:
    digest = hashlib.sha256(NAMESPACE.bytes + text).digest()
    value = int.from_bytes(digest[:16], "big")
    value = value & ~(0xF << 76) | 8 << 76  # the version
    value = value & ~(0x3 << 62) | 2 << 62  # the variant
    return UUID(int=value)
