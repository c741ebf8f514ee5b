"""Every state, standing and event has words of its own, once."""

import pytest

from orders.engine.circuits.rules import CircuitState
from orders.selectors.desk.standing import Kind, Standing
from orders.vocabulary import Outcome, ProcessState, StepStatus
from orders.wording import standings, states
from orders.wording.states import pill_of


@pytest.mark.parametrize(
    ("words", "vocabulary"),
    [
        (states.ORDER_STATES, ProcessState),
        (states.STEP_STATES, StepStatus),
        (states.CIRCUIT_STATES, CircuitState),
        (states.OUTCOMES, Outcome),
        (standings.STANDINGS, Kind),
    ],
)
def test_every_value_has_its_words_and_no_other_has(words: dict[str, object], vocabulary: type) -> None:
    assert set(words) == set(vocabulary)  # type: ignore[call-overload]


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("on", ["oven", ""])
def test_every_standing_has_a_sentence_with_and_without_an_agent(kind: Kind, on: str) -> None:
    text = standings.sentence(Standing(kind=kind, on=on))
    assert text[0].isupper() or text.startswith("oven")
    assert text.endswith(".") and "{" not in text and " at An" not in text


def test_a_state_that_this_release_does_not_know_is_shown_by_its_name() -> None:
    assert pill_of(states.ORDER_STATES, "half_baked") == ("idle", "info", "half baked")
