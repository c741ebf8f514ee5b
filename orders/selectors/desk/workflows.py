"""The workflows as graphs, with how many orders are at each step now.

The layout follows from the declaration alone (`layers`, `draw`). The counts are read from the indexes of steps that are
in flight, waiting or failed, each up to a bound, so that they cost the same however many orders are stored.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from orders.business.registry import workflows
from orders.engine.contracts import Workflow
from orders.engine.runtime.sql import fetch

MOST = 1_000
"""Where counting stops, for each agent and each kind."""
BOX_WIDTH, BOX_HEIGHT = 210, 96
GAP_X, GAP_Y = 48, 24
MARGIN = 12


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Orders at a step: in flight, waiting for its agent or because it is paused, put off until a time, and failed."""

    running: int = 0
    waiting: int = 0
    put_off: int = 0
    failed: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.running + self.waiting + self.put_off + self.failed


@dataclass(frozen=True, kw_only=True)
class Node:
    """A step as a box. `left` and `top` are its corner in pixels. It may have a condition, or run for each item of a
    list."""

    name: str
    agent: str
    operation: str
    after: Sequence[str]
    left: int
    top: int
    counts: Counts
    has_condition: bool = False
    has_items: bool = False

    @property
    def middle(self) -> int:
        """The height of its middle."""
        return self.top + BOX_HEIGHT // 2

    @property
    def right(self) -> int:
        """Its right edge."""
        return self.left + BOX_WIDTH


@dataclass(frozen=True, kw_only=True)
class Graph:
    """A workflow's boxes and the paths of its arrows (`d` of an SVG path)."""

    name: str
    version: int
    width: int
    height: int
    nodes: Sequence[Node]
    arrows: Sequence[str]

    @property
    def key(self) -> str:
        """Its name and version."""
        return f"{self.name} {self.version}"


def graphs(*, now: datetime) -> list[Graph]:
    """Every workflow of this release, the newest version first. One query."""
    counts = _counts(now)
    return [
        draw(workflow, counts[workflow.name, workflow.version])
        for workflow in reversed(list(workflows().values()))
    ]


def layers(workflow: Workflow) -> list[list[str]]:
    """The steps in columns: each is to the right of every step that it comes after."""
    depth: dict[str, int] = {}
    for step in workflow.steps:
        depth[step.name] = max((depth[other] + 1 for other in step.after), default=0)
    columns: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
    for name, column in depth.items():
        columns[column].append(name)
    return columns


def draw(workflow: Workflow, counts: Mapping[str, Counts]) -> Graph:
    """The layout of a workflow. Each column is centred."""
    columns = layers(workflow)
    height = 2 * MARGIN + max(map(_height, map(len, columns)))
    nodes: dict[str, Node] = {}
    for index, names in enumerate(columns):
        top = (height - _height(len(names))) // 2
        for row, name in enumerate(names):
            step = workflow.by_name[name]
            nodes[name] = Node(
                name=name,
                agent=step.agent,
                operation=step.operation,
                after=step.after,
                left=MARGIN + index * (BOX_WIDTH + GAP_X),
                top=top + row * (BOX_HEIGHT + GAP_Y),
                counts=counts.get(name, Counts()),
                has_condition=step.when is not None,
                has_items=step.each is not None,
            )
    arrows = [_arrow(nodes[other], node) for node in nodes.values() for other in node.after]
    width = 2 * MARGIN + len(columns) * BOX_WIDTH + (len(columns) - 1) * GAP_X
    in_order = [nodes[step.name] for step in workflow.steps]
    return Graph(
        name=workflow.name,
        version=workflow.version,
        width=width,
        height=height,
        nodes=in_order,
        arrows=arrows,
    )


def _height(boxes: int) -> int:
    return boxes * BOX_HEIGHT + (boxes - 1) * GAP_Y


def _arrow(start: Node, end: Node) -> str:
    """A curve from one box to the next, with room for the arrowhead that a marker draws."""
    bend = GAP_X // 2
    tip = end.left - 7
    return (
        f"M{start.right} {start.middle}C{start.right + bend} {start.middle} "
        f"{tip - bend} {end.middle} {tip} {end.middle}"
    )


def _counts(now: datetime) -> dict[tuple[str, int], dict[str, Counts]]:
    """By workflow and step. A failed step counts only while its order is in Error or waits for its customer."""
    rows = fetch(
        """
        WITH at AS (
            (SELECT order_id, name, CASE state WHEN 'awaiting' THEN 'put_off' ELSE 'running' END AS what
               FROM orders_stepstate
              WHERE complete_by IS NOT NULL
              ORDER BY complete_by LIMIT %(most)s)  -- what runs ends before most of what is awaited
            UNION ALL
            SELECT waits.order_id, waits.name, 'waiting'
              FROM (SELECT agent FROM orders_circuit UNION SELECT agent FROM orders_agentinstance) AS known,
                   LATERAL (SELECT order_id, name FROM orders_stepstate
                             WHERE waiting_since IS NOT NULL AND agent = known.agent LIMIT %(most)s) AS waits
            UNION ALL
            (SELECT order_id, name, 'waiting' FROM orders_stepstate
              WHERE paused_since IS NOT NULL ORDER BY paused_since LIMIT %(most)s)
            UNION ALL
            SELECT s.order_id, s.name, 'put_off'
              FROM (SELECT order_id FROM orders_orderprocess
                     WHERE process_state IN ('pending', 'processing') AND not_before IS NOT NULL
                     ORDER BY not_before LIMIT %(most)s) AS later
              JOIN orders_stepstate AS s ON s.order_id = later.order_id
               AND s.not_before > %(now)s AND s.waiting_since IS NULL AND s.complete_by IS NULL
               AND s.paused_since IS NULL
            UNION ALL
            SELECT s.order_id, s.name, 'failed'
              FROM (SELECT order_id FROM orders_orderprocess WHERE process_state = 'error'
                     ORDER BY created_at DESC LIMIT %(most)s) AS wrong
             CROSS JOIN LATERAL (
                   SELECT order_id, name FROM orders_stepstate
                    WHERE order_id = wrong.order_id AND state = 'failed'
                   OFFSET 0) AS s  -- order by order, rather than all that have failed
        )
        SELECT p.workflow, p.version, split_part(at.name, ':', 1), at.what, count(DISTINCT p.order_id)
          FROM at JOIN orders_orderprocess AS p ON p.order_id = at.order_id
         GROUP BY 1, 2, 3, 4
        """,
        {"most": MOST, "now": now},
    )
    kinds: dict[tuple[str, int], dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    for workflow, version, step, kind, count in rows:
        kinds[workflow, version][step][kind] = count
    counts: dict[tuple[str, int], dict[str, Counts]] = defaultdict(dict)
    for key, steps in kinds.items():
        counts[key] = {step: Counts(**counts) for step, counts in steps.items()}
    return counts
