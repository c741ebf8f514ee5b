// Scrolls the strip of pages, which a narrow window cuts, to the page that is shown.
(() => {
  "use strict";

  const side = document.getElementById("side");
  const current = side?.querySelector("[aria-current]");
  if (!current || side.scrollWidth <= side.clientWidth) return;
  side.scrollLeft = current.offsetLeft - (side.clientWidth - current.offsetWidth) / 2;
})();
