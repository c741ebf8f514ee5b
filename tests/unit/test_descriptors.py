"""A web process opens as many files as it may, and takes no more connections than that allows."""

import subprocess
import sys

import pytest

from orders.live.streams import make_streams
from tests.architecture.source import ROOT

ASK = "from sasweb import descriptors as d; n = d.raise_limit(); print(n, d.most_connections(), d.describe_shortage(n))"


@pytest.mark.parametrize(
    ("soft", "hard", "files", "connections"),
    [
        (1024, 5000, 5000, 3300),
        (1024, 1024, 1024, 624),
        (100, 100, 100, 1),
    ],
)
def test_the_limit_is_raised_and_a_shortage_is_described(
    soft: int, hard: int, files: int, connections: int
) -> None:
    command = ["prlimit", f"--nofile={soft}:{hard}", sys.executable, "-c", ASK]
    answer = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert answer.split()[:2] == [str(files), str(connections)]
    assert ("LimitNOFILE" in answer) is (connections < 3300)


def test_live_updates_and_waits_take_no_more_than_a_third_of_the_connections_each() -> None:
    for connections, total, operators in ((3300, 1100, 100), (624, 208, 18)):
        config = make_streams(connections=connections)._config
        assert (config.caps.total, config.caps.operators) == (total, operators)
        assert (config.waits.total, config.waits.share) == (total - operators, (total - operators) // 4)
