// What the order comes to follows the chosen country. The server checks that the customer has seen the total, so while a
// new one is not there, or cannot be had, nothing can be ordered at another price.
(() => {
  "use strict";

  const place = document.querySelector("[data-sum]");
  const country = place?.closest("form").querySelector("select[name=country]");
  if (!country) return;
  const button = country.form.querySelector("button:not([type])");
  let asked = 0;

  async function follow() {
    const number = ++asked;
    place.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(`${place.dataset.sum}?country=${encodeURIComponent(country.value)}`, {
        cache: "no-store",
        signal: AbortSignal.timeout(12000),
      });
      if (number !== asked) return; // another country was chosen meanwhile
      if (answer.redirected) {
        location.assign(answer.url); // the cart is empty
      } else if (answer.ok) {
        place.innerHTML = await answer.text();
        button.textContent = place.querySelector("[data-button]").dataset.button;
        place.removeAttribute("aria-busy");
      }
    } catch {
      // It stays as it is, and is asked for when the form is sent.
    }
  }

  country.addEventListener("change", follow);
  window.addEventListener("pageshow", () => { // the browser may have restored an earlier choice
    if (country.value !== place.querySelector("[data-country]").dataset.country) follow();
  });
})();
