"""What an agent is asked, made from the request that its host has leased."""

from functools import partial

from orders.engine.callbacks import issue_token
from orders.engine.channels.leases import Lease
from orders.engine.contracts import Request


def request_of(lease: Lease) -> Request:
    """What the agent is asked for a leased request."""
    return Request(
        order_id=lease.order_id,
        step=lease.step,
        operation=lease.operation,
        attempt=lease.attempt,
        key=lease.key,
        data=lease.body["data"],
        results=lease.body["results"],
        compensates=lease.compensates,
        reverses=lease.reverses,
        seconds_left=lease.seconds_left,
        reference=lease.body.get("reference", ""),
        issue_token=partial(issue_token, lease.key),
    )
