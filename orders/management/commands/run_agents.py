"""Runs agents."""

import asyncio
from argparse import ArgumentParser

from django.core.management.base import CommandError

from orders import wiring
from orders.business import registry
from orders.engine.channels.wakeups import Topic
from orders.engine.runtime.loop import stop_on_signals
from orders.engine.runtime.statements import prepare_statements
from orders.management.role_command import RoleCommand, wait_for_database


class Command(RoleCommand):
    help = "Run agents, which make the calls to remote services. Runs until it is stopped."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("agents", nargs="*", metavar="NAME", help="an agent to run (default: all agents)")

    def handle(self, *, agents: list[str], **options: object) -> None:
        prepare_statements()
        if not wait_for_database():
            return
        try:
            host = wiring.agent_host(agents)
        except KeyError as error:
            raise CommandError(
                f"unknown agent {error}; the agents are {', '.join(registry.make_agents())}"
            ) from error
        stop_on_signals(host.stop)
        listener = wiring.listener({Topic.AGENTS: host.wake})
        listener.start()
        asyncio.run(host.run())
        listener.stop()
