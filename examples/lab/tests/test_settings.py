"""A wrong setting of the laboratory stops the start with one line, and no secret is in it."""

import pytest

from examples.lab.agents import agents
from orders.business import Environment
from sasweb.environment import ConfigError


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("LAB_STANDIN_BIND", "9100", "LAB_STANDIN_BIND='9100' is not valid; expected HOST:PORT"),
        ("LAB_REPORTS_URL", "reports", "LAB_REPORTS_URL='reports' is not valid; expected a URL"),
        ("LAB_TOKEN", "a secret", "LAB_TOKEN is not valid; expected printable ASCII without spaces"),
    ],
)
def test_a_wrong_value_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as refused:
        agents(Environment())
    assert str(refused.value).startswith(message)
