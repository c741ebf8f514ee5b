"""Guards of circuits, retries and their budget (A8, A9, I8)."""

from tests.mutants.mutant import ENGINE, Mutant

OUTAGES = (
    Mutant(
        name="no-circuit-check",
        path=f"{ENGINE}/agent_host/call.py",
        old="if not self._circuit.admits():",
        new="if False:",
        test="tests/engine/test_outages.py::test_a_host_hands_requests_back_uncalled_while_the_circuit_is_open",
    ),
    Mutant(
        name="an-open-circuit-has-room",
        path=f"{ENGINE}/circuits/rules.py",
        old="return int(is_probe_due(circuit, now))",
        new="return 1",
        test="tests/unit/test_breaker.py::test_credit_is_about_twice_the_capacity_and_one_probe_while_the_circuit_is_not_closed",
    ),
    Mutant(
        name="no-credit",
        path=f"{ENGINE}/circuits/credit.py",
        old="if self.rooms.get(agent, 0) <= 0:",
        new="if is_retry and self.retries <= 0:",
        test="tests/engine/test_waiting_for_agents.py::test_a_step_without_credit_waits_with_no_complete_by_and_no_failure",
    ),
    Mutant(
        name="no-budget",
        path=f"{ENGINE}/circuits/retry_budget.py",
        old="return min(retries, int(",
        new="return max(retries, int(",
        test="tests/store/test_retry_budget_row.py::test_retries_are_granted_up_to_two_seconds_worth_and_then_at_the_rate",
    ),
    Mutant(
        name="failure-counted-while-waiting",
        path=f"{ENGINE}/supervisor/remedies.py",
        old="if not is_available and (goal == Goal.COMPLETE or backward):",
        new="if False:",
        test="tests/unit/test_order_machine.py",
    ),
    Mutant(
        name="deferred-means-never-begun",
        path=f"{ENGINE}/agent_host/call.py",
        old="return answer._replace(calls=max(answer.calls, int(self.lease.may_be_begun)))",
        new="return answer",
        test="tests/unit/test_deferral.py",
    ),
    Mutant(
        name="waits-outlive-the-order",
        path=f"{ENGINE}/scheduler/order_pass.py",
        old="        self._waits.clear()\n",
        new="",
        test="tests/unit/test_deferral.py",
    ),
    Mutant(
        name="credit-without-shares",
        path=f"{ENGINE}/circuits/rules.py",
        old="free = min(credit - outstanding, max(1, credit // schedulers) - own)",
        new="free = credit - outstanding",
        test="tests/engine/test_credit_of_many_schedulers.py",
    ),
    Mutant(
        name="waiting-retries-beyond-the-budget",
        path=f"{ENGINE}/state_store/claims.py",
        old="LIMIT least(agents.room, steps.most)",
        new="LIMIT agents.room",
        test="tests/engine/test_retry_budget.py",
    ),
    Mutant(
        name="all-that-waited-go-on-at-once",
        path=f"{ENGINE}/scheduler/workload.py",
        old="max(max(limit // 4, 1) - len(rows), limit // 16)",
        new="max(limit - len(rows) - limit // 4, limit // 4)",
        test="tests/engine/test_waiting_for_agents.py",
    ),
    Mutant(
        name="a-long-pass-overfills-the-budget",
        path=f"{ENGINE}/circuits/retry_budget.py",
        old="least(%(full)s, tokens + %(rate)s * greatest(0, passed))",
        new="tokens + %(rate)s * greatest(0, passed)",
        test="tests/engine/test_retry_budget.py",
    ),
    Mutant(
        name="due-orders-fill-the-claim",
        path=f"{ENGINE}/state_store/claims.py",
        old="few = min(limit, max(1, limit // 8))",
        new="few = limit",
        test="tests/store/test_claims.py",
    ),
)
