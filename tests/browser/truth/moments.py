"""Records what the pages of orders say: each time that one of them arrives, and each time that it changes."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from playwright.sync_api import BrowserContext, Page

CATCHES_UP = 6.0
"""Seconds within which an open page shows what has happened to its order, while each core has one thing to do."""
FINISHED_CATCHES_UP = 20.0
"""The same of an order that has ended, at whose page the browser looks now and then."""


@dataclass(frozen=True, kw_only=True)
class Words:
    """What stands in one place. `where` is status, headline, sentence, stage, total, lines, sums, toast, label or mail.
    A stage has a `state`, and its `time` if it has one. `lines` are those of an order, `sums` the rows of its sum."""

    text: str
    where: str
    state: str = ""
    time: float | None = None


@dataclass(frozen=True, kw_only=True)
class Moment:
    """What a reader saw: a page between the moments when the server read the order (`since`) and when the browser had
    the page (`until`), or an email that arrived then. `placed` is when the order was placed, as the page says it.

    A page that follows its order stands there until `closed_at`, and shows what happens within `catches_up` seconds;
    with 0 it never changes, as a form or an email.
    """

    source: str
    since: float
    until: float
    words: Sequence[Words]
    placed: float | None = None
    closed_at: float = 0.0
    catches_up: float = 0.0


# Every text node in the main part and in the toasts, by the block that it stands in. What only shows the order's own
# data is left out: its address, its number. Its lines and its sum are read apart.
READER = """(() => {
  const BLOCKS = "p, h1, h2, li, dt, dd, button, a.button, label, legend, .status, .notice";
  const DATA = "script, style, noscript, svg, template, [hidden], .unseen, .line, address, code, .order__facts dd,"
    + " .field, .choices, .sum__rows, time";
  const seconds = (text) => text ? Date.parse(text) / 1000 : null;
  const clean = (text) => text.replace(/\\s+/g, " ").trim();
  let last = "";

  function textOf(block) {
    let text = "";
    for (const node of block.childNodes) {
      if (node.nodeType === Node.TEXT_NODE) text += node.data;
      else if (node.nodeType === Node.ELEMENT_NODE && !node.matches("script, svg, .unseen, template, code")
               && !node.matches(BLOCKS)) text += textOf(node);
    }
    return text;
  }

  function wordsOf(row, parts) {
    return [...row.querySelectorAll(parts)].map((part) => clean(textOf(part))).join(": ");
  }

  function place(block) {
    if (block.closest(".toasts")) return "toast";
    if (block.id === "headline") return "headline";
    if (block.matches(".status")) return "status";
    if (block.matches(".progress__text p")) return "sentence";
    return "label";
  }

  function words() {
    const found = [];
    for (const root of document.querySelectorAll("#main, .toasts")) {
      for (const block of root.querySelectorAll(BLOCKS)) {
        if (block.closest(DATA) || block.closest(".track")) continue;
        const text = clean(textOf(block));
        if (/[\\p{L}]/u.test(text)) found.push({text, where: place(block), state: "", time: null});
      }
    }
    for (const step of document.querySelectorAll("#progress .track__step")) {
      const state = [...step.classList].find((name) => name.startsWith("track__step--")).slice(13);
      const title = clean(textOf(step.querySelector(".track__title")));
      const time = seconds(step.querySelector("time")?.dateTime);
      found.push({text: title, where: "stage", state, time});
      const word = step.querySelector(".track__word");
      if (word) found.push({text: clean(word.textContent), where: "note", state, time: null});
    }
    const total = document.querySelector(".sum__total dd");
    if (total && document.querySelector("#progress")) {
      found.push({text: clean(total.textContent), where: "total", state: "", time: null});
    }
    const data = {lines: [".lines .line", ".line__title, .line__price"], sums: [".sum__rows > div", "dt, dd"]};
    for (const [where, [rows, parts]] of Object.entries(data)) {
      const texts = [...document.querySelectorAll(`.order ${rows}`)].map((row) => wordsOf(row, parts));
      if (texts.length) found.push({text: texts.join("; "), where, state: "", time: null});
    }
    return found;
  }

  function tell() {
    const part = document.querySelector("#progress");
    if (!document.querySelector("#main")) return;
    const since = part ? seconds(part.dataset.now) : performance.timeOrigin / 1000;
    if (last === String(since)) return;
    const now = Date.now() / 1000;
    const begun = last ? now : performance.timeOrigin / 1000;
    last = String(since);
    const facts = [...document.querySelectorAll(".order__facts dt")];
    const placed = facts.find((label) => label.textContent.trim() === "Placed");
    window.tellTruth({
      path: location.pathname, since, until: now, begun, words: words(),
      isFollowed: Boolean(part?.dataset.events), hasEnded: part?.dataset.ended !== undefined,
      placed: seconds(placed?.parentElement.querySelector("time")?.dateTime),
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    tell();
    new MutationObserver(tell).observe(document.body, {childList: true, subtree: true});
  });
})()"""


def time_to_catch_up(*, has_ended: bool) -> float:
    """Seconds within which an open page shows what has happened to its order. A machine with twice as much to do as it
    has cores takes twice as long."""
    crowding = os.getloadavg()[0] / (os.cpu_count() or 1)
    return (FINISHED_CATCHES_UP if has_ended else CATCHES_UP) * max(1.0, crowding)


@dataclass
class Recorder:
    """The moments of the pages of one browser context."""

    moments: list[Moment] = field(default_factory=list)
    _shows_last: bool = False

    def listen(self, context: BrowserContext) -> None:
        """Records every page of an order that this context shows from now on."""
        context.expose_binding("tellTruth", lambda source, message: self._add(message))
        context.add_init_script(READER)

    def look_at(self, page: Page) -> None:
        """Notes that what was recorded last of a page still stands there."""
        self._leave(page.evaluate("Date.now() / 1000"))

    def _add(self, message: dict[str, Any]) -> None:
        self._leave(message["begun"])
        self._shows_last = "/o/" in message["path"]
        if not self._shows_last:
            return
        words = [Words(**each) for each in message["words"]]
        parts = {key: message[key] for key in ("since", "until", "placed")}
        catches_up = time_to_catch_up(has_ended=message["hasEnded"]) * message["isFollowed"]
        source = message["path"].partition("/o/")[2].partition("/")[2]
        self.moments.append(Moment(source=source, words=words, catches_up=catches_up, **parts))

    def _leave(self, at: float) -> None:
        """Notes until when the page that was recorded last stood there."""
        if self._shows_last:
            self.moments[-1] = replace(self.moments[-1], closed_at=at)
