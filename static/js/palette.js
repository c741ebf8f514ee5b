// The command palette (Ctrl+K, or Cmd+K): type to go to a page, an order, an agent or an alert group, or to an act on the
// page's order. It only goes to places and forms, so nothing is done by it. It is off while the keys are switched off.
(() => {
  "use strict";

  const WAIT = 200; // ms without a key until the server is asked
  const LEAST = 2; // characters with which it is asked

  const dialog = document.getElementById("palette");
  const input = dialog.querySelector("input");
  const list = dialog.querySelector("[role=listbox]");
  const count = dialog.querySelector("[data-count]");
  const mistake = dialog.querySelector("[data-mistake]");
  let asking = 0;
  let abort = null;

  const options = () => [...list.querySelectorAll("[role=option]")];
  const chosen = () => list.querySelector("[aria-selected=true]");
  const words = (element) => element.textContent.replace(/…|\s+/g, " ").trim();

  // What this page can reach: the console's pages, and what can be done with its order.
  function places() {
    const acts = document.querySelectorAll(".desk__actions a[href], .desk__actions button, #steps a.button[href]");
    const pages = document.querySelectorAll("[data-go]");
    return [
      ...[...acts].map((element) => ({ kind: list.dataset.act, element })),
      ...[...pages].map((element) => ({ kind: list.dataset.page, element, text: words(element.querySelector("span")) })),
    ].map((place) => ({ text: words(place.element), ...place }));
  }

  function option({ kind, text, element }) {
    const item = document.createElement("li");
    item.setAttribute("role", "option");
    item.className = "palette__option";
    const about = document.createElement("span");
    about.className = "quiet small";
    about.textContent = kind;
    item.append(`${text} `, about);
    item.addEventListener("click", () => {
      dialog.close();
      if (element.matches("a")) element.click();
      else element.focus(); // a button does something at once: the reader presses it
    });
    return item;
  }

  function choose(item) {
    chosen()?.setAttribute("aria-selected", "false");
    item?.setAttribute("aria-selected", "true");
    item?.scrollIntoView({ block: "nearest" });
    if (item) input.setAttribute("aria-activedescendant", item.id);
    else input.removeAttribute("aria-activedescendant");
  }

  function show(items, wrong = "") {
    list.replaceChildren(...items);
    mistake.textContent = wrong;
    mistake.hidden = !wrong;
    items.forEach((item, at) => (item.id = `palette-${at}`));
    choose(items[0]);
    const key = items.length === 1 ? "one" : items.length ? "many" : "none";
    count.textContent = `${count.dataset[key].replace("{n}", items.length)} ${wrong}`.trim();
  }

  function found(page) {
    return [...page.querySelectorAll("[role=option]")].map((item) => {
      const kept = document.importNode(item, true);
      kept.addEventListener("click", () => location.assign(kept.dataset.href));
      return kept;
    });
  }

  function search() {
    clearTimeout(asking);
    abort?.abort();
    const text = input.value.trim().toLowerCase();
    const own = places().filter((place) => place.text.toLowerCase().includes(text)).map(option);
    show(own);
    if (text.length < LEAST) return;
    asking = setTimeout(async () => {
      abort = new AbortController();
      try {
        const answer = await fetch(`${dialog.dataset.url}?${new URLSearchParams({ q: input.value.trim() })}`, {
          signal: abort.signal,
        });
        if (!answer.ok) return;
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        show([...own, ...found(page)], page.querySelector("[data-mistake]")?.textContent);
      } catch {
        // a later search has taken its place, or the server is away: the pages are still there
      }
    }, WAIT);
  }

  function move(by) {
    const all = options();
    if (all.length) choose(all[(all.indexOf(chosen()) + by + all.length) % all.length]);
  }

  const keys = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter: () => chosen()?.click(),
  };
  input.addEventListener("input", search);
  input.addEventListener("keydown", (event) => {
    const act = !event.isComposing && keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  document.addEventListener("keydown", (event) => {
    if (document.documentElement.dataset.keys !== "on") return;
    if (event.key.toLowerCase() !== "k" || event.altKey || event.shiftKey || event.ctrlKey === event.metaKey) return;
    if (document.querySelector("dialog[open]")) return;
    event.preventDefault();
    input.value = "";
    search();
    dialog.showModal();
    input.focus();
  });
})();
