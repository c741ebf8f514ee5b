// Counts down to an act that can be undone until then, and takes the message away when it begins. Without this, the
// message says at what time that is.
(() => {
  "use strict";
  const relative = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "always" });
  const opened = performance.now();

  for (const place of document.querySelectorAll("[data-countdown]")) {
    const show = () => {
      const left = Math.ceil(Number(place.dataset.countdown) - (performance.now() - opened) / 1000);
      if (left > 0) {
        place.textContent = relative.format(left, "second");
      } else {
        clearInterval(counting);
        place.closest(".notice")?.remove();
      }
    };
    const counting = setInterval(show, 250);
    show();
  }
})();
