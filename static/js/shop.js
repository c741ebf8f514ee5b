// Small comforts of the shop's pages. Everything works without them.
(() => {
  "use strict";

  const TOLD = 10000; // ms for which good news is shown

  // A list is sorted as soon as another order is chosen.
  for (const select of document.querySelectorAll("[data-submits]")) {
    select.addEventListener("change", () => select.form.requestSubmit());
  }

  // The button names the price of what is chosen.
  for (const form of document.querySelectorAll("[data-choices]")) {
    const price = form.querySelector("[data-price]");
    const show = () => {
      const chosen = form.querySelector("input[name=sku]:checked");
      if (price && chosen) price.textContent = chosen.dataset.priceText;
    };
    form.querySelector("[data-priced]")?.removeAttribute("hidden"); // without scripts it could not follow the choice
    show();
    form.addEventListener("change", show);
    window.addEventListener("pageshow", show); // the browser may restore an earlier choice
  }

  // A drop-down closes with Escape, and when something else is clicked.
  document.addEventListener("keydown", (event) => {
    const open = event.key === "Escape" && document.querySelector("details.drop[open]");
    if (!open) return;
    open.open = false;
    open.querySelector("summary").focus();
  });
  document.addEventListener("click", (event) => {
    for (const drop of document.querySelectorAll("details.drop[open]")) {
      if (!drop.contains(event.target)) drop.open = false;
    }
  });

  // A form that is sent is sent once; the server would see to it anyway.
  for (const form of document.querySelectorAll("[data-once]")) {
    const button = form.querySelector("button:not([type])");
    form.addEventListener("submit", () => setTimeout(() => button.setAttribute("disabled", "")));
    window.addEventListener("pageshow", () => button.removeAttribute("disabled")); // come back to
  }

  // What went well is said for a while, and not taken away from under the pointer. What went wrong stays.
  for (const toast of document.querySelectorAll(".toasts .notice:not(.notice--bad, .notice--warn)")) {
    const leave = () => {
      if (toast.matches(":hover")) setTimeout(leave, TOLD);
      else toast.remove();
    };
    setTimeout(leave, TOLD);
  }

  // Times are said anew as they pass, and shown exactly in the reader's own zone.
  const language = document.documentElement.lang;
  const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const tellTimes = () => {
    for (const time of document.querySelectorAll("time[data-moment]")) {
      const at = new Date(time.dateTime);
      const seconds = Math.round((at - Date.now()) / 1000);
      const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) || units[3];
      const isNow = Math.abs(seconds) < 10; // as orders/templatetags/shop.py has it
      const said = isNow ? relative.format(0, "second") : relative.format(Math.trunc(seconds / size), unit);
      if (time.textContent !== said) time.textContent = said;
      time.title = at.toLocaleString(language, { dateStyle: "medium", timeStyle: "long" });
    }
  };
  if (document.querySelector("time[data-moment]")) {
    tellTimes();
    setInterval(tellTimes, 15000);
  }
})();
