// Keeps the progress of an order up to date: #progress[data-events][data-version]. The stream only announces a new
// version; the new part of the page is fetched from the page's own URL, under progress/. Without a stream it polls.
// An order that has ended may still be refunded, so its page looks when somebody comes back to it, and every few seconds
// while it is visible.
// While the server cannot read changes, it says on the stream that the page may be out of date, and then that it is not.
// What [data-tells] says is emailed unless it is seen, so the part is fetched once more as soon as the page is visible.
(() => {
  "use strict";

  const POLL = 5000; // ms between polls while there is no stream
  const QUIET = 5000; // ms between announcements to screen readers
  const GRACE = 8000; // ms without a stream before the reader is told: streams end every minute and reconnect
  const REFUSED = 15000; // ms until a refused stream is requested again
  const LONGEST = 2 ** 31 - 1; // ms that a timer takes at most
  const HIDDEN = 60000; // ms after which a hidden page is no longer followed
  const ENDED = 15000; // ms between looks at an order that has ended

  const shown = () => document.getElementById("progress");
  if (!shown()?.dataset.events) return;
  const stale = document.getElementById("live-stale"); // {n} in its data-text stands for the seconds
  const status = document.getElementById("live-status") || addStatus();

  let source = null;
  let lostAt = 0;
  let isBehind = false; // whether the server says that it does not know whether the order has changed
  let polledAt = 0;
  let hiddenTimer = 0;
  let openTimer = 0;
  let retryTimer = 0;
  let nextTimer = 0;
  let isGone = false; // signed out, or the order is not to be found here any more
  let fetching = null;
  let again = false;
  let isUnseen = false; // whether the part was fetched for a page that nobody looked at
  let announced = headline(shown());
  let announcedAt = 0;
  let announceTimer = 0;

  // --- the stream

  function open() {
    clearTimeout(openTimer);
    if (source || isGone || hasEnded()) return;
    source = new EventSource(shown().dataset.events);
    source.addEventListener("open", found);
    source.addEventListener("error", lost);
    source.addEventListener("behind", () => {
      isBehind = true;
      tellStale();
      if (stale) status.textContent = stale.dataset.behind;
    });
    source.addEventListener("up-to-date", caughtUp);
    source.addEventListener("progress", (event) => {
      if (JSON.parse(event.data).version !== shown().dataset.version) refresh();
    });
  }

  function close() {
    clearTimeout(openTimer);
    source?.close();
    source = null;
  }

  function found() {
    lostAt = 0;
    caughtUp();
  }

  function caughtUp() {
    isBehind = false;
    tellStale();
  }

  // Says that the page may be out of date or, if it polls, since when it has had no stream.
  function tellStale() {
    if (!stale) return;
    const now = Date.now();
    stale.hidden = !isBehind && !(lostAt && now - lostAt >= GRACE);
    if (stale.hidden) return;
    const seconds = Math.round((now - lostAt) / 1000);
    stale.textContent = isBehind ? stale.dataset.behind : stale.dataset.text.replace("{n}", seconds);
  }

  function lost() {
    if (!lostAt) lostAt = polledAt = Date.now();
    if (source?.readyState !== EventSource.CLOSED) return; // the browser reconnects automatically
    close();
    openTimer = setTimeout(open, REFUSED * (1 + Math.random()));
  }

  setInterval(() => {
    if (!lostAt || isGone || document.hidden) return;
    tellStale();
    const now = Date.now();
    if (now - polledAt >= POLL) {
      polledAt = now;
      refresh();
    }
  }, 1000);

  setInterval(look, ENDED);

  // Looks whether an order that has ended was refunded since.
  function look() {
    if (hasEnded() && !document.hidden) refresh();
  }

  // --- the part of the page

  async function refresh() {
    again = true;
    if (fetching || isGone) return;
    while (again && !isGone) {
      again = false;
      fetching = fetchPart();
      const part = await fetching;
      fetching = null;
      if (part) replace(part);
      clearTimeout(retryTimer);
      if (!part && !isGone) retryTimer = setTimeout(hasEnded() ? look : refresh, POLL);
    }
  }

  // The server tells a customer by email what she has not seen, so it is told whether the page is visible.
  async function fetchPart() {
    isUnseen = document.hidden;
    try {
      const answer = await fetch(`${location.pathname}progress/`, {
        cache: "no-store",
        headers: isUnseen ? {} : { "Page-Visible": "yes" },
        redirect: "manual",
        signal: AbortSignal.timeout(10000),
      });
      isGone = answer.type === "opaqueredirect" || answer.status === 403 || answer.status === 404;
      if (isGone) rest(); // the page stays as it is
      if (!answer.ok) return null;
      caughtUp();
      const template = document.createElement("template");
      template.innerHTML = await answer.text();
      return template.content.querySelector("#progress");
    } catch {
      return null;
    }
  }

  function replace(part) {
    const old = shown();
    if (part.dataset.version === old.dataset.version && part.dataset.next === old.dataset.next) return;
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    const wasEnded = hasEnded();
    keepChoices(old, part);
    if (headline(part) !== headline(old)) dropToasts();
    old.replaceWith(part);
    document.dispatchEvent(new Event("newtimes"));
    if (part.dataset.title) document.title = part.dataset.title;
    if (focused) sameAs(focused, part).focus({ preventScroll: true });
    announce();
    if (hasEnded()) rest();
    else expectNext();
    if (wasEnded) open();
  }

  // At [data-next] the page says something else, though nothing happens: that it is late, for example. Both times are by
  // the server's clock.
  function expectNext() {
    clearTimeout(nextTimer);
    const { now, next } = shown().dataset;
    const wait = Date.parse(next) - Date.parse(now) + 1000;
    if (wait <= LONGEST) nextTimer = setTimeout(refresh, wait);
  }

  // What a toast says was true when the page came; the new part may say otherwise.
  function dropToasts() {
    for (const toast of document.querySelectorAll(".toasts .notice")) toast.remove();
  }

  function keepChoices(old, part) {
    for (const input of old.querySelectorAll("input:checked[name]")) {
      const same = part.querySelector(`input[name="${CSS.escape(input.name)}"][value="${CSS.escape(input.value)}"]`);
      if (same) same.checked = true;
    }
  }

  // The element of the new part that corresponds to an old one, or the part itself.
  function sameAs(element, part) {
    if (element.id && element.id !== part.id) {
      const same = part.querySelector(`#${CSS.escape(element.id)}`);
      if (same) return same;
    }
    for (const same of part.querySelectorAll(element.tagName)) {
      const isSame = ["name", "value", "href"].every((name) => same.getAttribute(name) === element.getAttribute(name));
      if (isSame && same.textContent.trim() === element.textContent.trim()) return same;
    }
    part.tabIndex = -1;
    return part;
  }

  function hasEnded() {
    const { ended } = shown().dataset;
    return ended !== undefined && ended !== "false";
  }

  function rest() {
    clearTimeout(retryTimer);
    clearTimeout(nextTimer);
    close();
    found();
  }

  // --- announcements to screen readers

  function headline(part) {
    return part.querySelector("#headline, h1, h2")?.textContent.trim() ?? "";
  }

  function announce() {
    clearTimeout(announceTimer);
    announceTimer = setTimeout(
      () => {
        const text = headline(shown());
        if (text === announced) return;
        announced = text;
        announcedAt = Date.now();
        status.textContent = text;
      },
      Math.max(0, announcedAt + QUIET - Date.now()),
    );
  }

  function addStatus() {
    const region = document.createElement("div");
    region.className = "unseen";
    region.setAttribute("role", "status");
    document.body.append(region);
    return region;
  }

  // --- a hidden page

  function onVisibility() {
    clearTimeout(hiddenTimer);
    if (document.hidden) {
      hiddenTimer = setTimeout(close, HIDDEN);
    } else {
      if (!source || lostAt || isUnseen) refresh();
      open();
    }
  }

  document.addEventListener("visibilitychange", onVisibility);
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) onVisibility();
  });
  if (!hasEnded()) expectNext();
  if (!hasEnded() && !document.hidden) open();
  if (shown().dataset.tells !== undefined && !document.hidden) refresh();
})();
