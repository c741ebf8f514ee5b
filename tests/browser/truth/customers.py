"""What a customer does while there is a fault: she orders, cancels, pays another way, or corrects her order."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from uuid import UUID

from playwright.sync_api import Browser, Page

from orders.access.guest_links import read_token
from tests.browser.buying import ADDRESS, choose_country
from tests.browser.complaints import quiet_context
from tests.browser.truth.facts import Story
from tests.browser.truth.mailboxes import missing_emails, repeated_emails
from tests.browser.truth.moments import Recorder
from tests.browser.truth.oracle import judge
from tests.browser.truth.shop import HurriedShop, is_about

POSTER = "First Sun"
ORDER_PAGE = re.compile(r"/o/[^/]+/$")
OPENS = 60_000
"""Milliseconds that a page may take on a busy machine."""
POLL = 50
"""Milliseconds between two looks, in which the browser's messages are handled."""
TROUBLES = (
    "call_failed",
    "step_timed_out",
    "step_failed",
    "step_refused",
    "step_declined",
    "waiting_for_agent",
)
"""The events by which a fault shows in an order's history."""
TROUBLES_BACK = ("call_failed", "compensation_failed", "compensation_timed_out", "step_compensated")
"""The same on the way back; with the last it did not matter."""
ENDED = frozenset({"processed", "compensated", "error"})


@dataclass
class Customer:
    """A guest with one order, whose pages are recorded."""

    page: Page
    shop: HurriedShop
    recorder: Recorder
    order: UUID = field(init=False)
    story: Story = field(default_factory=Story)

    def buy(self, method: str = "card_ok", quantity: int = 1) -> None:
        """Orders so many prints of a poster."""
        page = self.page
        for _ in range(quantity):
            page.goto("/posters/first-sun/")
            page.get_by_role("button", name="Add to cart").click()
            page.locator(".toasts .notice").wait_for()
        page.goto("/checkout/")
        for label, text in ADDRESS.items():
            page.get_by_label(label, exact=True).fill(text)
        choose_country(page, "GB")
        page.locator(f"[value={method}]").check()
        self.story = Story(placed=time.time(), cards=[(0.0, method)], lines={POSTER: quantity})
        page.get_by_role("button", name="Place order").click()
        page.wait_for_url("**/o/**")
        order = read_token(page.url.partition("/o/")[2].partition("/")[0])
        assert order is not None
        self.order = order

    def cancel(self) -> None:
        """Cancels the order."""
        self.page.get_by_role("link", name="Cancel the order").first.click()
        self.page.get_by_role("button", name="Yes, cancel the order").click()
        self.page.locator("#headline").wait_for()

    def pay_with(self, method: str) -> None:
        """Pays another way."""
        self.page.locator(f"[value={method}]").check()
        self.story = replace(self.story, cards=[*self.story.cards, (time.time(), method)])
        self.page.get_by_role("button", name="Pay this way").click()
        self.page.locator("#headline").wait_for()

    def send_to(self, country: str, postal_code: str) -> None:
        """Gives an address in another country, to which delivery costs something else, and agrees to the new total."""
        self._keep_version()
        self.page.get_by_role("link", name="Give another address").click()
        self.page.get_by_label("Country").select_option(country)
        self.page.locator("[name=postal_code]").fill(postal_code)
        self.page.get_by_role("button", name="Send it to this address").click()
        self.page.get_by_role("button", name="Change it to").click()
        self.page.wait_for_url(ORDER_PAGE)

    def order_fewer(self, quantity: int) -> None:
        """Orders so many of the poster instead, and agrees to the new total."""
        self._keep_version()
        self.page.get_by_role("link", name="Change what you ordered").click()
        self.page.get_by_label(POSTER).fill(str(quantity))
        self.page.get_by_role("button", name="Continue").click()
        self.page.get_by_role("button", name="Change it to").click()
        self.page.wait_for_url(ORDER_PAGE)

    def _keep_version(self) -> None:
        versions = [*self.story.versions, self.shop.data(self.order)]
        self.story = replace(self.story, versions=versions, changes=[*self.story.changes, time.time()])

    def be_refunded(self, reason: str) -> None:
        """Has an operator cancel and refund the order."""
        done = self.shop.shop.system.manage("compensate", str(self.order), "--reason", reason)
        assert done.returncode == 0, done.stdout + done.stderr

    def wait(self, question: Callable[[], object], what: str, seconds: float = 90.0) -> None:
        """Looks at the page until something has come about."""
        ends = time.monotonic() + seconds
        while not question():
            assert time.monotonic() < ends, f"waited {seconds:g} s for {what}; {self._course()}"
            self.page.wait_for_timeout(POLL)

    def _course(self) -> str:
        """How far the order has come, for the reader of a failure."""
        last = [f"{event.kind} {event.step}".strip() for event in self.shop.events(self.order)[-8:]]
        headline, state = self.headline(), self.shop.state(self.order)
        return f"{headline!r}, {state}, {', '.join(last)}; {self.shop.messages(self.order)}"

    def wait_until_done(self, *steps: str) -> None:
        """Waits until these steps are done."""
        self.wait(lambda: set(steps) <= self._steps("step_completed"), f"{steps}")

    def go_away(self) -> None:
        """Leaves the page of the order, so that its news come by email."""
        self.page.goto("/contact/")

    def wait_for_email(self, words: str, seconds: float = 120.0) -> None:
        """Waits until an email has arrived whose subject begins so."""
        system = self.shop.shop.system

        def has_come() -> bool:
            self.shop.hurry_emails()
            subjects = [email["subject"] for email in system.ledger("mail") if is_about(email, self.order)]
            return any(subject.startswith(words) for subject in subjects)

        self.wait(has_come, f"the email {words!r}", seconds)

    def wait_for_headline(self, words: str, seconds: float = 90.0) -> None:
        """Waits until the page says this, by itself."""
        self.wait(lambda: words in self.headline(), f"the headline {words!r}", seconds)

    def headline(self) -> str:
        """The page's headline; empty while it is on another page."""
        headline = self.page.locator("#headline")
        return headline.inner_text() if headline.count() else ""

    def wait_for_end(self) -> str:
        """Waits until the order has ended and the page says so; returns its state."""
        self.wait(lambda: self.shop.state(self.order) in ENDED, "the end of the order")
        last = max(event.at for event in self.shop.events(self.order) if event.kind in ENDED)
        self.wait(
            lambda: self.recorder.moments and self.recorder.moments[-1].until >= last,
            "the page of the order that has ended",
        )
        return self.shop.state(self.order)

    def has_met(self, *steps: str) -> bool:
        """Whether a fault has stood in the order's way at one of these steps, or the step was done all the same."""
        met = self._steps(*TROUBLES, "step_completed")
        return bool(met & set(steps)) or self.shop.state(self.order) in ENDED

    def has_met_on_the_way_back(self) -> bool:
        """The same of an order that was cancelled, at whichever step."""
        return bool(self._steps(*TROUBLES_BACK)) or self.shop.state(self.order) in ENDED

    def look_around(self) -> None:
        """Sees what the page says for a while longer: an attempt takes that long."""
        self.page.wait_for_timeout(700)

    def may_cancel(self) -> bool:
        """Whether the page offers to cancel the order."""
        return self.page.get_by_role("link", name="Cancel the order").count() > 0

    def _steps(self, *kinds: str) -> set[str]:
        return {event.step for event in self.shop.events(self.order) if event.kind in kinds}

    def check(self) -> frozenset[str]:
        """Fails for each sentence that this customer read and that was not true, and for each email that is missing or
        has come twice; returns the sentences that were true."""
        self.wait(lambda: self.shop.is_told(self.order), "the emails")
        self.recorder.look_at(self.page)
        story, emails = self.shop.story(self.order, self.story)
        judgement = judge(story, [*self.recorder.moments, *emails])
        unsent = missing_emails(story, self.recorder.moments)
        complaints = [*judgement.complaints, *unsent, *repeated_emails(story)]
        assert not complaints, "\n".join(["", *complaints])
        return judgement.sentences


NewCustomer = Callable[[], Customer]


@contextmanager
def customers(shop: HurriedShop, browser: Browser) -> Iterator[NewCustomer]:
    """Opens pages for customers, each of a browser context of her own."""
    with ExitStack() as contexts:

        def one() -> Customer:
            context = contexts.enter_context(quiet_context(browser, url=shop.url))
            context.set_default_timeout(OPENS)
            recorder = Recorder()
            recorder.listen(context)
            return Customer(context.new_page(), shop, recorder)

        yield one
