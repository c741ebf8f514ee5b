// The console's keyboard shortcuts: ? / j k x e r u, and g with a page's letter. They can be switched off in the help, with
// the palette; the choice is stored in this browser. e, r and u act on what is selected, or not at all: on the ticked rows,
// otherwise on the current row, otherwise on what the page is about.
(() => {
  "use strict";

  const AFTER_G = 1500; // ms within which the letter follows g
  const HINT = 5000; // ms for which a hint is shown

  const help = document.getElementById("help");
  const choice = help.querySelector("[data-keys-switch]");
  const status = document.getElementById("status");

  const read = () => {
    try {
      return localStorage.getItem("console-keys") !== "off";
    } catch {
      return true; // storage is disabled
    }
  };
  const show = (on) => {
    choice.checked = on;
    document.documentElement.dataset.keys = on ? "on" : "off";
  };
  let areOn = read();
  show(areOn);
  choice.addEventListener("change", () => {
    areOn = choice.checked;
    show(areOn);
    try {
      localStorage.setItem("console-keys", areOn ? "on" : "off");
    } catch {
      // the choice lasts for this page only
    }
  });

  for (const button of document.querySelectorAll("[data-open-help]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      button.closest("details").open = false;
      help.showModal();
    });
  }

  // --- rows

  const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.offsetParent !== null);
  const here = () => document.querySelector("[data-row].is-here");
  const ticked = () => [...document.querySelectorAll("[data-row] input[type=checkbox][name=orders]:checked")];

  function goTo(row) {
    here()?.classList.remove("is-here");
    row.classList.add("is-here");
    row.tabIndex = -1;
    row.focus();
    row.scrollIntoView({ block: "nearest" });
  }

  function move(by) {
    const all = rows();
    const at = all.indexOf(here());
    const next = at < 0 ? all[by > 0 ? 0 : all.length - 1] : all[at + by];
    if (next) goTo(next);
  }

  // --- acts on what is selected

  let hiding = 0;

  function hint(name) {
    status.querySelector("[data-hint]")?.remove();
    const notice = document.createElement("div");
    notice.className = "notice";
    notice.dataset.hint = name;
    notice.textContent = status.dataset[name];
    status.append(notice);
    clearTimeout(hiding);
    hiding = setTimeout(() => notice.remove(), HINT);
  }

  // The one thing that a key acts on; null after a hint that says why there is none.
  function selected() {
    const chosen = ticked();
    if (chosen.length > 1) return hint("hintMany");
    const place = chosen[0]?.closest("[data-row]") || here() || document.querySelector("[data-selected]");
    return place || hint("hintNone");
  }

  function press(key) {
    const place = selected();
    if (!place) return;
    const target = place.querySelector(`[data-key="${key}"]`);
    if (target) target.click();
    else hint("hintNothing");
  }

  function open() {
    const place = selected();
    const target = place && (place.querySelector('[data-key="e"]') || place.querySelector("td a[href]"));
    if (target) target.click();
    else if (place) hint("hintNothing");
  }

  function resubmit() {
    if (ticked().length) document.getElementById("chosen").requestSubmit();
    else press("r");
  }

  // --- pages

  let wentAt = -Infinity;
  const page = (key) => document.querySelector(`[data-go="${CSS.escape(key)}"]`);

  const acts = {
    "?": () => help.showModal(),
    "/": () => document.querySelector("[data-search]")?.focus(),
    g: () => (wentAt = performance.now()),
    j: () => move(1),
    k: () => move(-1),
    x: () => (here() ? here().querySelector("input[type=checkbox]")?.click() : hint("hintNone")),
    e: open,
    r: resubmit,
    u: () => press("u"),
  };

  document.addEventListener("keydown", (event) => {
    if (!areOn || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.target.closest("input:not([type=checkbox]), select, textarea, [contenteditable]")) return;
    const isAfterG = performance.now() - wentAt < AFTER_G;
    wentAt = -Infinity;
    const act = isAfterG ? () => page(event.key)?.click() : acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  // The shortcuts continue from the row that the reader tabs to or clicks.
  document.addEventListener("focusin", (event) => {
    const row = event.target.closest?.("[data-row]");
    if (!row || row === here()) return;
    here()?.classList.remove("is-here");
    row.classList.add("is-here");
  });

  // A row whose form was sent is the current one again when its page is back, so u undoes what r has just done.
  const ROW = "console-row";
  const where = () => location.pathname + location.search;
  document.addEventListener("submit", (event) => {
    const id = event.target.closest("[data-row]")?.dataset.keyId;
    try {
      if (id) sessionStorage.setItem(ROW, JSON.stringify([where(), id]));
    } catch {
      // then no row is the current one
    }
  });
  try {
    const [path, id] = JSON.parse(sessionStorage.getItem(ROW)) || [];
    sessionStorage.removeItem(ROW);
    const row = path === where() && document.querySelector(`[data-row][data-key-id="${CSS.escape(id)}"]`);
    if (row) goTo(row);
  } catch {
    // storage is disabled
  }
})();
