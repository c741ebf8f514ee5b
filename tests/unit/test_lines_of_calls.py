"""Every line that is logged while an agent works on a request has the order's id, whoever logs it."""

import asyncio
import logging
from uuid import UUID

import structlog

from orders.engine.agent_host.traced_call import run_call
from orders.engine.contracts import Json, Request
from tests.support.agents import ScriptedAgent
from tests.support.log_lines import written_lines
from tests.unit.test_calls import lease, make

ADA, BOB = (UUID(f"01936c2e-0000-7000-8000-0000000000{end}") for end in ("0a", "0b"))


async def talk(request: Request) -> Json:
    """Logs as an agent may do: itself, by a library, and in a thread."""
    structlog.get_logger().warning("the agent", action="call")
    await asyncio.sleep(0)  # so that the other call goes on meanwhile
    logging.getLogger("aiohttp.client").warning("a library")
    await asyncio.to_thread(logging.getLogger("psutil").warning, "a thread")
    return {"ok": True}


def test_the_lines_of_calls_side_by_side_have_each_its_own_orders_id() -> None:
    agent = ScriptedAgent("kitchen", talk)

    async def side_by_side() -> None:
        leases = (lease(order_id=ADA), lease(order_id=BOB))
        await asyncio.gather(*(run_call(make(agent, leased), instance="host") for leased in leases))
        logging.getLogger("aiohttp.client").warning("afterwards")

    with written_lines() as lines:
        asyncio.run(side_by_side())
    assert [line for line in lines if "afterwards" in line and "order_id" in line] == []
    for order_id in (ADA, BOB):
        own = [line for line in lines if f"order_id={order_id}" in line]
        assert len(own) == 3
        assert all(text in "".join(own) for text in ("the agent", "a library", "a thread"))
