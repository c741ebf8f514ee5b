"""Whom or what stored orders wait for, in SQL: for many orders, what `orders.selectors.order_waits` says of one."""

from orders.selectors.order_waits import OUTSIDE, URGENCY
from orders.vocabulary import Goal, ProcessState, StepStatus, WaitingFor, WaitKind

_KINDS = ", ".join(f"'{kind}'" for kind in URGENCY)
_OUTSIDE = " ".join(f"WHEN '{kind}' THEN {URGENCY[waiting_for]}" for kind, waiting_for in OUTSIDE.items())
_IS_PARKED = f"""
    (step.state = '{StepStatus.AWAITING}' AND step.awaits ->> 'kind' <> '{WaitKind.ITEMS}'
     OR step.state = '{StepStatus.RUNNING}' AND step.awaits ->> 'kind' = '{WaitKind.ANSWER}'
        AND step.awaits_until IS NOT NULL)
"""
_URGENCY = f"""
    CASE WHEN {_IS_PARKED} THEN
              CASE WHEN process.goal = '{Goal.COMPLETE}' OR step.compensation_sent_at IS NOT NULL
                   THEN CASE step.awaits ->> 'kind' {_OUTSIDE} END END
         WHEN step.state = '{StepStatus.FAILED}' AND process.goal = '{Goal.COMPLETE}'
              AND step.error ->> 'waits_for' = '{WaitingFor.CUSTOMER}' THEN {URGENCY[WaitingFor.CUSTOMER]}
         WHEN step.paused_since IS NOT NULL THEN {URGENCY[WaitingFor.OPERATOR]}
         WHEN step.waiting_since IS NOT NULL THEN {URGENCY[WaitingFor.AGENT]}
         WHEN step.complete_by IS NULL AND step.not_before IS NOT NULL
              AND (step.state = '{StepStatus.COMPENSATING}'
                   OR step.state = '{StepStatus.NOT_STARTED}' AND process.goal = '{Goal.COMPLETE}')
         THEN {URGENCY[WaitingFor.RETRY]} END
"""
_UNTIL = f"""
    CASE WHEN {_IS_PARKED} THEN CASE step.awaits ->> 'kind' WHEN '{WaitKind.ANSWER}' THEN step.awaits_until
                                                            WHEN '{WaitKind.DELAY}' THEN step.not_before
                                                            ELSE step.complete_by END
         WHEN step.paused_since IS NULL AND urgent.urgency <> {URGENCY[WaitingFor.AGENT]} THEN step.not_before END
"""

WAIT = f"""
    SELECT (ARRAY[{_KINDS}])[urgency + 1] AS kind, until
      FROM (SELECT {URGENCY[WaitingFor.OPERATOR]} AS urgency, NULL::timestamptz AS until
             WHERE process.process_state = '{ProcessState.ERROR}'
             UNION ALL
            SELECT {URGENCY[WaitingFor.OPERATOR]}, process.paused_until
             WHERE process.paused_at IS NOT NULL AND process.process_state <> '{ProcessState.ERROR}'
             UNION ALL
            SELECT urgent.urgency, {_UNTIL}
              FROM orders_stepstate AS step
             CROSS JOIN LATERAL (SELECT {_URGENCY} AS urgency) AS urgent
             WHERE step.order_id = process.order_id AND urgent.urgency IS NOT NULL
               AND process.process_state IN ('{ProcessState.PENDING}', '{ProcessState.PROCESSING}')
           ) AS waits
     ORDER BY urgency, until NULLS LAST
     LIMIT 1
"""
"""What the row `process` of the statement around it waits for: a row of `kind` and `until`, or none if for nothing."""
FAILED = f"""
    (SELECT json_agg(json_build_array(step.name, step.error))::text
       FROM orders_stepstate AS step
      WHERE step.order_id = process.order_id AND step.state = '{StepStatus.FAILED}')
"""
"""The steps of that row that have failed, each with its error, as JSON."""
