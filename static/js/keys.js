// The console's keyboard shortcuts: ? / j k x e r u. They can be switched off in the help; the choice is stored in this
// browser.
(() => {
  "use strict";

  const help = document.getElementById("help");
  const choice = help.querySelector("[data-keys-switch]");

  const read = () => {
    try {
      return localStorage.getItem("console-keys") !== "off";
    } catch {
      return true; // storage is disabled
    }
  };
  let areOn = read();
  choice.checked = areOn;
  choice.addEventListener("change", () => {
    areOn = choice.checked;
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

  const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.offsetParent !== null);
  const here = () => document.querySelector("[data-row].is-here");

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

  const press = (key) => {
    const target = (here() || document.getElementById("main")).querySelector(`[data-key="${key}"]`);
    target?.click();
    return Boolean(target);
  };

  const acts = {
    "?": () => help.showModal(),
    "/": () => document.querySelector("[data-search]")?.focus(),
    j: () => move(1),
    k: () => move(-1),
    x: () => here()?.querySelector("input[type=checkbox]")?.click(),
    e: () => press("e") || here()?.querySelector("a")?.click(),
    r: () => press("r"),
    u: () => press("u") || document.querySelector('[data-key="u"]')?.click(),
  };

  document.addEventListener("keydown", (event) => {
    if (!areOn || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.target.closest("input:not([type=checkbox]), select, textarea, [contenteditable]")) return;
    const act = acts[event.key];
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
})();
