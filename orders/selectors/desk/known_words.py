"""What the words of a query may name in this installation: its steps, agents, workflows, codes, people and SKUs.

The language itself is pure (`orders.selectors.desk.query`). Whoever takes a query from a person reads it with
`read_query`, which refuses a name that nothing here has, since such a query would only ever find nothing.
"""

from collections.abc import Callable, Iterable, Mapping

from orders.business import registry
from orders.business.kinds import OrderKind
from orders.engine.branches import declared_name
from orders.models import AlertGroup, ArchivedOrder, Circuit, StepState, WorkflowDefinition
from orders.models.permissions import accounts_with
from orders.selectors.desk.named import MOST_SKUS
from orders.selectors.desk.query import Condition, Query, QueryError, parse
from orders.selectors.desk.query_fields import ANYTHING, NO, YES, meant
from orders.selectors.desk.sought import skus_like

NEWEST_STEPS = 400
"""The steps that are looked at for names that no workflow of this release has."""
MOST_NAMED = 12
"""The names that an error lists."""

_FINDS_ANYTHING = OrderKind.find_skus.__func__  # type: ignore[attr-defined]


def read_query(text: str, *, codes: Iterable[str] = ()) -> Query:
    """Reads a query that names what there is. `codes` are errors' codes that are known beside those of this store.

    Raises `QueryError`. Up to four queries for each condition on a name.
    """
    query = parse(text)
    check(query.conditions, codes=codes)
    return query


def check(conditions: Iterable[Condition], *, codes: Iterable[str] = ()) -> None:
    """Raises `QueryError` for a value that nothing here is called."""
    for condition in conditions:
        if condition.name == "sku":
            _check_skus(condition)
        elif names := KNOWN.get(condition.name):
            _check(condition, {*names(), *(codes if condition.name == "error" else ())})


def _check(condition: Condition, names: Iterable[str]) -> None:
    names = sorted(set(filter(None, names)))
    for value in condition.values:
        if (declared_name(value) if condition.name == "step" else value) in names:
            continue
        some = f"Choose from {', '.join(names)}." if 0 < len(names) <= MOST_NAMED else ""
        raise _unknown(condition, value, meant(value, names, before=f"{condition.name}:") + some, names)


def _check_skus(condition: Condition) -> None:
    for value in condition.values:
        if skus_like(value, 1) or _is_product(value):
            continue
        if ArchivedOrder.objects.filter(skus__overlap=[value]).exists():
            continue
        alike = _alike(value)
        raise _unknown(condition, value, meant(value, alike, before="sku:"), alike)


def _is_product(sku: str) -> bool:
    """Whether a kind of order that knows its SKUs has one that begins like this."""
    own = [kind for kind in registry.kinds() if kind.find_skus.__func__ is not _FINDS_ANYTHING]  # type: ignore[attr-defined]
    return any(code.startswith(sku) for kind in own for code in kind.find_skus(sku, MOST_SKUS))


def _alike(sku: str) -> list[str]:
    """SKUs that begin with the same three characters, two, or one."""
    for length in (3, 2, 1):
        if names := skus_like(sku[:length]):
            return names
    return []


def _unknown(condition: Condition, value: str, advice: str, names: Iterable[str]) -> QueryError:
    word = str(Condition(name=condition.name, values=(value,)))
    return QueryError(
        f"“{word}” finds nothing: {WHAT[condition.name]} “{value}”. {advice}".strip(),
        word=word,
        allowed=tuple(names),
    )


def steps() -> set[str]:
    """The names of all steps that orders have been at or may be."""
    names = {step for definition in _definitions() for step in definition}
    return names | {declared_name(name) for name, _ in _newest_steps()}


def agents() -> set[str]:
    """The names of all agents that steps have or had."""
    names = {step["agent"] for definition in _definitions() for step in definition.values()}
    stored = Circuit.objects.values_list("agent", flat=True)
    return {*names, *registry.agent_names(), *stored, *(agent for _, agent in _newest_steps())}


def workflows() -> set[str]:
    """The names of all workflows that orders have taken or may take."""
    stored = WorkflowDefinition.objects.values_list("name", flat=True).distinct()
    return {*(name for name, _ in registry.workflows()), *stored}


def codes() -> set[str]:
    """The codes of all errors that there has been an alert of, and those that the businesses explain."""
    stored = AlertGroup.objects.values_list("code", flat=True).distinct()
    return {*stored, *(code for kind in registry.kinds() for code in kind.runbooks)}


def owners() -> set[str]:
    """The accounts of operators, also of those who have left, since a cause may still be theirs."""
    return set(accounts_with("orders.view_console").values_list("username", flat=True))


def acknowledgers() -> set[str]:
    """Operators, and whoever else has acknowledged an alert, as from the command line."""
    return {*owners(), *AlertGroup.objects.values_list("acknowledged_by", flat=True).distinct()}


def _definitions() -> list[Mapping[str, Mapping[str, str]]]:
    own = [workflow.definition for workflow in registry.workflows().values()]
    return [*own, *WorkflowDefinition.objects.values_list("definition", flat=True)]


def _newest_steps() -> list[tuple[str, str]]:
    return list(StepState.objects.order_by("-id").values_list("name", "agent")[:NEWEST_STEPS])


KNOWN: Mapping[str, Callable[[], set[str]]] = {
    "step": steps,
    "agent": agents,
    "waiting": lambda: {*agents(), ANYTHING},
    "paused": lambda: {*steps(), YES, NO},
    "workflow": workflows,
    "error": codes,
    "owner": owners,
    "acknowledged": acknowledgers,
}
"""The fields whose values are names of what there is."""
WHAT: Mapping[str, str] = {
    "step": "no step is called",
    "agent": "no agent is called",
    "waiting": "no agent is called",
    "paused": "no step is called",
    "workflow": "no workflow is called",
    "error": "no alert has had the code",
    "owner": "no operator is called",
    "acknowledged": "no operator is called",
    "sku": "no order and no product has the SKU",
}
