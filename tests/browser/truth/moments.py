"""Records what the pages of orders say: each time that one of them arrives, and each time that it changes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import BrowserContext


@dataclass(frozen=True, kw_only=True)
class Words:
    """What stands in one place. `where` is status, headline, sentence, stage, total, tracking, toast, help, label or
    mail; a stage has a `state`, and its `time` if it has one."""

    text: str
    where: str
    state: str = ""
    time: float | None = None


@dataclass(frozen=True, kw_only=True)
class Moment:
    """What a reader saw: a page between the moments when the server read the order (`since`) and when the browser had
    the page (`until`), or an email that arrived then. `placed` is when the order was placed, as the page says it."""

    source: str
    since: float
    until: float
    words: Sequence[Words]
    placed: float | None = None


# Every text node in the main part and in the toasts, by the block that it stands in. What only shows the order's own
# data is left out: its lines, its address, its number.
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
    return found;
  }

  function tell() {
    const part = document.querySelector("#progress");
    if (!document.querySelector("#main")) return;
    const since = part ? seconds(part.dataset.now) : performance.timeOrigin / 1000;
    if (last === String(since)) return;
    last = String(since);
    const facts = [...document.querySelectorAll(".order__facts dt")];
    const placed = facts.find((label) => label.textContent.trim() === "Placed");
    window.tellTruth({
      path: location.pathname, since, until: Date.now() / 1000, words: words(),
      placed: seconds(placed?.parentElement.querySelector("time")?.dateTime),
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    tell();
    new MutationObserver(tell).observe(document.body, {childList: true, subtree: true});
  });
})()"""


@dataclass
class Recorder:
    """The moments of the pages of one browser context."""

    moments: list[Moment] = field(default_factory=list)

    def listen(self, context: BrowserContext) -> None:
        """Records every page of an order that this context shows from now on."""
        context.expose_binding("tellTruth", lambda source, message: self._add(message))
        context.add_init_script(READER)

    def _add(self, message: dict[str, Any]) -> None:
        if "/o/" not in message["path"]:
            return
        words = [Words(**each) for each in message["words"]]
        parts = {key: message[key] for key in ("since", "until", "placed")}
        self.moments.append(
            Moment(source=message["path"].partition("/o/")[2].partition("/")[2], words=words, **parts)
        )
