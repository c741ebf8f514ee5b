"""Runs a scheduler."""

from orders import wiring
from orders.engine.channels.wakeups import Topic
from orders.management.role import RoleCommand


class Command(RoleCommand):
    help = "Claims orders and has their steps carried out, until it is stopped."

    def handle(self, **options: object) -> None:
        self.run_worker("scheduler", wiring.scheduler().run_once, Topic.SCHEDULER)
