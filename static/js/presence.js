// Says every few seconds that somebody is still at this page, and shows who else is. See docs/adr/0071.
(() => {
  "use strict";
  const BEAT = 8000; // ms; the server counts somebody as there for 30 s

  async function beat() {
    const place = document.getElementById("presence");
    if (!place || document.hidden) return;
    try {
      const answer = await fetch(place.dataset.beat, {
        cache: "no-store",
        redirect: "manual",
        headers: { "X-Live": "1" },
        signal: AbortSignal.timeout(BEAT),
      });
      if (!answer.ok) return;
      const text = await answer.text();
      if (place.isConnected && place.innerHTML.trim() !== text.trim()) place.innerHTML = text;
    } catch {
      // The next beat tries again; that the server is gone is said by console.js.
    }
  }

  if (document.getElementById("presence")) {
    setInterval(beat, BEAT);
    document.addEventListener("visibilitychange", beat);
  }
})();
