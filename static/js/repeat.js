// Sends a form again once the server answers: form[data-repeats], whose value is after how many seconds to ask it first.
// The button does the same without this script.
(() => {
  "use strict";

  const LONGEST = 4; // seconds between two questions
  const form = document.querySelector("form[data-repeats]");
  if (!form) return;
  let asked = form.action;
  let wait = Number(form.dataset.repeats) || 1;
  let isSent = false;
  let timer = 0;

  async function ask() {
    let answers = false;
    try {
      const answer = await fetch(asked, {
        method: "HEAD",
        cache: "no-store",
        redirect: "manual",
        signal: AbortSignal.timeout(12000),
      });
      if (answer.status === 405 && asked !== "/") {
        asked = "/"; // what only takes forms refuses to say whether it could
        return ask();
      }
      answers = answer.status < 500; // 0 stands for a redirect
      wait = Number(answer.headers.get("Retry-After")) || wait;
    } catch {
      wait *= 2;
    }
    if (isSent) return;
    if (answers) form.requestSubmit();
    else askLater();
  }

  function askLater() {
    timer = setTimeout(ask, Math.min(wait, LONGEST) * 1000);
  }

  form.addEventListener("submit", (event) => {
    if (isSent) event.preventDefault();
    isSent = true;
    clearTimeout(timer);
  });
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) isSent = false; // who comes back to this page decides for herself
  });

  form.querySelector("[data-repeats-words]").hidden = false;
  askLater();
})();
