"""Runs a scheduler."""

from orders import wiring
from orders.engine.channels.wakeups import Topic
from orders.management.role_command import RoleCommand


class Command(RoleCommand):
    help = "Run a scheduler, which claims orders and dispatches their steps. Runs until it is stopped."

    def handle(self, **options: object) -> None:
        self.run_worker("scheduler", wiring.scheduler(), Topic.SCHEDULER)
