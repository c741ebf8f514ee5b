"""What the commands that run a role have in common."""

from django.core.management.base import BaseCommand

from orders import wiring
from orders.engine.channels.wakeups import Topic
from orders.engine.runtime.loop import Role, Worker, stop_on_signals


class RoleCommand(BaseCommand):
    """A command that runs until SIGTERM or SIGINT."""

    requires_system_checks = ()

    def run_worker(self, name: str, role: Role, topic: Topic) -> None:
        """Runs passes of a role until it is stopped; a message on the topic wakes it."""
        worker = Worker(name=name, run_once=role.run_once, health=role.health)
        stop_on_signals(worker.stop)
        listener = wiring.listener({topic: worker.wake.set})
        listener.start()
        worker.run()
        listener.stop()
