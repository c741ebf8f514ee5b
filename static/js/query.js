// Completes the query bar of the list of orders: the names of fields, and then the values that a field can have, which
// the server knows. The rest of the query stays as it is. A combobox with a list, as the ARIA Authoring Practices
// describe it: the focus stays in the input, and nothing is chosen until an arrow key or the pointer chooses it. Without
// this script the input completes from its datalist.
(() => {
  "use strict";

  const WAIT = 150; // ms without a key until the server is asked

  const input = document.querySelector("input[data-words]");
  if (!input) return;
  const list = document.getElementById("f-q-options");
  const count = document.getElementById("f-q-count");
  const fields = fieldsOf(document.getElementById(input.getAttribute("list")));
  let asking = 0;
  let abort = null;
  let place = null; // what an option replaces: from, to, and what is kept before its text
  let offered = ""; // the field whose values the list has; empty for fields

  function fieldsOf(datalist) {
    const found = new Map();
    for (const option of datalist.options) found.set(option.value.split(":")[0], option.dataset.help);
    return found;
  }

  // --- the word at the cursor

  // Where the word begins and ends, as the language reads it: a space in quotation marks ends no word.
  function wordAt(text, at) {
    let from = 0;
    let quoted = false;
    for (let i = 0; i < at; i += 1) {
      if (text[i] === "\\" && quoted) i += 1;
      else if (text[i] === '"') quoted = !quoted;
      else if (/\s/.test(text[i]) && !quoted) from = i + 1;
    }
    const end = quoted ? /^[^"]*"(?=[\s,]|$)|^[^\s,]*/ : /^[^\s,]*/; // quotation marks that nothing closes end at a space
    return { from, to: at + end.exec(text.slice(at))[0].length, typed: text.slice(from, at) };
  }

  // The comma that separates the last of several values, or the colon before the only one.
  function lastValue(values) {
    let begin = 0;
    let quoted = false;
    for (let i = 0; i < values.length; i += 1) {
      if (values[i] === '"') quoted = !quoted;
      else if (values[i] === "," && !quoted) begin = i + 1;
    }
    return begin;
  }

  // --- the options

  function option(text, about, isField) {
    const item = document.createElement("li");
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", "false");
    item.className = "query__option";
    const code = document.createElement("code");
    code.textContent = text;
    item.append(code);
    if (about) {
      const help = document.createElement("span");
      help.className = "quiet small";
      help.textContent = about;
      item.append(" ", help);
    }
    item.addEventListener("click", () => accept(text, isField));
    return item;
  }

  const options = () => [...list.children];
  const chosen = () => list.querySelector("[aria-selected=true]");

  function choose(item) {
    chosen()?.setAttribute("aria-selected", "false");
    item?.setAttribute("aria-selected", "true");
    item?.scrollIntoView({ block: "nearest" });
    if (item) input.setAttribute("aria-activedescendant", item.id);
    else input.removeAttribute("aria-activedescendant");
  }

  function show(items) {
    list.replaceChildren(...items);
    items.forEach((item, at) => (item.id = `f-q-option-${at}`));
    choose(null);
    list.hidden = items.length === 0;
    input.setAttribute("aria-expanded", String(!list.hidden));
    const key = items.length === 1 ? "one" : items.length ? "many" : "none";
    count.textContent = count.dataset[key].replace("{n}", items.length);
  }

  function close() {
    clearTimeout(asking);
    abort?.abort();
    list.hidden = true;
    list.replaceChildren();
    choose(null);
    input.setAttribute("aria-expanded", "false");
    count.textContent = "";
  }

  // --- what is offered

  // Returns once the options are there. `isAsked` offers all fields where no word has begun.
  async function offer(isAsked) {
    clearTimeout(asking);
    abort?.abort();
    const { from, to, typed } = wordAt(input.value, input.selectionStart);
    const [, minus, name, colon, values] = /^(-?)([A-Za-z_]*)(:?)(.*)$/s.exec(typed);
    if (colon && fields.has(name.toLowerCase())) {
      const begin = lastValue(values);
      place = { from, to, before: `${minus}${name}:${values.slice(0, begin)}` };
      return ask(name.toLowerCase(), values.slice(begin).replace(/^"/, ""), isAsked);
    }
    offered = "";
    if (values || colon || !(name || minus || isAsked)) return close();
    place = { from, to, before: minus };
    const names = [...fields].filter(([field]) => field.startsWith(name.toLowerCase()));
    return names.length ? show(names.map(([field, help]) => option(`${field}:`, help, true))) : close();
  }

  function ask(field, word, isAsked) {
    if (offered !== field) close(); // until the answer is there, the list would offer what does not fit
    offered = field;
    return new Promise((done) => {
      asking = setTimeout(async () => {
        abort = new AbortController();
        try {
          const url = `${input.dataset.words}?${new URLSearchParams({ field, word })}`;
          const answer = await fetch(url, { signal: abort.signal });
          const { words, about } = answer.ok ? await answer.json() : { words: [] };
          if (words.length) show(words.map((value) => option(value, about[value], false)));
          else close();
        } catch {
          // a later key has taken its place, or the server is away: the query can still be typed
        }
        done();
      }, isAsked ? 0 : WAIT);
    });
  }

  function accept(text, isField) {
    const { from, to, before } = place;
    const rest = input.value.slice(to);
    const end = isField || /^[\s,]/.test(rest) ? "" : " ";
    const at = from + before.length + text.length + (isField ? 0 : 1);
    input.value = `${input.value.slice(0, from)}${before}${text}${end}${rest}`;
    input.focus();
    input.setSelectionRange(at, at);
    close();
    if (isField) offer(true);
  }

  async function move(by) {
    if (list.hidden) await offer(true);
    const all = options();
    if (!all.length) return;
    const at = all.indexOf(chosen());
    choose(all[at < 0 ? (by > 0 ? 0 : all.length - 1) : (at + by + all.length) % all.length]);
  }

  // Returns whether it did something, so that the key does nothing else.
  function take() {
    const item = chosen();
    item?.click();
    return Boolean(item);
  }

  const keys = {
    ArrowDown: () => (move(1), true),
    ArrowUp: () => (move(-1), true),
    Enter: take,
    Escape: () => !list.hidden && (close(), true),
    Tab: () => (close(), false),
  };

  input.removeAttribute("list");
  input.type = "text"; // of an input for searches, a combobox is none
  for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "false"]]) {
    input.setAttribute(name, value);
  }
  input.setAttribute("aria-controls", list.id);
  input.addEventListener("input", () => offer(false));
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey) return;
    if (keys[event.key]?.()) event.preventDefault();
  });
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // the focus stays in the input
})();
