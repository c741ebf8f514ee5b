// Conveniences for the shop's pages. Everything works without them.
(() => {
  "use strict";

  const SHOWN = 10000; // ms for which good news stays

  // Choosing another sort order submits the form.
  for (const select of document.querySelectorAll("[data-submits]")) {
    select.addEventListener("change", () => select.form.requestSubmit());
  }

  // The button shows the price of the chosen offer, and the quantity is at most what can be ordered of it.
  for (const form of document.querySelectorAll("[data-choices]")) {
    const price = form.querySelector("[data-price]");
    const number = form.querySelector("input[name=quantity]");
    const show = () => {
      const chosen = form.querySelector("input[name=sku]:checked");
      if (!price || !chosen) return;
      price.textContent = chosen.dataset.priceText;
      number.max = chosen.dataset.most;
      if (Number(number.value) > Number(number.max)) number.value = number.max;
      number.dispatchEvent(new Event("input"));
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

  // How many more characters a text may have.
  for (const left of document.querySelectorAll("[data-left-of]")) {
    const field = document.getElementById(left.dataset.leftOf);
    const show = () => { left.textContent = left.dataset.text.replace("{n}", field.maxLength - field.value.length); };
    left.hidden = false;
    field.addEventListener("input", show);
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

  // What a drop-down shows is in view.
  for (const drop of document.querySelectorAll("details.drop")) {
    drop.addEventListener("toggle", () => {
      if (drop.open) drop.querySelector(".drop__panel")?.scrollIntoView({ block: "nearest" });
    });
  }

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

  // Keeps relative times up to date, and shows exact times in the reader's own zone. All ages of a page are those at one
  // moment by the server's clock, which [data-now] tells: the browser's may be wrong.
  const DAY = 86400; // s from which on a date is shown: the same limits as in orders/templatetags/pages.py
  const language = document.documentElement.lang;
  const datesIn = language === "en" ? "en-GB" : language; // as in orders/fields/locales.py
  const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  const units = [["hour", 3600], ["minute", 60], ["second", 1]];
  let ahead = 0; // ms by which the server's clock is ahead
  const readClock = () => {
    const told = Date.parse(document.querySelector("[data-now]")?.dataset.now);
    if (told) ahead = told - Date.now();
  };
  const day = (at, now) => {
    const year = at.getFullYear() === now.getFullYear() ? undefined : "numeric";
    return at.toLocaleDateString(datesIn, { year, month: "short", day: "numeric" });
  };
  const age = (seconds) => {
    if (Math.abs(seconds) < 10) return relative.format(0, "second");
    const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length);
    return relative.format(Math.trunc(seconds / size), unit);
  };
  const updateTimes = () => {
    const now = new Date(Date.now() + ahead);
    for (const time of document.querySelectorAll("time[data-moment]")) {
      const at = new Date(time.dateTime);
      const seconds = (at - now) / 1000;
      const text = Math.abs(seconds) < DAY ? age(seconds) : day(at, now);
      if (time.textContent !== text) time.textContent = text;
      time.title = at.toLocaleString(datesIn, { dateStyle: "medium", timeStyle: "long" });
    }
  };
  const updateClock = () => {
    readClock();
    updateTimes();
  };
  if (document.querySelector("time[data-moment]")) {
    updateClock();
    document.addEventListener("newtimes", updateClock);
    setInterval(updateTimes, 15000);
  }
})();
