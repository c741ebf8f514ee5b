"""The process: its start, its stop, the data that survives it, and many connections at once."""

import asyncio
import json
import signal
import socket
from pathlib import Path
from urllib.request import urlopen

import aiohttp
import pytest

from tests.sandbox.examples import authorise, capture, reserve, reversal_of
from tests.sandbox.process import BOUND, Sandbox, launch, new_key
from tests.support.ports import free_ports


def test_the_first_line_says_where_it_listens(sandbox: Sandbox) -> None:
    port = sandbox.port
    services = "(warehouse, payments, carrier)"
    assert sandbox.first_line == f"sandbox: http://127.0.0.1:{port} {services}, smtp 127.0.0.1:{port + 1}\n"


def test_ledger_and_answers_survive_kill_minus_nine(own_sandbox: Sandbox) -> None:
    done, lost, barred = new_key(), new_key(), new_key()
    first = own_sandbox.call("/payments/capture", capture(), done)
    own_sandbox.call("/payments/void", reversal_of(barred), new_key())
    own_sandbox.faults("payments", lost_reply_rate=1)
    assert own_sandbox.cuts("/payments/capture", capture(), lost)
    before = own_sandbox.ledger("payments")
    own_sandbox.end(signal.SIGKILL)
    own_sandbox.start()
    assert own_sandbox.ledger("payments") == before
    again = own_sandbox.call("/payments/capture", capture(), done)
    assert (again.status, again.content) == (200, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert own_sandbox.call("/payments/capture", capture(), lost).headers["Idempotent-Replayed"] == "true"
    assert own_sandbox.call("/payments/authorise", authorise(), barred).status == 410
    assert own_sandbox.ledger("payments") == before


def test_kill_minus_nine_under_load_loses_no_answer_already_given(own_sandbox: Sandbox) -> None:
    answered: dict[str, str] = {}

    async def caller(session: aiohttp.ClientSession, name: int) -> None:
        for number in range(10_000):
            key = f"{name}-{number}"
            url = f"http://127.0.0.1:{own_sandbox.port}/warehouse/reserve"
            async with session.post(url, json=reserve(key), headers={"Idempotency-Key": key}) as response:
                answered[key] = (await response.json())["reservation"]
            if len(answered) >= 500 and own_sandbox.is_running():
                own_sandbox.end(signal.SIGKILL)

    async def load() -> None:
        async with aiohttp.ClientSession() as session:
            await asyncio.gather(*(caller(session, name) for name in range(50)), return_exceptions=True)

    asyncio.run(load())
    own_sandbox.start()
    happened = [entry["key"] for entry in own_sandbox.ledger("warehouse")]
    assert len(answered) >= 500
    assert answered.keys() <= set(happened)
    assert len(happened) == len(set(happened))
    for key, reservation in list(answered.items())[-20:]:
        assert own_sandbox.call("/warehouse/reserve", reserve(key), key).content == {
            "reservation": reservation
        }


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_at_once_and_cuts_held_calls(own_sandbox: Sandbox, number: int) -> None:
    own_sandbox.faults("warehouse", latency_ms=[60_000, 60_000])
    own_sandbox.faults("carrier", hang_rate=1)
    keys = [new_key() for _ in range(2)]
    held = [
        own_sandbox.begin("/warehouse/reserve", reserve(), keys[0]),
        own_sandbox.begin("/payments/authorise", authorise("card_hangs"), keys[1]),
        own_sandbox.open("POST", "/carrier/create", b"{", {"Content-Length": "100", "Idempotency-Key": "k"}),
    ]
    with socket.create_connection(("127.0.0.1", own_sandbox.port + 1), BOUND) as mail:
        assert mail.recv(100).startswith(b"220 ")
        seconds, status, output = own_sandbox.end(number)
    assert (seconds < 20, status, output) == (True, 0, "")
    for connection in held:
        assert connection.sock is not None
        assert connection.sock.recv(1) == b""
        connection.close()
    own_sandbox.start()
    assert own_sandbox.ledger("warehouse") == []


@pytest.mark.parametrize("offset", [0, 1])
def test_a_taken_port_is_reported_in_one_line(tmp_path: Path, offset: int) -> None:
    port = free_ports()
    with socket.create_server(("127.0.0.1", port + offset)):
        process = launch(tmp_path, f"127.0.0.1:{port}")
        out, err = process.communicate(timeout=BOUND)
    assert (process.returncode, out) == (1, "")
    assert err == (
        f"sandbox: cannot listen on 127.0.0.1:{port + offset} (Address already in use); "
        "set SANDBOX_BIND to another HOST:PORT\n"
    )


@pytest.mark.parametrize(
    "bind",
    ["", "9000", "127.0.0.1", "127.0.0.1:", ":9000", "127.0.0.1:web", "127.0.0.1:0", "127.0.0.1:65535"],
)
def test_a_bad_address_is_reported_in_one_line(tmp_path: Path, bind: str) -> None:
    process = launch(tmp_path, bind)
    out, err = process.communicate(timeout=BOUND)
    assert (process.returncode, out) == (1, "")
    assert err.startswith(f"sandbox: SANDBOX_BIND={bind!r} is not valid; expected HOST:PORT")
    assert err.count("\n") == 1


@pytest.mark.parametrize("debug", ["", "false", "0"])
def test_outside_debug_it_refuses_to_run_and_says_what_to_do(tmp_path: Path, debug: str) -> None:
    process = launch(tmp_path / "var", f"127.0.0.1:{free_ports()}", debug=debug)
    out, err = process.communicate(timeout=BOUND)
    assert (process.returncode, out, (tmp_path / "var").exists()) == (1, "", False)
    assert "only runs with DEBUG=true; in production set WAREHOUSE_URL" in err
    assert err.count("\n") == 1


def test_nobody_else_can_read_the_ledger(own_sandbox: Sandbox) -> None:
    files = list(own_sandbox.var_dir.glob("sandbox.sqlite3*"))
    assert files
    assert {file.stat().st_mode & 0o077 for file in files} == {0}


def test_a_folder_that_cannot_be_created_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    process = launch(tmp_path / "file", f"127.0.0.1:{free_ports()}")
    _, err = process.communicate(timeout=BOUND)
    assert process.returncode == 1
    assert err.startswith(f"sandbox: cannot use the ledger {tmp_path / 'file'}")
    assert err.count("\n") == 1


def test_a_call_succeeds_with_two_thousand_connections_open(own_sandbox: Sandbox) -> None:
    """Two thousand calls wait at the same moment, and each has its effect once."""
    own_sandbox.faults("warehouse", latency_ms=[2_000, 2_000])
    url = f"http://127.0.0.1:{own_sandbox.port}"

    async def calls() -> list[int]:
        timeout = aiohttp.ClientTimeout(total=60)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:

            async def call(number: int) -> int:
                key = {"Idempotency-Key": str(number)}
                async with session.post(
                    f"{url}/warehouse/reserve", json=reserve(str(number)), headers=key
                ) as answer:
                    return answer.status

            return await asyncio.gather(*(call(number) for number in range(2_000)))

    assert set(asyncio.run(calls())) == {200}
    with urlopen(f"{url}/_ledger/warehouse", timeout=BOUND) as response:
        keys = [entry["key"] for entry in json.load(response)]
    assert len(keys) == len(set(keys)) == 2_000
