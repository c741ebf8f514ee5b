"""What goes wrong during a life, and when: the seed decides."""

import math
from collections import Counter
from collections.abc import Callable

from sandbox.faults import SERVICES
from tests.simulation.database import Database
from tests.simulation.kernel import Kernel
from tests.simulation.remotes import RemoteServices
from tests.simulation.roles import Roles

MAIL_TOO = (*SERVICES, "mail")


class Faults:
    """Makes something go wrong every now and then until it is told to stop."""

    def __init__(
        self,
        kernel: Kernel,
        database: Database,
        services: RemoteServices,
        roles: Roles,
        *,
        pause: float,
        keyless: bool,
    ) -> None:
        self.done: Counter[str] = Counter()
        self.are_over = False
        self._kernel = kernel
        self._database = database
        self._services = services
        self._roles = roles
        self._pause = pause
        self._always = {"keyless": True} if keyless else {}

    def run(self) -> None:
        """Until it is told to stop."""
        chance = self._kernel.chance
        acts: dict[Callable[[], str], int] = {
            self._kill: 6,
            self._stop: 3,
            self._replace_in_order: 1,
            self._crash_the_database: 1,
            self._cut_commits: 4,
            self._cut_everything: 1,
            self._end_sessions: 2,
            self._slow_the_database: 1,
            self._lose_wakeups: 1,
            self._trouble_a_remote: 6,
            self._clear_remote_faults: 4,
        }
        while not self.are_over:
            self._kernel.pause(chance.expovariate(1 / self._pause))
            if not self.are_over:
                (act,) = chance.choices(list(acts), weights=list(acts.values()))
                what = act()
                self._kernel.note(f"FAULT {what}")
                self.done[what] += 1

    def end(self) -> None:
        """Ends all faults."""
        self.are_over = True
        self._database.slowness = 1.0
        self._database.deafness = 0.0
        self._database.commits_to_cut = 0
        self._database.down_until = -math.inf
        self._services.clear(**self._always)
        self._roles.resume_all()

    def _kill(self) -> str:
        process = self._kernel.chance.choice(self._roles.processes)
        self._kernel.kill(process)
        return f"SIGKILL of {process.name.partition(' ')[0]}"

    def _stop(self) -> str:
        process = self._kernel.chance.choice(self._roles.processes)
        process.stopped_until = self._kernel.now + self._kernel.chance.uniform(1, 15)
        return f"SIGSTOP of {process.name.partition(' ')[0]}"

    def _replace_in_order(self) -> str:
        process = self._kernel.chance.choice(self._roles.processes)
        self._roles.stop(process)
        return f"SIGTERM of {process.name.partition(' ')[0]}"

    def _crash_the_database(self) -> str:
        self._end(1.0)
        self._database.down_until = self._kernel.now + self._kernel.chance.uniform(0.1, 3.0)
        return "immediate stop of PostgreSQL"

    def _cut_everything(self) -> str:
        self._end(1.0)
        return "all connections cut"

    def _end_sessions(self) -> str:
        self._end(0.3)
        return "random backends ended"

    def _end(self, share: float) -> None:
        for process in self._roles.processes:
            for task in process.tasks:
                if self._kernel.chance.random() < share:
                    self._database.end_session(task)

    def _cut_commits(self) -> str:
        self._database.commits_to_cut = self._kernel.chance.randint(1, 8)
        return "connections cut around commits"

    def _slow_the_database(self) -> str:
        self._database.slowness = self._kernel.chance.choice([5.0, 30.0])
        self._after(self._kernel.chance.uniform(1, 8), lambda: setattr(self._database, "slowness", 1.0))
        return "slow database"

    def _lose_wakeups(self) -> str:
        self._database.deafness = self._kernel.chance.choice([0.5, 1.0])
        self._after(self._kernel.chance.uniform(1, 10), lambda: setattr(self._database, "deafness", 0.0))
        return "wake-ups lost"

    def _trouble_a_remote(self) -> str:
        chance = self._kernel.chance
        service = chance.choice(MAIL_TOO)
        name, faults = chance.choice(
            [
                ("slow", {"latency_ms": [100, 2000]}),
                (
                    "failing",
                    {
                        "error_rate": chance.choice([0.1, 0.5]),
                        "error_status": chance.choice([500, 502, 503, 429]),
                    },
                ),
                ("forgetful", {"lost_reply_rate": 0.5}),
                ("hanging", {"hang_rate": chance.choice([0.05, 0.5])}),
                ("refusing", {"refuse_rate": 0.05}),
                ("down", {"down": True}),
                ("late", {"latency_ms": [5, 100], "late": 0.3}),
                ("garbling", {"garbled": 0.3}),
            ]
        )
        self._services.loop.call_soon_threadsafe(lambda: self._services.trouble(service, **faults))
        return f"remote service {name}"

    def _clear_remote_faults(self) -> str:
        self._services.clear(latency_ms=[5, 100], **self._always)
        return "remote services fixed"

    def _after(self, seconds: float, work: Callable[[], None]) -> None:
        self._kernel.spawn(self._roles.world, "end of a fault", work, after=seconds)
