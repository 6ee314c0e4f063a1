// Fills in the server's own address, and sends what only reads.
(() => {
  const base = new URL("..", location.href).href.replace(/\/$/, "");
  document.querySelectorAll("[data-base]").forEach((e) => { e.textContent = base; });
  document.querySelectorAll("[data-send]").forEach((button) => button.addEventListener("click", async () => {
    const box = button.closest(".ap-op");
    const answer = box.querySelector("[data-answer]");
    let path = box.dataset.path;
    const query = new URLSearchParams();
    for (const field of box.querySelectorAll("input[name]")) {
      if (!field.reportValidity()) return;
      if (field.dataset.in === "path") path = path.replace(`{${field.name}}`, encodeURIComponent(field.value));
      else if (field.value) query.set(field.name, field.value);
    }
    button.disabled = true;
    try {
      const got = await fetch(`${base}${path}${query.size ? `?${query}` : ""}`, { headers: { Accept: "application/json" } });
      const text = await got.text();
      let shown = text;
      try { shown = JSON.stringify(JSON.parse(text), null, 1); } catch { /* it is no JSON */ }
      answer.textContent = `${got.status} ${got.statusText}\n${shown.length > 20000 ? `${shown.slice(0, 20000)}\n… ${shown.length} characters in all` : shown}`;
    } catch { answer.textContent = "The server does not answer."; }
    answer.hidden = false;
    button.disabled = false;
  }));
})();
