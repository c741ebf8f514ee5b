// Keeps the console's pages up to date. The stream only announces that something has changed; then the page is fetched
// again and its elements [data-live] are replaced, at most every two seconds. Without a stream it polls. The stream says
// something at least every ten seconds (orders/selectors/desk/version.py): a silence means that nobody updates this page.
// Nothing moves while the reader points at a row, has selected something, or is typing; see templates/console/base.html.
(() => {
  "use strict";

  const GAP = 2000; // ms between two fetches
  const POLL = 5000; // ms between two polls while there is no stream
  const SILENCE = 20000; // ms without news, or without a page that could be fetched, before the reader is told
  const REFUSED = 15000; // ms until a refused stream is requested again
  const READ = 5000; // ms for which the result of an act stays at least
  const QUIET = 5000; // ms between announcements to screen readers

  const { events, newer, gone } = document.body.dataset;
  const state = document.getElementById("live-state");
  const stale = document.getElementById("live-stale");
  const status = document.querySelector("[data-say]");
  const language = document.documentElement.lang;

  let source = null;
  let version = "";
  let heardAt = Date.now(); // the stream's last news
  let openedAt = 0;
  let readAt = 0;
  let failedAt = 0; // the first of the fetches that have failed since one succeeded
  let shownAt = performance.timeOrigin; // what the page shows was read no earlier than this
  let isWanted = false;
  let isFetching = false;
  let skew = 0; // ms that the server's clock is ahead of this one
  let reopen = 0;

  // --- the stream

  function open() {
    clearTimeout(reopen);
    if (source || !events) return; // without the url this page cannot be fetched again, so it stays as it is
    openedAt = Date.now();
    source = new EventSource(events);
    source.addEventListener("error", () => {
      if (source?.readyState !== EventSource.CLOSED) return; // the browser reconnects automatically
      close();
      reopen = setTimeout(open, REFUSED);
    });
    source.addEventListener("progress", (event) => {
      heardAt = Date.now();
      const now = JSON.parse(event.data).version;
      isWanted ||= now !== version;
      version = now;
      step();
    });
  }

  function close() {
    clearTimeout(reopen);
    source?.close();
    source = null;
  }

  // A server that has frozen keeps its connections open and says nothing; another one may answer.
  function reopenIfSilent(now) {
    if (!source || now - Math.max(heardAt, openedAt) < SILENCE) return;
    close();
    open();
  }

  // Since when the page has not been kept up to date; 0 if it is.
  function lostSince() {
    const since = Math.min(heardAt, failedAt || heardAt);
    return Date.now() - since >= SILENCE ? since : 0;
  }

  const isPaused = () =>
    document.hidden ||
    document.querySelector("[data-row]:hover, [data-row] input:checked, dialog[open]") ||
    !document.getSelection().isCollapsed;

  // All times of the console are in UTC, as in its sentences, emails and commands; the menu says so once.
  const clock = (at) => new Date(at).toLocaleTimeString(language, { hourCycle: "h23", timeZone: "UTC" });
  const set = (element, text) => element.textContent !== text && (element.textContent = text);

  function show() {
    if (!state || !events) return;
    const lost = lostSince();
    const now = lost ? "lost" : isPaused() ? "paused" : "on";
    const seconds = Math.round((Date.now() - lost) / 1000);
    set(state.querySelector("[data-live-text]"), state.dataset[now].replace("{n}", seconds));
    state.dataset.liveState = now;
    state.hidden = false;
    if (!stale) return;
    stale.hidden = !lost;
    const sentence = stale.dataset.text.replace("{since}", clock(lost + skew)).replace("{shown}", clock(shownAt + skew));
    if (lost) set(stale.querySelector("[data-stale-text]"), sentence);
  }

  function step() {
    if (!events) return;
    const now = Date.now();
    reopenIfSilent(now);
    if (now - heardAt >= SILENCE / 2 && now - readAt >= POLL) isWanted = true;
    if (isWanted && !isFetching && !isPaused() && now - readAt >= GAP) refresh();
    show();
  }

  // --- the page

  async function refresh() {
    isFetching = true;
    isWanted = false;
    readAt = Date.now();
    try {
      const answer = await fetch(location.href, {
        cache: "no-store",
        redirect: "manual",
        headers: { "X-Live": "1" },
        signal: AbortSignal.timeout(10000),
      });
      if (answer.type === "opaqueredirect" || answer.status === 403) return leave();
      if (!answer.ok) throw new Error(answer.status);
      skew = Date.parse(answer.headers.get("Date")) + 500 - Date.now() || 0; // the header leaves out the milliseconds
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      failedAt = 0;
      if (isPaused()) {
        isWanted = true;
      } else {
        replaceAll(page);
        shownAt = readAt;
      }
    } catch {
      failedAt ||= readAt;
      isWanted = true; // the next step tries again
    } finally {
      isFetching = false;
    }
  }

  // Signed out: after a reload the page asks her to sign in.
  function leave() {
    close();
    clearInterval(ticking);
    location.reload();
  }

  function replaceAll(page) {
    const facts = document.getElementById("facts");
    for (const old of document.querySelectorAll("[data-live][id]")) {
      const fresh = page.getElementById(old.id);
      if (!fresh || isHeld(old)) continue;
      if (old.hasAttribute("data-live-list")) replaceRows(old, fresh);
      else replace(old, fresh);
    }
    if (facts && !facts.isConnected) dropNews();
    tick();
    announce();
    document.dispatchEvent(new CustomEvent("console:replaced"));
  }

  // What the last act has announced may have happened, once what the page is about has changed. Bad news stays.
  function dropNews() {
    if (performance.now() < READ) return;
    for (const news of document.querySelectorAll(".toasts .notice:not(.notice--bad, .notice--warn)")) news.remove();
  }

  // The reader is typing in it, or has opened a panel in it.
  const isHeld = (element) =>
    element.querySelector("details.drop[open], details.fold[open] form") ||
    (element.contains(document.activeElement) &&
      document.activeElement.matches("input:not([type=checkbox]), select, textarea"));

  function replace(old, fresh) {
    if (asText(old) === asText(fresh)) return;
    const kept = document.importNode(fresh, true);
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    keep(old, kept);
    old.replaceWith(kept);
    if (focused) sameAs(focused, kept).focus({ preventScroll: true });
  }

  // Leaves out what differs without a change: the text of relative times, the tokens of forms, the row in focus.
  function asText(element) {
    const copy = element.cloneNode(true);
    for (const time of copy.querySelectorAll("time")) time.replaceWith(time.dateTime);
    for (const token of copy.querySelectorAll("[name=csrfmiddlewaretoken]")) token.remove();
    for (const row of copy.querySelectorAll("[data-row]")) {
      row.classList.remove("is-here");
      if (!row.className) row.removeAttribute("class");
      row.removeAttribute("tabindex");
    }
    for (const details of copy.querySelectorAll("details")) details.open = false;
    return copy.innerHTML.replace(/\s+/g, " ");
  }

  function keep(old, fresh) {
    const before = [...old.querySelectorAll("details")];
    const named = new Map(before.map((details) => [nameOf(details), details]));
    [...fresh.querySelectorAll("details")].forEach((details, index) => {
      if (!nameOf(details)) details.open ||= Boolean(before[index]?.open);
      else if (named.has(nameOf(details))) details.open = named.get(nameOf(details)).open;
    });
    for (const input of old.querySelectorAll("input:checked[name]")) {
      const same = fresh.querySelector(`input[name="${CSS.escape(input.name)}"][value="${CSS.escape(input.value)}"]`);
      if (same) same.checked = true;
    }
    const here = old.matches(".is-here") ? old : old.querySelector(".is-here");
    const same = here && rowOf(fresh, idOf(here));
    if (same) {
      same.classList.add("is-here");
      same.tabIndex = -1;
    }
  }

  const nameOf = (details) => details.id || details.dataset.fold || "";
  const idOf = (row) => row.dataset.keyId ?? row.id;
  const rowOf = (part, id) => [part, ...part.querySelectorAll("[data-row]")].find((row) => idOf(row) === id);

  // The element of the new part that corresponds to an old one, or its row, or the part itself.
  function sameAs(element, part) {
    if (element.id && element.id !== part.id) {
      const same = part.querySelector(`#${CSS.escape(element.id)}`);
      if (same) return same;
    }
    const row = element.closest("[data-row]");
    const among = (row && rowOf(part, idOf(row))) || part;
    if (row === element && among !== part) return among;
    for (const same of among.querySelectorAll(element.tagName)) {
      const isSame = ["name", "value", "href", "data-key"].every(
        (name) => same.getAttribute(name) === element.getAttribute(name),
      );
      if (isSame) return same;
    }
    among.tabIndex = -1;
    return among;
  }

  // --- lists: rows change in place, and new rows wait behind a button

  function replaceRows(old, fresh) {
    const before = new Map([...old.querySelectorAll("[data-row]")].map((row) => [idOf(row), row]));
    const after = new Map([...fresh.querySelectorAll("[data-row]")].map((row) => [idOf(row), row]));
    for (const [id, row] of after) if (before.has(id)) replace(before.get(id), row);
    const added = [...after.keys()].filter((id) => !before.has(id)).length;
    const removed = [...before.keys()].filter((id) => !after.has(id)).length;
    const button = old.querySelector(":scope > .newer") || addButton(old);
    if (before.size === 0 && added) replace(old, fresh);
    button.hidden = !added && !removed;
    button.textContent = [added && newer.replace("{n}", added), removed && gone.replace("{n}", removed)]
      .filter(Boolean)
      .join(", ");
  }

  function addButton(list) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button button--small newer";
    button.addEventListener("click", () => location.reload());
    list.prepend(button);
    return button;
  }

  // --- announcements to screen readers

  const alerts = () => {
    const count = document.getElementById("open-alerts");
    return !count || count.hidden ? "0" : count.firstChild.textContent.trim();
  };
  const isLate = () => Boolean(document.querySelector("#banner .notice"));
  let announcedAlerts = alerts();
  let announcedLate = isLate();
  let announcedAt = 0;

  function announce() {
    if (!status || Date.now() - announcedAt < QUIET) return;
    const sentences = [];
    if (alerts() !== announcedAlerts) sentences.push(status.dataset.alerts.replace("{n}", alerts()));
    if (isLate() && !announcedLate) sentences.push(status.dataset.late);
    announcedAlerts = alerts();
    announcedLate = isLate();
    if (!sentences.length) return;
    announcedAt = Date.now();
    status.textContent = sentences.join(". ");
  }

  // --- relative times

  const relative = new Intl.RelativeTimeFormat(language, { numeric: "always" });
  const units = [["second", 1, 60], ["minute", 60, 60], ["hour", 3600, 24], ["day", 86400, Infinity]];
  const exact = { dateStyle: "medium", timeStyle: "long", hourCycle: "h23", timeZone: "UTC" };

  function tick() {
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const at = new Date(time.dateTime);
      const left = (at - Date.now() - skew) / 1000;
      const seconds = "past" in time.dataset ? Math.min(left, 0) : left;
      // Rounded to the nearest, as nearest_relative in orders/wording/units.py does.
      const count = (size) => Math.round(Math.abs(seconds) / size);
      const [unit, size] = units.find(([, size, most]) => count(size) < most);
      const text = relative.format(seconds > 0 && count(size) ? count(size) : -count(size), unit); // -0: "0 seconds ago"
      if (time.textContent !== text) time.textContent = text;
      const title = at.toLocaleString(language, exact);
      if (time.title !== title) time.title = title;
    }
    for (const time of document.querySelectorAll("time[data-exact]")) {
      set(time, new Date(time.dateTime).toLocaleString(language, exact));
    }
    for (const time of document.querySelectorAll("time[data-now]")) {
      set(time, clock(Date.now() + skew).slice(0, 5));
    }
    for (const time of document.querySelectorAll("time[data-clock]")) {
      set(time, clock(Date.parse(time.dateTime)));
    }
  }

  // Sends a form only once, even one that arrived with an update.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-once]")) return;
    const button = event.target.querySelector("button:not([type])");
    setTimeout(() => button?.setAttribute("disabled", ""));
  });

  const ticking = setInterval(() => {
    if (document.hidden) return;
    tick();
    step();
  }, 1000);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close();
    else resume();
  });
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) resume();
  });

  function resume() {
    heardAt = Date.now();
    failedAt = 0;
    isWanted = true;
    open();
    step();
  }

  tick();
  if (!document.hidden) open();
  show();
})();
