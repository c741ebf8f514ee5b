// Conveniences for the shop's pages. Everything works without them.
(() => {
  "use strict";

  const SHOWN = 10000; // ms for which good news stays

  // Choosing another sort order submits the form.
  for (const select of document.querySelectorAll("[data-submits]")) {
    select.addEventListener("change", () => select.form.requestSubmit());
  }

  // The button shows the price of the chosen offer.
  for (const form of document.querySelectorAll("[data-choices]")) {
    const price = form.querySelector("[data-price]");
    const show = () => {
      const chosen = form.querySelector("input[name=sku]:checked");
      if (price && chosen) price.textContent = chosen.dataset.priceText;
    };
    form.querySelector("[data-priced]")?.removeAttribute("hidden"); // without JavaScript it could not follow the choice
    show();
    form.addEventListener("change", show);
    window.addEventListener("pageshow", show); // the browser may have restored an earlier choice
  }

  // A number goes up and down by one, within its limits.
  for (const stepper of document.querySelectorAll("[data-stepper]")) {
    const number = stepper.querySelector("input");
    const steps = [...stepper.querySelectorAll("[data-step]")];
    const show = () => {
      for (const step of steps) {
        const next = Number(number.value) + Number(step.dataset.step);
        step.disabled = next < Number(number.min) || next > Number(number.max);
      }
    };
    for (const step of steps) {
      step.hidden = false;
      step.addEventListener("click", () => {
        number.value = Number(number.value) + Number(step.dataset.step);
        show();
      });
    }
    number.addEventListener("input", show);
    window.addEventListener("pageshow", show);
    show();
  }

  // A button that saves what was typed is there once something was.
  for (const button of document.querySelectorAll("[data-when-edited]")) {
    button.hidden = true;
    button.form.addEventListener("input", () => { button.hidden = false; });
  }

  // The chosen family is in view.
  document.querySelector(".chips > [aria-current]:not(:first-child)")?.scrollIntoView({ block: "nearest", inline: "center" });

  // A drop-down closes on Escape and on a click outside it.
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

  // Sends a form only once. The server makes sure of that as well.
  for (const form of document.querySelectorAll("[data-once]")) {
    const button = form.querySelector("button:not([type])");
    form.addEventListener("submit", () => setTimeout(() => button.setAttribute("disabled", "")));
    window.addEventListener("pageshow", () => button.removeAttribute("disabled")); // when the visitor comes back
  }

  // Good news disappears after a while, but not from under a pointer that was moved there. Where it was when the page
  // came, or where a finger last was, does not count. Bad news stays.
  for (const toast of document.querySelectorAll(".toasts .notice:not(.notice--bad, .notice--warn)")) {
    let moves = 0;
    toast.addEventListener("mousemove", () => { moves += 1; });
    const leave = () => {
      if (moves > 1 && toast.matches(":hover")) setTimeout(leave, SHOWN);
      else toast.remove();
    };
    setTimeout(leave, SHOWN);
  }
  for (const button of document.querySelectorAll("[data-close-toast]")) {
    button.hidden = false;
    button.addEventListener("click", () => button.closest(".notice").remove());
  }

  // Keeps relative times up to date, and shows exact times in the reader's own zone.
  const language = document.documentElement.lang;
  const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const updateTimes = () => {
    for (const time of document.querySelectorAll("time[data-moment]")) {
      const at = new Date(time.dateTime);
      const seconds = Math.round((at - Date.now()) / 1000);
      const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) || units[3];
      const isNow = Math.abs(seconds) < 10; // the same limit as in orders/templatetags/shop.py
      const text = isNow ? relative.format(0, "second") : relative.format(Math.trunc(seconds / size), unit);
      if (time.textContent !== text) time.textContent = text;
      time.title = at.toLocaleString(language, { dateStyle: "medium", timeStyle: "long" });
    }
  };
  if (document.querySelector("time[data-moment]")) {
    updateTimes();
    setInterval(updateTimes, 15000);
  }
})();
