// The page of runs: a list that keeps itself up to date, and the runs that are ticked beside each other. Follows figures.js.

const LETTERS = "ABCDEF";
const R = { query: {}, runs: [], templates: {}, waits: false, at: 0 };
const filters = { study: "#rn-study", state: "#rn-state", who: "#rn-who", find: "#rn-find" };
const rowOf = (run) => $(`#rn-rows tr[data-run="${CSS.escape(run)}"]`);
const spaced = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");

// the address

function keepAddress() {
  if (R.waits) return; // for the server to say which runs the address means
  const query = new URLSearchParams(R.query);
  if (R.runs.length) query.set("runs", R.runs.map((run) => run.slice(0, 8)).join(","));
  const text = String(query).replaceAll("%2C", ",");
  history.replaceState(null, "", text ? `?${text}` : location.pathname);
}

function ask(change) {
  const said = { ...R.query, ...change };
  tell({ kind: "list", ...Object.fromEntries(Object.entries(said).filter(([, v]) => v)) });
}

function notice(sentences) {
  $("#rn-notices").innerHTML = sentences.map((s) => `<p class="as-note as-note--open">${escaped(s)}</p>`).join("");
}

// the list

function ago(seconds) {
  const since = Date.now() / 1000 - seconds, days = Math.floor(since / 86400);
  if (since < 60) return "now";
  if (since < 3600) return `${Math.round(since / 60)} min ago`;
  if (since < 86400) return `${Math.round(since / 3600)} h ago`;
  if (days < 30) return days === 1 ? "yesterday" : `${days} days ago`;
  return new Date(seconds * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
}

function showTimes(place = document) {
  $$("time[data-at]", place).forEach((e) => {
    e.textContent = ago(Number(e.dataset.at));
    e.title = new Date(e.dataset.at * 1000).toLocaleString("en-GB");
    e.dateTime = new Date(e.dataset.at * 1000).toISOString();
  });
}

function showRows(changed, order) {
  const body = $("#rn-rows"), held = document.activeElement;
  const at = [held?.closest("tr")?.dataset.run, held?.dataset?.do || (held?.type === "checkbox" ? "tick" : held?.className)];
  const old = Object.fromEntries($$("tr[data-run]", body).map((e) => [e.dataset.run, e]));
  const sure = Object.fromEntries($$("tr.rn-sure", body).map((e) => [e.dataset.sure, e]));
  const made = document.createElement("tbody");
  made.innerHTML = Object.values(changed).join("");
  for (const row of [...made.rows]) {
    showTimes(row);
    old[row.dataset.run]?.remove();
    old[row.dataset.run] = row;
  }
  let last = null; // only what is out of place is moved, so that what has focus keeps it
  for (const run of order) {
    for (const row of [old[run], sure[run]]) {
      if (!row) continue;
      const next = last ? last.nextSibling : body.firstChild;
      if (next !== row) body.insertBefore(row, next);
      last = row;
    }
  }
  while (last ? last.nextSibling : body.firstChild) (last ? last.nextSibling : body.firstChild).remove();
  if (at[0] && !held.isConnected) {
    const row = rowOf(at[0]);
    const again = row && (at[1] === "tick" ? $("input", row) : $(`[data-do="${at[1]}"]:not([disabled])`, row) || $("a", row));
    again?.focus({ preventScroll: true });
  }
  showLetters();
}

function showProgress(progress) {
  $$("#rn-rows .rn-now").forEach((place) => {
    const now = progress[place.closest("tr").dataset.run];
    if (!now) { place.textContent = ""; return; }
    if (!place.firstChild) {
      place.innerHTML = `<div class="as-bar" role="progressbar" aria-valuemin="0" aria-valuemax="100" aria-label="How far it is"><i></i></div>
        <span class="rn-x"></span>`;
    }
    $("i", place).style.width = `${now.percent}%`;
    $(".as-bar", place).setAttribute("aria-valuenow", now.percent);
    $(".rn-x", place).textContent = [`${now.percent} %`, now.left || now.words].join(" · ");
    place.title = now.words;
  });
}

function options(select, pairs, value) {
  const first = select.options[0];
  const known = pairs.some(([v]) => v === value) || !value ? pairs : [...pairs, [value, value]];
  const text = known.map(([v, name]) => `<option value="${escaped(v)}">${escaped(name)}</option>`).join("");
  if (select.dataset.text !== text) {
    select.dataset.text = text;
    select.replaceChildren(first);
    select.insertAdjacentHTML("beforeend", text);
  }
  select.value = value;
}

function showList(m) {
  R.query = m.query;
  showRows(m.rows, m.order);
  showProgress(m.progress);
  options($("#rn-study"), m.studies.map((s) => [s, s]), m.query.study || "");
  options($("#rn-who"), m.people, m.query.who || "");
  $("#rn-who").hidden = !m.people.length && !m.query.who;
  $("#rn-state").value = m.query.state || "";
  if (document.activeElement !== $("#rn-find")) $("#rn-find").value = m.query.find || "";
  $$("th[data-col]").forEach((th) => {
    const here = th.dataset.col.split(" ").includes(m.sort);
    th.setAttribute("aria-sort", here ? (m.falls ? "descending" : "ascending") : "none");
    $$("[data-sort]", th).forEach((b) => b.classList.toggle("rn-by", b.dataset.sort === m.sort));
  });
  $(".rn-list").removeAttribute("aria-busy");
  $(".rn-list .as-scroll").hidden = Boolean(m.empty);
  $(".rn-none").hidden = !m.empty;
  $(".rn-none p").textContent = m.empty;
  $("#rn-clear").hidden = !m.all;
  const shown = m.order.length;
  $("#rn-count").textContent = m.found === m.all && shown === m.found ? `${spaced(shown)} run${shown === 1 ? "" : "s"}`
    : `${spaced(shown)} of ${spaced(m.found)}${m.found < m.all ? ` that fit, ${spaced(m.all)} in all` : " runs"}`;
  $("#rn-more").hidden = shown >= m.found;
  keepAddress();
}

// what is ticked

function showLetters() {
  $$("#rn-rows tr[data-run]").forEach((row) => {
    const i = R.runs.indexOf(row.dataset.run);
    row.setAttribute("aria-selected", String(i >= 0));
    $("input", row).checked = i >= 0;
    $(".rn-ab", row).innerHTML = i < 0 ? "" : `<b class="ab ab-${LETTERS[i]}">${LETTERS[i]}</b>`;
  });
  const hint = { 0: "Tick two or more runs to compare them.", 1: "Tick another run to compare it with A." }[R.runs.length];
  $("#rn-hint").hidden = !hint;
  $("#rn-hint p").textContent = hint || "";
  arrange();
}

const narrow = matchMedia("(max-width: 1440px)");
function arrange() { // in one column what is compared stands above the list, for the eye and for the keyboard
  const [list, beside] = [$(".rn-list"), $("#rn-cmp")];
  const above = narrow.matches && R.runs.length > 1;
  if (above !== (beside.nextElementSibling === list)) list[above ? "before" : "after"](beside);
}

function tick(run, on) {
  if (on && R.runs.length === LETTERS.length) notice([`${LETTERS.length} runs stand beside each other at most; untick one first.`]);
  else R.runs = on ? [...R.runs, run] : R.runs.filter((r) => r !== run);
  R.waits = false;
  compare();
}

function compare() {
  showLetters();
  keepAddress();
  if (R.runs.length < 2) clearComparison();
  else $("#rn-found").setAttribute("aria-busy", "true");
  R.at += 1;
  tell({ kind: "compare", runs: R.runs, at: R.at });
}

function clearComparison() {
  $$("#rn-found .js-plotly-plot").forEach((e) => Plotly.purge(e));
  $("#rn-found").innerHTML = "";
  $("#rn-found").removeAttribute("aria-busy");
}

const part = (view, p, several) => `<figure class="rn-part" aria-labelledby="rn-v-${escaped(view.name)}">${several ?
  `<figcaption><b class="ab ab-${p.letter}">${p.letter}</b></figcaption>` : ""}<div class="as-plot"></div><ul class="key"></ul></figure>`;

const frame = (view) => `<section class="as-frame" data-view="${escaped(view.name)}"><header class="as-frame__head"><div class="as-frame__title">
  <h3 id="rn-v-${escaped(view.name)}">${view.title}</h3>${view.notes.map((n) => `<p>${n}</p>`).join("")}${view.why ?
  `<p>${escaped(view.why)}</p>` : ""}</div></header><div class="as-frame__fig rn-parts${view.parts.length > 1 ? " rn-parts--more" : ""}">
  ${view.parts.map((p) => part(view, p, Boolean(view.why))).join("")}</div></section>`;

function showComparison(m) {
  if (m.at !== R.at) return; // an answer to what was ticked before
  R.runs = m.runs; // one that is gone meanwhile is not among them
  showLetters();
  keepAddress();
  clearComparison();
  if (!m.html) return;
  const open = $(".rn-rest")?.open;
  $("#rn-found").innerHTML = m.html;
  if (open && $(".rn-rest")) $(".rn-rest").open = true;
  $("#rn-views").innerHTML = m.views.map(frame).join("");
  for (const view of m.views) {
    const parts = $$(`#rn-views [data-view="${CSS.escape(view.name)}"] .rn-part`);
    view.parts.forEach((p, i) => drawFigure(parts[i], $(".as-plot", parts[i]), p.figure, R.templates[m.theme]));
  }
  $("#rn-cmp").dataset.shown = m.runs.join();
}

// what is pressed

function makeSure(run) {
  $$(".rn-sure").forEach((e) => e.remove());
  const row = document.createElement("tr");
  row.className = "rn-sure";
  row.dataset.sure = run;
  row.innerHTML = `<td colspan="7"><div role="group" aria-label="Forget run ${run.slice(0, 8)}?"><span>Forget ${run.slice(0, 8)} and its
    files for good?</span><button class="as-btn" type="button" data-do="forget-now">Forget</button><button class="as-btn as-btn--quiet"
    type="button" data-do="keep">Keep</button></div></td>`;
  rowOf(run).after(row);
  $('[data-do="keep"]', row).focus({ preventScroll: true });
}

function keep() {
  const row = $(".rn-sure");
  if (!row) return;
  const run = row.dataset.sure;
  row.remove();
  $('[data-do="forget"]', rowOf(run))?.focus({ preventScroll: true });
}

function pressed(e) {
  const button = e.target.closest("button");
  if (!button) return;
  const run = button.closest("tr")?.dataset.run, what = button.dataset.do;
  if (what === "pin") tell({ kind: "pin", run });
  else if (what === "forget") makeSure(run);
  else if (what === "keep") keep();
  else if (what === "forget-now") {
    const sure = button.closest("tr");
    tell({ kind: "forget", run: sure.dataset.sure });
    keep();
  } else if (button.dataset.sort) {
    const sort = button.dataset.sort, th = button.closest("th");
    const same = (R.query.sort || "started") === sort;
    ask({ sort, order: same ? (th.ariaSort === "descending" ? "up" : "down") : "" });
  }
}

function keyed(e) {
  if (e.key === "Escape") keep();
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, select, textarea")) return;
  if (e.key === "/") { e.preventDefault(); $("#rn-find").focus(); }
}

function heard(m) {
  if (m.kind === "looks") R.templates = m.templates;
  else if (m.kind === "list") showList(m);
  else if (m.kind === "ticked") {
    R.waits = false;
    R.runs = m.runs;
    if (m.notices.length) notice(m.notices);
    showLetters();
    keepAddress();
  } else if (m.kind === "comparison") showComparison(m);
  else if (m.kind === "forgotten") {
    $("#rn-count").textContent = `${m.run.slice(0, 8)} is forgotten.`;
    if (R.runs.includes(m.run)) tick(m.run, false);
  } else if (m.kind === "refused") {
    notice([m.sentence]);
    $(".rn-list").removeAttribute("aria-busy");
    $("#rn-found").removeAttribute("aria-busy");
  }
}

export function render({ model }) {
  tell = (message) => model.send_msg(message);
  model.on("msg:custom", (event) => JSON.parse(event.data ?? event).forEach(heard));
  R.waits = new URLSearchParams(location.search).has("runs");
  for (const [name, place] of Object.entries(filters)) {
    if (name !== "find") $(place).addEventListener("change", (e) => ask({ [name]: e.target.value }));
  }
  let soon = 0;
  $("#rn-find").addEventListener("input", (e) => {
    clearTimeout(soon);
    soon = setTimeout(() => ask({ find: e.target.value.trim() }), 150);
  });
  $("#rn-more").addEventListener("click", () => tell({ kind: "more" }));
  $("#rn-clear").addEventListener("click", () => {
    $("#rn-find").value = "";
    ask({ find: "", study: "", state: "", who: "" });
  });
  $("#rn-rows").addEventListener("change", (e) => e.target.type === "checkbox" && tick(e.target.value, e.target.checked));
  $(".rn-list").addEventListener("click", pressed);
  document.addEventListener("keydown", keyed);
  narrow.addEventListener("change", arrange);
  addEventListener("as-theme", () => tell({ kind: "theme", theme: document.documentElement.dataset.theme }));
  setInterval(showTimes, 30_000);
  tell({ kind: "hello", theme: document.documentElement.dataset.theme });
}
