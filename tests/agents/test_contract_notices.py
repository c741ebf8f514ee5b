"""The contract for agents fails for a wrong agent, passes the example of its documentation, and skips what it is told
to skip (A1, A3, A5, A7)."""

import os
import re
import subprocess
import sys
import textwrap
from collections import defaultdict
from pathlib import Path

import pytest

from orders.testing import AgentContract
from tests.architecture.source import ROOT

BOUND = 300.0
"""Seconds after which a test gives up waiting."""
CANCELLATION = {
    "test_a_call_may_be_cancelled_at_any_await",
    "test_a_call_cancelled_after_its_effect_is_not_done_again",
    "test_nothing_is_called_after_a_cancellation",
}
INQUIRIES = {"test_an_inquiry_finds_what_has_been_done", "test_an_inquiry_finds_what_has_been_compensated"}
WRONG_AGENTS = "tests/agents/wrong_agents.py"
OF_THE_CONTRACT = {name for name in dir(AgentContract) if name.startswith("test_")}
MUST_FAIL = {
    "TestIgnoresTheKey": {
        "test_the_same_key_twice_is_one_effect",
        "test_another_key_is_another_effect",
        "test_a_compensation_reverses_the_effect",
        "test_a_lost_answer_is_found_by_the_next_try",
        "test_a_call_may_be_cancelled_at_any_await",
        "test_a_call_cancelled_after_its_effect_is_not_done_again",
        "test_an_inquiry_finds_what_has_been_done",
    },
    "TestSwallowsCancellation": CANCELLATION,
    "TestRaisesValueError": {"test_each_status_is_its_fault", "test_a_fault_can_be_shown"},
    "TestReversesItself": {
        "test_a_compensation_reverses_the_effect",
        "test_a_compensation_before_the_call_keeps_it_from_happening",
        "test_a_compensation_of_a_call_that_never_arrived_succeeds",
        "test_a_compensation_may_be_cancelled_at_any_await",
    },
    "TestAnswersOtherwise": {"test_a_compensation_twice_is_one"},
    "TestCallsAgainWhenCancelled": {"test_nothing_is_called_after_a_cancellation"},
    "TestTakesACutForARefusal": {
        "test_a_connection_that_is_cut_leaves_the_outcome_open",
        "test_a_lost_answer_is_found_by_the_next_try",
    },
    "TestTakesAnOutageForARefusal": {"test_a_service_that_is_down_leaves_the_outcome_open"},
    "TestForgetsTheWait": {"test_a_wait_that_the_service_asks_for_is_passed_on"},
    "TestRepeatsWhatItReads": {"test_a_fault_can_be_shown"},
    "TestReturnsWhatItReads": {"test_garbage_is_not_kept"},
    "TestForgetsAField": {"test_a_result_can_be_stored"},
    "TestReturnsNaN": {"test_a_result_can_be_stored"},
    "TestDoesAnyOperation": {"test_an_unknown_operation_is_refused"},
    "TestNeverKnows": INQUIRIES | {"test_an_inquiry_that_fails_claims_nothing"},
    "TestClosesOnce": {"test_closing_twice_is_harmless"},
    "TestLeavesATask": {"test_closing_twice_is_harmless"},
    "TestSendsInARehearsal": {"test_a_rehearsal_shows_what_is_then_sent"},
    "TestHasNoCapacity": {"test_the_agent_declares_its_limits"},
}
"""For each wrong agent, tests of the contract that must fail. Others may fail with them."""


def run_pytest(*arguments: str | Path) -> tuple[dict[str, set[str]], str]:
    """Runs pytest in a process of its own. Returns the tests by their class and outcome, and all output."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", "-vv", *arguments],
        cwd=ROOT,
        env=inherited,
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )
    tests = defaultdict(set)
    for name, test, outcome in re.findall(
        r"::(\w+)::(\w+)(?: <- \S+)? (PASSED|FAILED|SKIPPED|ERROR)", run.stdout
    ):
        tests[f"{name} {outcome}"].add(test)
    return tests, run.stdout + run.stderr


@pytest.mark.pattern("A1", "A3", "A5", "A7")
def test_the_contract_notices_each_wrong_agent_with_each_of_its_tests() -> None:
    tests, output = run_pytest(
        f"{WRONG_AGENTS}::TestRight",
        *(f"{WRONG_AGENTS}::{name}::{test}" for name, failures in MUST_FAIL.items() for test in failures),
        "--tb=no",
    )
    right = {"TestRight PASSED": OF_THE_CONTRACT}
    assert tests == right | {f"{name} FAILED": failures for name, failures in MUST_FAIL.items()}, output
    assert set[str]().union(*MUST_FAIL.values()) == OF_THE_CONTRACT


def test_the_example_of_the_documentation_passes_without_plugins_of_ours(tmp_path: Path) -> None:
    text = textwrap.dedent(AgentContract.__doc__.partition("\n")[2])  # type: ignore[union-attr]
    (example,) = re.findall(r"^    from aiohttp.*?(?=^What else)", text, re.MULTILINE | re.DOTALL)
    file = tmp_path / "test_rooms.py"
    file.write_text(textwrap.dedent(example))
    tests, output = run_pytest(
        file, "-c", os.devnull, "--rootdir", tmp_path, "-W", "error", "-p", "no:django"
    )
    assert set(tests) == {"TestRooms PASSED", "TestRooms SKIPPED"}, output
    assert tests["TestRooms SKIPPED"] == INQUIRIES | {"test_an_inquiry_that_fails_claims_nothing"}
    assert len(tests["TestRooms PASSED"]) > 15


def test_a_failure_says_what_the_agent_has_done() -> None:
    _, output = run_pytest(
        f"{WRONG_AGENTS}::TestRaisesValueError::test_each_status_is_its_fault", "--tb=line"
    )
    assert (
        "the service answers 500: perform raised ValueError: 500. "
        "An agent raises Transient, Refused, Declined or Unresolved, and nothing else." in output
    )


def test_a_test_that_is_left_out_is_skipped_and_a_misspelt_one_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "test_left_out.py"
    file.write_text(
        "from tests.agents.wrong_agents import Reserving, RaisesValueError, ClosesOnce\n"
        "class TestDeclared(Reserving):\n"
        "    agent = ClosesOnce\n"
        "    left_out = {'test_closing_twice_is_harmless': 'closes once'}\n"
        "class TestMisspelt(Reserving):\n"
        "    agent = ClosesOnce\n"
        "    left_out = {'test_closing': 'closes once'}\n"
    )
    fixtures = "tests.support.sandboxes"
    tests, output = run_pytest(
        file, "-c", os.devnull, "--rootdir", tmp_path, "-p", fixtures, "-p", "no:django"
    )
    assert tests["TestDeclared SKIPPED"] == {"test_closing_twice_is_harmless"}, output
    assert "TestDeclared FAILED" not in tests
    assert len(tests["TestMisspelt ERROR"]) > 20
    assert "left_out names 'test_closing', which is no test of the contract" in output
