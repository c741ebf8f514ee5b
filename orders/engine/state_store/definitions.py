"""What the versions of workflows were when orders started on them (rule 10)."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from orders.engine.contracts import WorkflowKey, Workflows
from orders.engine.runtime.sql import fetch, recordset, run


class OtherDefinition(NamedTuple):
    """A definition that orders are on, other than this release's of the same version."""

    key: WorkflowKey
    steps: dict[str, dict[str, Any]]


class Stranded(NamedTuple):
    """Orders on a workflow that no scheduler runs: how many, and one of them."""

    key: WorkflowKey
    number: int
    example: UUID


def record_definitions(workflows: Workflows) -> None:
    """Keeps the definitions of this release, so that a later release can say what it has changed."""
    run(
        """
        INSERT INTO orders_workflowdefinition (name, version, fingerprint, definition)
        SELECT name, version, fingerprint, definition
          FROM json_to_recordset(%s::json)
            AS v(name text, version smallint, fingerprint text, definition jsonb)
         ORDER BY name, version, fingerprint
            ON CONFLICT DO NOTHING
        """,
        [
            recordset(
                {
                    "name": name,
                    "version": version,
                    "fingerprint": workflow.fingerprint,
                    "definition": workflow.definition,
                }
                for (name, version), workflow in workflows.items()
            )
        ],
    )


def other_definitions(workflows: Workflows) -> list[OtherDefinition]:
    """For each version that this release has changed, the definition of it that an unfinished order is on.

    A version is not changed any more once an order has started with this release's definition: someone has decided so.
    Then only the orders on the other definition wait. Whoever lets orders start with a definition has recorded it, so
    usually there is none to look for.
    """
    rows = fetch(
        """
        SELECT DISTINCT ON (workflow.name, workflow.version)
               workflow.name, workflow.version, known.definition::text
          FROM unnest(%s::text[], %s::smallint[], %s::text[]) AS workflow (name, version, fingerprint)
          JOIN orders_workflowdefinition AS known
            ON known.name = workflow.name
           AND known.version = workflow.version
           AND known.fingerprint <> workflow.fingerprint
         CROSS JOIN LATERAL (
                   SELECT 1
                     FROM orders_orderprocess AS p
                    WHERE p.process_state IN ('pending', 'processing', 'error')
                      AND p.workflow = workflow.name
                      AND p.version = workflow.version
                      AND p.fingerprint = known.fingerprint
                      AND NOT EXISTS (
                              SELECT 1
                                FROM orders_orderprocess AS own
                               WHERE own.workflow = workflow.name
                                 AND own.version = workflow.version
                                 AND own.fingerprint = workflow.fingerprint
                          )
                    LIMIT 1
               ) AS other
        """,
        columns_of(workflows),
    )
    return [OtherDefinition((name, version), json.loads(text)) for name, version, text in rows]


def stranded_orders(*, roles: Sequence[str]) -> list[Stranded]:
    """The unfinished orders on workflows that no live process of these roles runs.

    A version that a live process refuses to run is left out: operators know of it already.
    """
    rows = fetch(
        """
        WITH live AS (
            SELECT instance.versions, instance.troubles
              FROM orders_roleinstance AS instance
             WHERE instance.role = ANY(%(roles)s)
               AND instance.seen_at > clock_timestamp() - interval '60 seconds'
        ), open_orders AS MATERIALIZED (
            SELECT workflow, version, fingerprint, count(*)::int AS number, min(order_id::text)::uuid AS example
              FROM orders_orderprocess
             WHERE process_state IN ('pending', 'processing')
             GROUP BY workflow, version, fingerprint
        )
        SELECT o.workflow, o.version, sum(o.number)::int, min(o.example::text)::uuid
          FROM open_orders AS o
         WHERE NOT EXISTS (
                   SELECT 1
                     FROM live, jsonb_array_elements(live.versions) AS runs (version)
                    WHERE runs.version ->> 0 = o.workflow
                      AND (runs.version ->> 1)::int = o.version
                      AND o.fingerprint IN (runs.version ->> 2, '')
               )
           AND NOT EXISTS (
                   SELECT 1
                     FROM live
                    WHERE live.troubles @> jsonb_build_array(jsonb_build_object(
                              'subject', o.workflow || ' v' || o.version, 'code', 'workflow_changed'))
               )
         GROUP BY o.workflow, o.version
         ORDER BY o.workflow, o.version
        """,
        {"roles": list(roles)},
    )
    return [Stranded((name, version), number, example) for name, version, number, example in rows]


def columns_of(workflows: Workflows) -> list[list[Any]]:
    """The names, the versions and the fingerprints of these workflows, each as a list for `unnest`."""
    return [
        [name for name, _ in workflows],
        [version for _, version in workflows],
        [workflow.fingerprint for workflow in workflows.values()],
    ]
