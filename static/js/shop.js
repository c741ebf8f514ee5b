// Small comforts of the shop's pages. Everything works without them.
(() => {
  "use strict";

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
})();
