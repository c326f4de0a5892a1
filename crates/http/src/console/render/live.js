// Asks for the page again every five seconds, and puts what has changed in place of what is shown.
// Without this script the browser loads the page anew; nothing here is needed to read it.
"use strict";
(() => {
  const every = 5000;
  async function refresh() {
    const shown = document.getElementById("live");
    if (document.hidden || !shown) return;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" }, cache: "no-store" });
      if (!answer.ok) throw new Error(String(answer.status));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById("live");
      if (!fresh) return;
      const focused = document.activeElement && shown.contains(document.activeElement) && document.activeElement.id;
      shown.replaceChildren(...fresh.childNodes);
      if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
      document.body.classList.remove("stale");
    } catch {
      document.body.classList.add("stale");
    }
  }
  setInterval(refresh, every);
  document.addEventListener("visibilitychange", refresh);
})();
