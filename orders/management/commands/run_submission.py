"""Runs a submission process."""

from orders import wiring
from orders.engine.channels.wakeups import Topic
from orders.management.role_command import RoleCommand


class Command(RoleCommand):
    help = "Run a submission process, which inserts the orders on the submission queue. Runs until it is stopped."

    def handle(self, **options: object) -> None:
        self.run_worker("submission", wiring.submission(), Topic.SUBMISSION)
