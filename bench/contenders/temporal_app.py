"""Temporal: a workflow of four activities. Run in an environment with `temporalio`."""

from datetime import timedelta

from temporalio import activity, workflow
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client
from temporalio.worker import Worker

from bench.contenders.app import STEPS, App, Times, main, order_names, until_signal

QUEUE = "orders"


@activity.defn
async def answer_at_once(name: str) -> dict[str, str]:
    return {"ok": name}


@workflow.defn
class FourSteps:
    """The order."""

    @workflow.run
    async def run(self, order: str) -> str:
        for name in STEPS:
            await workflow.execute_activity(
                answer_at_once, name, start_to_close_timeout=timedelta(seconds=30)
            )
        return "processed"


class Temporal(App):
    """Its address is host and port of a server."""

    async def fill(self, batch: str, count: int) -> None:
        client = await Client.connect(self.address)
        for order in order_names(batch, count):
            await client.start_workflow(FourSteps.run, order, id=order, task_queue=QUEUE)

    async def buy(self, batch: str) -> None:
        await self.fill(batch, 1)
        client = await Client.connect(self.address)
        await client.get_workflow_handle(*order_names(batch, 1)).result()

    async def work(self, worker: str) -> None:
        client = await Client.connect(self.address)
        async with Worker(client, task_queue=QUEUE, workflows=[FourSteps], activities=[answer_at_once]):
            await until_signal()

    async def count_ended(self, batch: str) -> int:
        client = await Client.connect(self.address)
        return int((await client.count_workflows(_completed(batch))).count)

    async def times(self, batch: str, count: int) -> list[Times]:
        client = await Client.connect(self.address)
        times = []
        async for order in client.list_workflows(_completed(batch)):
            history = await client.get_workflow_handle(order.id, run_id=order.run_id).fetch_history()
            done = [e for e in history.events if e.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED]
            (first, *_) = [
                e for e in history.events if e.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED
            ]
            if len(done) == len(STEPS):
                marks = (history.events[0], first, history.events[-1])
                times.append(Times(*(event.event_time.ToNanoseconds() / 1e9 for event in marks)))
        return times


def _completed(batch: str) -> str:
    """The query for a batch's orders that have ended."""
    return f"ExecutionStatus = 'Completed' AND WorkflowId STARTS_WITH '{batch}-'"


if __name__ == "__main__":
    main(Temporal)
