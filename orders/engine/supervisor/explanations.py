"""Why a step or an order failed, in words for operators."""

from collections.abc import Sequence
from typing import Any

from orders.engine import state_store
from orders.engine.supervisor.finding import Finding


def explain(findings: Sequence[Finding]) -> None:
    """Gives each step that an agent has failed an error that says how its last remote call failed."""
    failed = [
        step
        for finding in findings
        if finding.failed and (step := finding.failed[1]) is not None and step.agent
    ]
    reasons = state_store.last_call_failures(failed)
    for finding in findings:
        kind, step = finding.failed or (None, None)
        if kind is None or step is None or not step.agent:
            continue
        cause = reasons.get((step.order_id, step.name))
        goes_back = step.goes_back(finding.row.goal)
        tries = step.compensation_failure_count if goes_back else step.failure_count
        last = f"its last call: {cause['message']}" if cause else "no call to it was answered"
        error = {
            "code": cause["code"] if cause else "timed_out",
            "message": f"{step.agent} did not answer by the complete-by time, {tries} times; {last}",
        }
        explained = step._replace(error=error)
        finding.failed = (kind, explained)
        finding.writes = [
            write._replace(step=explained) if write.step is step else write for write in finding.writes
        ]


def error_of(finding: Finding) -> dict[str, Any]:
    """The error of a finding that has failed: its step's, or that of the order as a whole."""
    _, step = finding.failed or (None, None)
    if step and step.error:
        return step.error
    return {
        "code": "order_overran",
        "message": f"the order passed its complete-by time {finding.row.overruns} times",
    }
