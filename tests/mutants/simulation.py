"""Bugs that a developer could introduce, and that the simulation must find: no test of its own is written for any.

Each dies in a life of a few hundred orders. The guards that other tests hold one by one are in the other modules.
"""

from tests.mutants.mutant import CHANNELS, ENGINE, ROW_LOCK, Mutant

LIVES = "tests/mutants/short_lives.py::test_a_short_life_violates_no_invariant"

SIMULATION = (
    # Two at one order (C2, I5)
    Mutant(
        name="orders-with-replies-are-not-locked",
        path=f"{ENGINE}/state_store/claims.py",
        old=f'           {ROW_LOCK}\n        """,\n        {{"ids": array(order_ids)',
        new='        """,\n        {"ids": array(order_ids)',
        test=LIVES,
    ),
    Mutant(
        name="new-orders-are-not-locked",
        path=f"{ENGINE}/state_store/claims.py",
        old="sent = send(_CLAIM if since is None else _CLAIM_SINCE, parameters)",
        new=f"sent = send((_CLAIM if since is None else _CLAIM_SINCE).replace({ROW_LOCK!r}, ''), parameters)",
        test=LIVES,
    ),
    Mutant(
        name="people-act-without-the-lock",
        path=f"{ENGINE}/state_store/claims.py",
        old="OrderProcess.objects.select_for_update(no_key=True)\n        .filter(order_id=order_id)",
        new="OrderProcess.objects.filter(order_id=order_id)",
        test=LIVES,
    ),
    # What commits together (rule 1)
    Mutant(
        name="the-history-follows-the-commit",
        path=f"{ENGINE}/scheduler/role.py",
        old="        state_store.record_events(events)\n        status",
        new="        transaction.on_commit(lambda: state_store.record_events(events))\n        status",
        test=LIVES,
    ),
    # The order of steps, and of their attempts (I3, I4, I10)
    Mutant(
        name="one-finished-predecessor-is-enough",
        path=f"{ENGINE}/scheduler/progress.py",
        old="return is_reversed or all(rows[earlier].state in FINISHED for earlier in declared.after)",
        new="return not declared.after or any(rows[earlier].state in FINISHED for earlier in declared.after)",
        test=LIVES,
    ),
    Mutant(
        name="a-retry-is-the-same-attempt",
        path=f"{ENGINE}/scheduler/order_pass.py",
        old="            attempt=step.attempt + 1,",
        new="            attempt=max(step.attempt, 1),",
        test=LIVES,
    ),
    Mutant(
        name="only-what-runs-is-compensated-first",
        path=f"{ENGINE}/scheduler/compensation.py",
        old="for other in reversals_open if declared_name(other) in later}",
        new="for other in later if rows[other].state == StepStatus.RUNNING}",
        test=LIVES,
    ),
    # Effects (I2)
    Mutant(
        name="a-new-key-after-a-failure",
        path=f"{ENGINE}/scheduler/order_pass.py",
        old="key = step.compensation_key() if compensates else step.key()",
        new='key = step.compensation_key() if compensates else f"{step.key()}/{step.failure_count}"',
        test=LIVES,
    ),
    Mutant(
        name="what-an-agent-has-begun-is-recalled",
        path=f"{CHANNELS}/requests.py",
        old="           AND deliveries = settled_deliveries\n"
        "           AND (deliveries = 0 OR NOT is_repeat)\n"
        "         ORDER BY id\n",
        new="         ORDER BY id\n",
        test=LIVES,
    ),
    # Services without keys (I2): what may be under way is not asked about
    Mutant(
        name="an-earlier-call-is-taken-to-be-over",
        path=f"{ENGINE}/agent_host/doubt.py",
        old="        elif self.may_be_under_way:",
        new="        elif False:",
        test=LIVES,
    ),
    Mutant(
        name="a-failed-call-is-taken-to-be-over",
        path=f"{ENGINE}/agent_host/doubt.py",
        old="if fault.is_over and not self.is_safe:",
        new="if not self.is_safe:",
        test=LIVES,
    ),
    Mutant(
        name="a-call-of-this-host-is-forgotten",
        path=f"{ENGINE}/agent_host/doubt.py",
        old="            self._may_be_done = True",
        new="            pass",
        test=LIVES,
    ),
    # Alerts (I9)
    Mutant(
        name="an-alert-outlives-its-error",
        path="orders/services/order_lock.py",
        old="    alerts.close_alerts([row.order_id], by=by, resolution=resolution)\n",
        new="",
        test=LIVES,
    ),
)
