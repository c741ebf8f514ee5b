"""What each scope of an API token lets it do, as API, console and command say it."""

from collections.abc import Mapping, Sequence

from orders.vocabulary import TokenScope

ACTS: Mapping[TokenScope, str] = {
    TokenScope.READ: "read",
    TokenScope.ORDERS: "place, pay for and cancel its account’s orders, and use its response queues and webhooks",
    TokenScope.PRIORITY: "place orders with a priority above 5",
    TokenScope.OPERATE: "act on orders, their steps, alerts and agents",
    TokenScope.COMPENSATE: "cancel orders, settle steps by hand, erase customers, and act on many orders at once",
}


def warn_beyond(scopes: Sequence[str], *, account: str) -> str:
    """Warns that these scopes, at least one, do not let a token act."""
    return (
        f"The account {account} does not have the access level operator, so the token cannot act with"
        f" {' or '.join(scopes)} until the account is given it."
    )
