// Light, dark, or as the system says: a choice is kept in this browser and set before the page is painted.
// Loaded in <head> without defer for that reason. Without JavaScript the system decides and the switch is not there.
(() => {
  "use strict";
  const root = document.documentElement;
  const order = ["system", "light", "dark"];

  const read = () => {
    try {
      const kept = localStorage.getItem("theme");
      return order.includes(kept) ? kept : "system";
    } catch {
      return "system"; // storage is switched off
    }
  };

  const apply = (theme) => {
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
  };

  apply(read());

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector("[data-theme-switch]");
    if (!button) return;
    const show = (theme) => {
      for (const part of button.querySelectorAll("[data-theme-part]")) part.hidden = part.dataset.themePart !== theme;
    };
    button.hidden = false;
    show(read());
    button.addEventListener("click", () => {
      const next = order[(order.indexOf(read()) + 1) % order.length];
      try {
        localStorage.setItem("theme", next);
      } catch {
        // it holds for this page only
      }
      apply(next);
      show(next);
    });
  });
})();
