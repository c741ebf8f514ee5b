// The inputs of an address follow its country. Without this, they follow it once the form was sent.
(() => {
  "use strict";

  for (const place of document.querySelectorAll("[data-address-rules]")) {
    const form = place.closest("form");
    const country = form.elements[place.dataset.country];
    const input = (part) => form.elements[part];
    const field = (part) => input(part).closest(".field");
    let asked = 0;

    // A choice of states where the country has them, or else a line of text. What was entered stays.
    const showStates = (states) => {
      const old = input("state");
      if (!states.length && old.localName === "input") return;
      const now = document.createElement(states.length ? "select" : "input");
      for (const { name, value } of old.attributes) {
        if (!["type", "value", "maxlength"].includes(name)) now.setAttribute(name, value);
      }
      const entered = old.value.trim().toLowerCase();
      if (states.length) {
        now.append(...states.map(([code, name]) => new Option(name, code)));
        const known = states.find((names) => entered && names.some((name) => name.toLowerCase() === entered));
        now.value = known ? known[0] : "";
      } else {
        now.type = "text";
        now.maxLength = 200;
      }
      const frame = old.closest(".select") ?? old;
      if (!states.length) {
        frame.replaceWith(now);
        return;
      }
      const select = document.createElement("span");
      select.className = "select";
      select.append(now, country.closest(".select").querySelector("svg").cloneNode(true));
      frame.replaceWith(select);
    };

    const show = (rules) => {
      showStates(rules.states);
      for (const part of rules.order) {
        const needed = rules.needs.includes(part);
        input(part).toggleAttribute("data-unused", !rules.has.includes(part));
        input(part).toggleAttribute("required", needed);
        for (const name of ["aria-invalid", "aria-describedby"]) input(part).removeAttribute(name); // of another country
        field(part).querySelector(".field__errors")?.remove();
        field(part).querySelector(".field__label").textContent = rules.labels[part];
      }
      const fields = rules.order.map(field);
      if (fields.every((one, index) => place.children[index] === one)) return;
      const focused = document.activeElement; // somebody may be typing already
      place.append(...fields);
      focused.focus({ preventScroll: true });
    };

    const follow = async () => {
      const mine = ++asked;
      const url = `${place.dataset.addressRules}?country=${encodeURIComponent(country.value)}`;
      const answer = await fetch(url).catch(() => null);
      if (mine !== asked) return; // another country was chosen meanwhile
      if (answer?.ok) show(await answer.json());
      else for (const part of ["city", "state", "postal_code"]) input(part).removeAttribute("data-unused");
    };
    country.addEventListener("change", follow);
    // The browser may have restored another country than the page came with.
    const came = country.querySelector("option[selected]")?.value ?? "";
    window.addEventListener("pageshow", () => { if (country.value !== came) follow(); });
  }
})();
