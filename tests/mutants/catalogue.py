"""The mutants: which guard, where, what is left without it, and which test says so."""

from tests.mutants.branches import BRANCHES
from tests.mutants.declines import DECLINES
from tests.mutants.edits import EDITS
from tests.mutants.feeds import FEEDS
from tests.mutants.keys import KEYS
from tests.mutants.known_reads import KNOWN_READS
from tests.mutants.laboratory import LABORATORY
from tests.mutants.moves import MOVES
from tests.mutants.mutant import CHANNELS, ENGINE, ROW_LOCK, Mutant
from tests.mutants.new_orders import NEW_ORDERS
from tests.mutants.outages import OUTAGES
from tests.mutants.reconciliation import RECONCILIATION
from tests.mutants.reversals import REVERSALS
from tests.mutants.round_trips import ROUND_TRIPS
from tests.mutants.simulation import SIMULATION
from tests.mutants.snapshots import SNAPSHOTS
from tests.mutants.terminal import TERMINAL
from tests.mutants.waits import WAITS
from tests.mutants.watchdog import WATCHDOG

MUTANTS = (
    # Attempts (I4)
    Mutant(
        name="no-attempt-check",
        path=f"{ENGINE}/scheduler/progress.py",
        old="return reply.attempt == step.attempt and step.answered != step.attempt",
        new="return step.answered != step.attempt",
        test="tests/unit/test_order_pass_replies.py::test_a_reply_for_an_earlier_attempt_changes_nothing",
    ),
    Mutant(
        name="replies-count-twice",
        path=f"{ENGINE}/scheduler/progress.py",
        old="return reply.attempt == step.attempt and step.answered != step.attempt",
        new="return reply.attempt == step.attempt",
        test="tests/unit/test_order_pass_replies.py::test_the_second_copy_of_a_reply_changes_nothing",
    ),
    Mutant(
        name="no-attempt-fence-in-the-write",
        path=f"{ENGINE}/state_store/writes.py",
        old="WHERE s.id = v.id AND s.attempt = v.read_attempt",
        new="WHERE s.id = v.id",
        test="tests/store/test_writes.py::test_of_two_writes_for_one_attempt_the_second_is_refused",
    ),
    # Leases and the clock (A4, A5)
    Mutant(
        name="no-lease-check",
        path=f"{CHANNELS}/leases.py",
        old="AND request.leased_by = %(me)s::text\n               AND request.deliveries = answer.deliveries",
        new="",
        test="tests/store/test_lapsed_leases.py::test_the_former_holder_of_a_lapsed_lease_changes_nothing",
    ),
    Mutant(
        name="no-clock-check-on-the-reply",
        path=f"{CHANNELS}/leases.py",
        old="WHERE outcome <> '{ReplyOutcome.ABANDONED.value}'\n               AND complete_by > clock_timestamp()",
        new="WHERE outcome <> '{ReplyOutcome.ABANDONED.value}'",
        test="tests/store/test_request_answers.py::test_only_timely_answers_by_the_holder_of_the_lease_are_posted",
    ),
    Mutant(
        name="suspects-run-with-others",
        path=f"{CHANNELS}/leases.py",
        old="AND lapses < {SUSPECT_LAPSES}",
        new="AND lapses < 10 * {SUSPECT_LAPSES}",
        test="tests/store/test_request_leases.py::test_a_request_whose_lease_has_lapsed_twice_is_a_suspect",
    ),
    Mutant(
        name="what-is-given-back-is-suspected",
        path=f"{CHANNELS}/leases.py",
        old="               leased_until = NULL,\n               is_repeat",
        new="               leased_until = NULL, lapses = lapses + 1,\n               is_repeat",
        test="tests/store/test_request_leases.py::test_a_request_that_is_given_back_is_no_suspect",
    ),
    # One order's fault, and the release's (rules 9, 10 and 11)
    Mutant(
        name="poison-without-proof",
        path=f"{ENGINE}/runtime/isolation.py",
        old="elif self._others_succeed or self._clock() - cause.since >= ALONE:",
        new="else:",
        test="tests/unit/test_isolation.py::test_an_order_alone_is_kept_until_another_shows_that_the_role_works",
    ),
    Mutant(
        name="a-broken-release-goes-on-claiming",
        path=f"{ENGINE}/runtime/isolation.py",
        old="            self._stop(cause)\n\n    def _cause",
        new="            pass\n\n    def _cause",
        test="tests/unit/test_isolation_of_releases.py::test_when_every_order_fails_alike_the_role_stops_and_sets_nothing_aside",
    ),
    Mutant(
        name="what-another-scheduler-has-ended-is-set-aside",
        path=f"{ENGINE}/scheduler/role.py",
        old="if row.process_state in ENDED:  # another scheduler was quicker",
        new="if False:",
        test="tests/engine/test_scheduler_batches.py",
    ),
    Mutant(
        name="what-is-no-longer-overdue-is-set-aside",
        path=f"{ENGINE}/supervisor/role.py",
        old="rows = [row for row in rows if late_steps[row.order_id] or has_overrun(row, now)]",
        new="pass",
        test="tests/engine/test_supervisor_load.py",
    ),
    Mutant(
        name="a-changed-workflow-is-run",
        path=f"{ENGINE}/state_store/claims.py",
        old="AND p.fingerprint IN (workflow.fingerprint, '')",
        new="",
        test="tests/engine/test_releases.py",
    ),
    Mutant(
        name="one-order-opens-a-circuit",
        path=f"{ENGINE}/circuits/rules.py",
        old="len(circuit.window_orders) >= LEAST_ORDERS",
        new="len(circuit.window_orders) >= 1",
        test="tests/unit/test_breaker.py",
    ),
    Mutant(
        name="the-failures-of-a-host-in-quarantine-count",
        path=f"{ENGINE}/circuits/quarantine.py",
        old='own_part = tally._replace(calls=0, failures=0, orders=frozenset(), probe="")',
        new="own_part = tally",
        test="tests/store/test_quarantine.py",
    ),
    Mutant(
        name="a-service-that-fails-everywhere-is-the-hosts-fault",
        path=f"{ENGINE}/circuits/quarantine.py",
        old="return calls > failures and failures < rules.share * calls",
        new="return calls > failures",
        test="tests/unit/test_quarantine.py",
    ),
    Mutant(
        name="a-host-in-quarantine-claims",
        path=f"{ENGINE}/agent_host/circuit_view.py",
        old="return min(free, int(self._quarantine.is_due and self._quarantine.probe_at != self._quarantine_probe))",
        new="return free",
        test="tests/engine/test_host_in_quarantine.py",
    ),
    Mutant(
        name="a-quarantine-outlives-an-opening",
        path=f"{ENGINE}/circuits/store.py",
        old="            end_quarantines(agent)\n",
        new="",
        test="tests/store/test_quarantine.py",
    ),
    # Leadership (I6)
    Mutant(
        name="no-term-check",
        path=f"{ENGINE}/supervisor/leadership.py",
        old="WHERE name = %s AND term = %s FOR SHARE",
        new="WHERE name = %s AND term >= %s FOR SHARE",
        test="tests/store/test_leader_lease.py::test_an_earlier_term_is_refused_everywhere_and_changes_nothing",
    ),
    Mutant(
        name="a-successor-does-not-wait",
        path=f"{ENGINE}/supervisor/leadership.py",
        old="WHERE name = %s AND term = %s FOR SHARE",
        new="WHERE name = %s AND term = %s",
        test="tests/store/test_leader_lease.py::test_a_successor_waits_until_the_sweep_that_checked_its_term_has_ended",
    ),
    # Rights
    Mutant(
        name="a-token-without-limits",
        path="orders/api/scopes.py",
        old="if needed not in token.scopes:",
        new="if False:",
        test="tests/web/test_api_tokens.py",
    ),
    # Claims (C2, C3)
    Mutant(
        name="no-skip-locked",
        path=f"{ENGINE}/state_store/claims.py",
        old="sent = send(_CLAIM if since is None else _CLAIM_SINCE, parameters)",
        new='sent = send((_CLAIM if since is None else _CLAIM_SINCE).replace("SKIP LOCKED", ""), parameters)',
        test="tests/store/test_claims.py::test_a_claim_passes_over_orders_that_another_is_claiming_without_waiting",
    ),
    Mutant(
        name="no-row-lock",
        path=f"{ENGINE}/state_store/claims.py",
        old="sent = send(_CLAIM if since is None else _CLAIM_SINCE, parameters)",
        new=f"sent = send((_CLAIM if since is None else _CLAIM_SINCE).replace({ROW_LOCK!r}, ''), parameters)",
        test="tests/store/test_claims.py::test_a_claim_passes_over_orders_that_another_is_claiming_without_waiting",
    ),
    Mutant(
        name="no-claim-by-age",
        path=f"{ENGINE}/runtime/age_turns.py",
        old="if self._claims[name] % EVERY == 0",
        new="if False",
        test="tests/engine/test_aging.py",
    ),
    Mutant(
        name="claimed-by-age-and-still-served-last",
        path=f"{ENGINE}/scheduler/role.py",
        old="order.urgency(workload.by_age)",
        new="order.urgency()",
        test="tests/engine/test_aging.py",
    ),
    Mutant(
        name="taken-by-age-although-no-longer-ready",
        path=f"{ENGINE}/state_store/aged_claims.py",
        old="if row.process_state == ProcessState.PENDING and row.not_before is None",
        new="",
        test="tests/store/test_aged_claims.py::test_an_order_that_another_scheduler_holds_or_has_taken_is_not_claimed_for_its_age",
    ),
    Mutant(
        name="recalls-what-was-begun",
        path=f"{CHANNELS}/requests.py",
        old="           AND deliveries = settled_deliveries\n",
        new="",
        test="tests/store/test_requests.py::test_only_requests_that_no_agent_ever_received_are_recalled",
    ),
    *FEEDS,
    *KEYS,
    *KNOWN_READS,
    *NEW_ORDERS,
    # The order of steps (I3, I10)
    Mutant(
        name="predecessors-not-awaited",
        path=f"{ENGINE}/scheduler/progress.py",
        old="return is_reversed or all(rows[earlier].state in FINISHED for earlier in declared.after)",
        new="return True",
        test="tests/unit/test_order_machine.py",
    ),
    Mutant(
        name="compensated-in-any-order",
        path=f"{ENGINE}/scheduler/compensation.py",
        old="elif not blockers:",
        new="else:",
        test="tests/unit/test_order_machine.py",
    ),
    Mutant(
        name="an-unknown-outcome-is-not-compensated",
        path=f"{ENGINE}/scheduler/compensation.py",
        old="row.outcome in (Outcome.NONE, Outcome.REFUSED)",
        new="row.outcome != Outcome.DONE",
        test="tests/unit/test_order_machine.py",
    ),
    *OUTAGES,
    # Retention
    Mutant(
        name="open-orders-are-archived",
        path="orders/retention/moving.py",
        old="AND process_state IN ('processed', 'compensated')",
        new="",
        test="tests/services/test_retention.py::test_no_unfinished_order_moves_however_old",
    ),
    Mutant(
        name="open-orders-are-erased",
        path="orders/services/operators/erasure.py",
        old="    if holdings.unfinished:",
        new="    if False:",
        test="tests/services/test_erasing.py::test_a_customer_with_an_open_order_is_not_erased",
    ),
    *ROUND_TRIPS,
    *SNAPSHOTS,
    *TERMINAL,
    *WAITS,
    *DECLINES,
    *EDITS,
    *BRANCHES,
    *MOVES,
    *WATCHDOG,
    *RECONCILIATION,
    *REVERSALS,
    # Operators (F33)
    Mutant(
        name="bulk-item-acted-twice",
        path="orders/services/operators/bulk_runner.py",
        old='item.save(update_fields=["state", "result", "acted_at", "ended_at"])',
        new='item.save(update_fields=["result", "acted_at", "ended_at"])',
        test="tests/services/test_bulk_runner.py::test_simultaneous_runners_and_operators_act_on_each_order_once",
    ),
    Mutant(
        name="bulk-act-without-its-item",
        path="orders/services/operators/bulk_runner.py",
        old="        item.state, item.result = _act(action, item)\n",
        new="        item.state, item.result = _act(action, item)\n"
        "        __import__('django.db').db.connection.connection.commit()\n",
        test="tests/services/test_bulk_runner.py::test_a_runner_that_ends_at_any_statement_repeats_nothing_and_loses_nothing",
    ),
    *LABORATORY,
    *SIMULATION,
)
BY_NAME = {mutant.name: mutant for mutant in MUTANTS}
