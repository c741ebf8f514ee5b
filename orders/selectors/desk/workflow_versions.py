"""The versions of each workflow: the orders on them, and in what they differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orders.business import registry
from orders.engine.contracts import Workflow
from orders.engine.runtime.sql import fetch
from orders.selectors.desk.bounds import MOST_COUNTED


@dataclass(frozen=True, kw_only=True)
class VersionStatus:
    """A version of a workflow. The counts stop at `MOST_COUNTED` + 1.

    `is_declared` says whether this release has it, `is_newest` whether new orders take it. `changes` says in what it
    differs from the version before, a sentence for each step. `has_processed` says whether orders that it has processed
    are still outside the archive, so that they can be cancelled. `moves_to` are the later versions that its unfinished
    orders may be moved to.
    """

    name: str
    version: int
    is_declared: bool
    is_newest: bool
    under_way: int
    in_error: int
    has_processed: bool
    changes: Sequence[str]
    moves_to: Sequence[int] = ()

    @property
    def may_go(self) -> bool:
        """Whether it can be taken out of the next release: no order needs it any more."""
        in_use = self.is_newest or self.under_way or self.in_error or self.has_processed
        return self.is_declared and not in_use


def versions() -> list[VersionStatus]:
    """Every version that this release has or that an unfinished order is on, by name. Two queries."""
    declared = registry.workflows()
    newest = registry.newest_workflows()
    counts = _counts()
    processed = _processed([key for key in declared if newest[key[0]].version != key[1]])
    statuses = []
    for name, version in sorted({*declared, *counts}):
        before = _before(declared, name, version)
        workflow = declared.get((name, version))
        under_way, in_error = counts.get((name, version), (0, 0))
        statuses.append(
            VersionStatus(
                name=name,
                version=version,
                is_declared=workflow is not None,
                is_newest=name in newest and newest[name].version == version,
                under_way=under_way,
                in_error=in_error,
                has_processed=(name, version) in processed,
                changes=differences(before, workflow) if before and workflow else (),
                moves_to=_moves_from(name, version),
            )
        )
    return statuses


def _moves_from(name: str, version: int) -> list[int]:
    kind = registry.find_kind(name)
    return [move.to_version for move in kind.moves if move.from_version == version] if kind else []


def _before(declared: Mapping[tuple[str, int], Workflow], name: str, version: int) -> Workflow | None:
    """The declared version before this one; None if it is the first."""
    earlier = [key for key in declared if key[0] == name and key[1] < version]
    return declared[max(earlier)] if earlier else None


def differences(before: Workflow, after: Workflow) -> list[str]:
    """In what a version differs from an earlier one, a sentence for each step that is not the same. Pure."""
    old, new = before.definition, after.definition
    return [
        *(f"{step} is new" for step in new if step not in old),
        *(f"{step} is gone" for step in old if step not in new),
        *(
            f"{step}: {name} is {_words(new[step].get(name))} and was {_words(old[step].get(name))}"
            for step in new
            if step in old
            for name in {**old[step], **new[step]}
            if old[step].get(name) != new[step].get(name)
        ),
    ]


def _words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "nothing"
    return "nothing" if value is None else str(value)


def _processed(versions: Sequence[tuple[str, int]]) -> set[tuple[str, int]]:
    """Those of these versions that have processed orders which can still be compensated. One query, if any."""
    if not versions:
        return set()
    rows = fetch(
        """
        SELECT name, version
          FROM unnest(%s::text[], %s::int[]) AS old (name, version)
         WHERE EXISTS (SELECT FROM orders_orderprocess AS p
                        WHERE p.process_state = 'processed' AND p.workflow = old.name AND p.version = old.version)
        """,
        [[name for name, _ in versions], [version for _, version in versions]],
    )
    return {(name, version) for name, version in rows}


def _counts() -> dict[tuple[str, int], tuple[int, int]]:
    """The orders under way and in Error, by workflow and version."""
    rows = fetch(
        """
        SELECT workflow, version, count(*) FILTER (WHERE state <> 'error'), count(*) FILTER (WHERE state = 'error')
          FROM unnest(ARRAY['pending', 'processing', 'error']) AS states (state),
               LATERAL (SELECT workflow, version FROM orders_orderprocess
                         WHERE process_state = states.state LIMIT %s) AS unfinished
         GROUP BY workflow, version
        """,
        [MOST_COUNTED + 1],
    )
    return {(name, version): (under_way, in_error) for name, version, under_way, in_error in rows}
