// Search, filters and order of the cards; all of them live in the address.
(() => {
  const all = [...document.querySelectorAll(".as-card")];
  const boxes = [...document.querySelectorAll(".ga-side input")];
  const find = document.getElementById("ga-find");
  const sort = document.getElementById("ga-sort");
  const group = (tag) => tag.split(":")[0];
  function draw() {
    const words = find.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const ticked = boxes.filter((b) => b.checked).map((b) => b.value);
    let shown = 0;
    for (const card of all) {
      const tags = card.dataset.tags.split("|");
      const groups = [...new Set(ticked.map(group))];
      const fits = words.every((w) => card.dataset.words.includes(w))
        && groups.every((g) => ticked.some((t) => group(t) === g && tags.includes(t)));
      card.hidden = !fits;
      shown += fits;
    }
    const order = {
      run: (a, b) => b.dataset.run - a.dataset.run,
      name: (a, b) => a.dataset.name.localeCompare(b.dataset.name),
      cost: (a, b) => a.dataset.cost - b.dataset.cost,
    }[sort.value];
    const place = document.querySelector(".as-cards");
    [...all].sort(order).forEach((card) => place.append(card));
    const n = all.length;
    document.getElementById("ga-count").textContent = shown === n ? `${n} ${n === 1 ? "study" : "studies"}` : `${shown} of ${n} studies`;
    document.querySelector(".ga-none").hidden = shown > 0;
    const query = new URLSearchParams();
    if (find.value) query.set("find", find.value);
    if (sort.value !== "run") query.set("sort", sort.value);
    ticked.forEach((t) => query.append("only", t));
    history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
  }
  const asked = new URLSearchParams(location.search);
  find.value = asked.get("find") || "";
  sort.value = ["run", "name", "cost"].includes(asked.get("sort")) ? asked.get("sort") : "run";
  boxes.forEach((b) => { b.checked = asked.getAll("only").includes(b.value); });
  find.addEventListener("input", draw);
  [sort, ...boxes].forEach((e) => e.addEventListener("change", draw));
  document.getElementById("ga-clear").addEventListener("click", () => {
    find.value = "";
    boxes.forEach((b) => { b.checked = false; });
    draw();
  });
  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && !e.target.closest("input, select, textarea")) { e.preventDefault(); find.focus(); }
  });
  draw();
})();
