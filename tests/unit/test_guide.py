"""The snippets of the guide for agents run, one after another, as a reader would paste them."""

import re

from orders.engine.contracts import Workflow
from orders.shop.time_limits import TimeLimits
from tests.architecture.source import ROOT


def test_the_guides_step_and_workflow_are_valid() -> None:
    guide = (ROOT / "docs" / "agents.md").read_text()
    namespace: dict[str, object] = {}
    for snippet in re.findall(r"^```python\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL):
        exec(snippet, namespace)
    fulfil_order_2 = namespace["fulfil_order_2"]
    assert callable(fulfil_order_2)
    workflow = fulfil_order_2(TimeLimits(customer_wait=60.0))
    assert isinstance(workflow, Workflow)
    assert (workflow.name, workflow.version) == ("fulfil-order", 2)
    assert workflow.by_name["wrap"].agent == "wrapping"
    assert "wrap" in workflow.by_name["create-shipment"].after
