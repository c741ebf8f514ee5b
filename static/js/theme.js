// Light, dark, or the system's theme. The choice is stored in this browser and applied before the page is painted, so
// this is loaded in <head> without defer. Without JavaScript the system decides and there is no switch.
(() => {
  "use strict";
  const root = document.documentElement;
  const order = ["system", "light", "dark"];

  const read = () => {
    try {
      const stored = localStorage.getItem("theme");
      return order.includes(stored) ? stored : "system";
    } catch {
      return "system"; // storage is disabled
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
        // the choice lasts for this page only
      }
      apply(next);
      show(next);
    });
  });
})();
