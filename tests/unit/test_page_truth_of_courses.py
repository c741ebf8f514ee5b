"""Whatever happens to an order of the shop, its page claims nothing that the remote services' ledgers contradict."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from babel import Locale
from hypothesis import given, settings

from orders.fields.money import Money
from orders.selectors.customer_order import CustomerOrder, customer_step
from orders.selectors.tracked_orders import Occurrence, TrackedOrder
from orders.wording.customers.progress import Progress, progress
from tests.unit.page_checks import NOT_CHARGED, check_times
from tests.unit.rows import NOW
from tests.unit.shop_orders import APPROVAL, CAPTURE, FULFIL, SHIPMENT, STOCK
from tests.unit.test_progress_properties import courses, happen, leave_in_peace
from tests.unit.world import World

EFFECTS = (STOCK, APPROVAL, SHIPMENT, CAPTURE)
KINDS = {"completed": "step_completed", "compensated": "step_compensated"}


@dataclass
class Watched(World):
    """A world in which the customer looks at the page after each pass."""

    completed: dict[str, datetime] = field(default_factory=dict)
    events: dict[tuple[str, str], datetime] = field(default_factory=dict)

    def run_pass(self) -> None:
        """Runs it, records when steps were done and reversed, and looks at the page."""
        before, goal = {name: step.state for name, step in self.steps.items()}, self.row.goal
        super().run_pass()
        for name, step in self.steps.items():
            if step.state in KINDS and step.state != before[name]:
                self.events[KINDS[step.state], name] = self.now
                self.completed.setdefault(name, self.now)
        if self.row.goal == "compensate" and ("compensation_requested", "") not in self.events:
            self.events["compensation_requested", ""] = self.now
        if self.row.process_state == "compensated":
            self.events.setdefault(("compensated", ""), self.now)
        assert goal == "complete" or self.row.goal == "compensate"
        self.check_page(self.read())

    def read(self) -> Progress:
        rows: list[dict[str, Any]] = [
            {**step._asdict(), "started_at": None, "completed_at": self.completed.get(name)}
            for name, step in self.steps.items()
        ]
        order = CustomerOrder(
            id=UUID(int=0), workflow=FULFIL.name, workflow_version=1, subject="", title="", version="1",
            state=self.row.process_state, goal=self.row.goal, placed_at=NOW, updated_at=NOW, lines=(),
            total=Money(amount=3_900, currency="EUR"), steps=[customer_step(row, self.row.goal) for row in rows],
        )  # fmt: skip
        occurrences = {
            key: Occurrence(at=moment, attempt=0, detail={}) for key, moment in self.events.items()
        }
        tracked = TrackedOrder(order=order, email="", data={}, occurrences=occurrences)
        return progress(tracked, now=self.now, locale=Locale("en"), usual=None)

    def has(self, step: str) -> bool:
        """Whether the remote service has an effect of this step."""
        return any(f"/{step}/" in key for key in self.effects)

    def check_page(self, page: Progress) -> None:
        text = " ".join([page.headline, *page.sentences])
        done = {stage.title for stage in page.stages if stage.state == "done"}
        check_times(page)
        if any(words in text for words in (*NOT_CHARGED, "refunded")):
            assert not self.has(CAPTURE) and not self.may_land(CAPTURE), (text, self.story)
        if "charged or reserved" in text or "has been released" in text:
            assert not self.has(APPROVAL) and not self.may_land(APPROVAL), (text, self.story)
        if "is reserved on your card" in text:
            assert self.has(APPROVAL), (text, self.story)
        if "on its way" in text:
            assert self.has(CAPTURE) and self.has(SHIPMENT), (text, self.story)
        if page.headline == "Your order was cancelled.":
            assert not any(self.has(step) or self.may_land(step) for step in EFFECTS), (text, self.story)
        for title, step in {
            "Paid": CAPTURE,
            "Handed to the carrier": SHIPMENT,
            "Payment approved": APPROVAL,
            "Stock reserved": STOCK,
        }.items():
            # On the way back it says what was once done.
            assert title not in done or self.row.goal == "compensate" or self.has(step), (title, self.story)
        for title, step in {
            "Shipment cancelled": SHIPMENT,
            "Nothing will be sent": SHIPMENT,
            "Stock released": STOCK,
            "No stock is reserved": STOCK,
        }.items():
            assert title not in done or not (self.has(step) or self.may_land(step)), (title, self.story)


@given(courses)
@settings(max_examples=30)
def test_no_course_of_events_makes_the_page_claim_what_is_not_so(course: list[tuple[str, int]]) -> None:
    world = Watched(FULFIL)
    world.run_pass()
    for event, index in course:
        happen(world, event, index)
    leave_in_peace(world)
