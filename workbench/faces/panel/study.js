// The page of a study around its controls and views: jobs, claims, keys, address. Follows views.js in one module.

const presets = [["quick", "Quick"], ["standard", "Standard"], ["full", "Full"]];

function build() {
  const s = S.study;
  const groups = s.groups.map((g) => `<div class="as-group"><h3>${escaped(g.name)}</h3>${g.equation ?
    `<div class="as-eq">${g.equation}</div>` : ""}${g.controls.map(controlHtml).join("")}</div>`).join("");
  const rare = s.rare.length ? `<details class="as-group as-more"><summary>More</summary>${s.rare.map(controlHtml).join("")}</details>` : "";
  const rest = s.views.slice(1);
  const tabs = rest.map((v, i) => `<button type="button" role="tab" data-tab="${i}">${escaped(v.tab)}</button>`).join("");
  const jobs = s.experiments.map((e) => `<div class="as-job" data-job="${e.name}"></div>`).join("");
  $("#as-acts").innerHTML = `<button class="as-btn" id="as-share" type="button" aria-label="Share link">${ICON.link}<span>Share link</span></button>
    <button class="as-btn" id="as-code" type="button" aria-label="Show as code" aria-expanded="false">${ICON.code}<span>Show as code</span></button>${reportMenu()}`;
  wireReport();
  $("#as-study").innerHTML = `
    <aside class="st-rail" aria-label="Controls"><header><h2>Controls</h2><div class="as-tools">
      <button class="as-btn as-btn--quiet as-btn--icon" id="as-undo" type="button" aria-label="Undo" title="Undo" disabled>${ICON.undo}</button>
      <button class="as-btn as-btn--quiet as-btn--icon" id="as-redo" type="button" aria-label="Redo" title="Redo" disabled>${ICON.redo}</button>
      <button class="as-btn as-btn--quiet" id="as-reset" type="button" disabled>Reset</button></div></header>
      ${groups}${rare}<button class="as-btn st-allbtn" id="as-all" type="button">All controls (${Object.keys(S.controls).length})</button></aside>
    <div class="st-main"><div id="as-notices" role="status"></div><pre class="as-code" id="as-code-text" hidden></pre>
      ${s.views.length ? frameHtml(s.views[0].name, true) : ""}
      ${rest.length ? `<div class="st-more"><div class="as-tabs" role="tablist" aria-label="Further views">${tabs}</div>
        <div class="as-seg st-seg2" role="radiogroup" aria-label="Views at once"><label><input type="radio" name="as-two" value="1"><span>One</span></label>
        <label><input type="radio" name="as-two" value="2" checked><span>Two</span></label></div></div><div class="st-views"></div>` : ""}
      ${sweepFrame()}<div class="st-prov" aria-label="Where the numbers come from"></div></div>
    <div class="st-right">${jobs ? `<section class="as-panel" aria-label="Experiments"><header><h2>Experiments</h2></header>
      ${s.may.run ? "" : `<p class="as-job__line st-may">${escaped(s.may.why)}</p>`}
      <div class="st-preset"><div class="as-seg" role="radiogroup" aria-label="Preset">${presets.map(([v, l]) =>
      `<label><input type="radio" name="as-preset" value="${v}"><span>${l}</span></label>`).join("")}</div></div>${jobs}${sweepHtml()}</section>` : ""}
      ${s.claims ? `<section class="as-panel" aria-label="Claims of the paper"><header><h2>Claims</h2><span id="as-strip"></span></header>
      <div id="as-ledger" aria-live="polite"></div></section>` : ""}</div>
    <div class="st-dock" id="as-dock"><div class="as-dock__ctl"></div><div class="as-dock__job"></div></div>`;
  $("#as-study").removeAttribute("aria-busy");
  $$("[data-ctl]").forEach(wireControl);
  $$("[data-view]").forEach(wireFrame);
  for (const what of ["undo", "redo", "reset"]) $(`#as-${what}`).addEventListener("click", () => {
    Object.keys(S.errors).forEach(accept);
    tell({ kind: what });
  });
  wireSweep();
  $("#as-all").addEventListener("click", () => $(".st-rail").classList.toggle("st-rail--all"));
  $("#as-share").addEventListener("click", async () => {
    const words = $("#as-share span");
    try { await navigator.clipboard.writeText(location.href); words.textContent = "Copied"; }
    catch { words.textContent = "Copy the address above"; }
    setTimeout(() => { words.textContent = "Share link"; }, 2000);
  });
  $("#as-code").addEventListener("click", (e) => {
    const text = $("#as-code-text");
    text.hidden = !text.hidden;
    e.currentTarget.setAttribute("aria-expanded", String(!text.hidden));
    if (!text.hidden) tell({ kind: "code" });
  });
  $$("input[name=as-preset]").forEach((e) => e.addEventListener("change", () => tell({ kind: "preset", preset: e.value })));
  $$("[data-tab]").forEach((e) => e.addEventListener("click", () => { S.first = Number(e.dataset.tab); arrange(); }));
  $$("input[name=as-two]").forEach((e) => e.addEventListener("change", () => { S.two = e.value === "2"; arrange(); }));
  const first = $(".as-ctl .as-slider");
  if (first) first.closest(".as-ctl").dispatchEvent(new Event("pointerdown"));
  arrange();
}

function arrange() {
  const rest = S.study.views.slice(1);
  const place = $(".st-views");
  const shown = rest.length < 2 || !S.two ? rest.slice(S.first, S.first + 1)
    : [rest[S.first], rest[(S.first + 1) % rest.length]];
  if (place) {
    $$(".js-plotly-plot", place).forEach((e) => Plotly.purge(e));
    place.innerHTML = shown.map((v) => frameHtml(v.name, false)).join("");
    place.classList.toggle("st-views--one", shown.length < 2);
    $$("[data-view]", place).forEach(wireFrame);
    $$("[data-tab]").forEach((e) => e.setAttribute("aria-selected", String(shown.includes(rest[Number(e.dataset.tab)]))));
    shown.forEach((v) => showView(v.name));
  }
  tell({ kind: "show", views: [...S.study.views.slice(0, 1), ...shown].map((v) => v.name) });
}

const waits = (name) => Object.entries(S.jobs).some(([other, job]) => other !== name && job.state === "running") ?
  "Waits for its turn" : "A worker starts";

function showJobs(jobs) {
  Object.assign(S.jobs, jobs);
  for (const [name, job] of Object.entries(jobs)) {
    const box = $(`[data-job="${name}"]`);
    if (!box) continue;
    const e = S.study.experiments.find((x) => x.name === name);
    const busy = job.state === "queued" || job.state === "running";
    const title = escaped(e.title);
    const percent = Math.round(100 * (job.fraction || 0));
    const label = busy ? "Cancel" : job.state ? "Run again" : "Run";
    const button = `<button class="as-btn" type="button" ${unless()} aria-label="${label} ${title}">${label === "Run" ? ICON.run : ""}${label}</button>`;
    let below = "";
    if (busy) {
      below = `<div class="as-bar" role="progressbar" aria-valuenow="${percent}" aria-valuemin="0" aria-valuemax="100" aria-label="${title}">
        <i style="width:${percent}%"></i></div><div class="as-job__line"><span>${escaped(job.state === "queued" ? waits(name) : job.message || "Begins")}</span>
        <span>${percent} %${job.left ? ` · ${job.left}` : ""}</span></div>`;
    } else if (job.state === "cancelled") {
      below = `<div class="as-bar as-bar--off"><i style="width:${percent}%"></i></div><p class="as-job__line">Cancelled${percent < 100 ? ` at ${percent} %` : ""}; what was finished is kept.</p>`;
    } else if (job.error) {
      below = `<p class="as-note as-note--fails">${title} failed: ${escaped(job.error)}</p>${job.log ?
        `<details class="as-log"><summary>Show log</summary><pre>${escaped(job.log)}</pre></details>` : ""}`;
    }
    const line = busy || job.state === "cancelled" || job.error ? "" : `<p>${job.state === "done" ? `<span class="as-state">${ICON.done}${escaped(job.line)}</span>` : escaped(job.line)}</p>`;
    const saves = (job.tables || []).map((t) => `<span>${escaped(t)} <button data-save="${name}/${escaped(t)}" data-form="csv">CSV</button>
      <button data-save="${name}/${escaped(t)}" data-form="json">JSON</button></span>`).join("");
    const files = (job.files || []).map(([f, size]) => `<a href="api/runs/${job.run}/files/${encodeURIComponent(f)}" download title="${size}">${escaped(f)}</a>`).join(" ");
    const stale = job.state === "done" && job.stale ? `<p class="as-job__line">${escaped(job.stale)}</p>` : "";
    if (busy && box.dataset.state === job.state && $("[role=progressbar]", box)) { // the button in hand stays what it is
      $("[role=progressbar]", box).setAttribute("aria-valuenow", percent);
      $("[role=progressbar] i", box).style.width = `${percent}%`;
      const [now, left] = $$(".as-job__line span", box);
      now.textContent = job.state === "queued" ? waits(name) : job.message || "Begins";
      left.textContent = `${percent} %${job.left ? ` · ${job.left}` : ""}`;
      continue;
    }
    const open = $(".as-log", box)?.open;
    const held = box.contains(document.activeElement);
    box.dataset.state = job.state;
    box.innerHTML = `<div class="as-job__row"><div><h4 title="${escaped(e.doc)}">${title}</h4>${line}</div>${button}</div>${below}${stale}${saves ?
      `<p class="as-saves">${saves}</p>` : ""}${files ? `<p class="as-saves"><span>Files ${files}</span></p>` : ""}`;
    if (open) $(".as-log", box).open = true;
    const act = $(".as-job__row button", box);
    if (held) act.focus({ preventScroll: true });
    act.addEventListener("click", () => tell(busy ? { kind: "cancel", experiment: name } : { kind: "run", experiment: name, fresh: job.state === "done" }));
    $$("[data-save]", box).forEach((b) => b.addEventListener("click", () => tell({ kind: "save", what: b.dataset.save, form: b.dataset.form })));
  }
  const done = Object.values(S.jobs).filter((j) => j.provenance);
  $(".st-prov").innerHTML = done.length ? done[done.length - 1].provenance : "";
  const running = Object.entries(S.jobs).find(([, j]) => j.state === "running" || j.state === "queued");
  const place = $(".as-dock__job");
  if (running && place.dataset.shown === running[0]) {
    $(".as-bar i", place).style.width = `${100 * running[1].fraction}%`;
    $(".as-job__line span", place).textContent = running[1].message || "Begins";
    return;
  }
  place.dataset.shown = running ? running[0] : "";
  place.innerHTML = running ? `<div class="as-bar"><i style="width:${100 * running[1].fraction}%"></i></div>
    <p class="as-job__line"><span>${escaped(running[1].message || "Begins")}</span><button class="as-btn" type="button">Cancel</button></p>` : "";
  if (running) $("button", place).addEventListener("click", () => tell({ kind: "cancel", experiment: running[0] }));
}

function heard(m) {
  if (m.kind === "study") { S.study = m; return; }
  if (m.kind === "controls") {
    const first = !Object.keys(S.controls).length;
    Object.assign(S.controls, m.controls);
    S.preset = m.preset;
    if (first) build();
    showControls();
    $$("input[name=as-preset]").forEach((e) => { e.checked = e.value === m.preset; });
    $("#as-undo").disabled = !m.undo;
    $("#as-redo").disabled = !m.redo;
    $("#as-reset").disabled = !m.moved;
    history.replaceState(null, "", `?${new URLSearchParams(m.query)}`);
    if (m.notices.length) notice(m.notices);
    if (!$("#as-code-text").hidden) tell({ kind: "code" });
  } else if (m.kind === "view") { S.views[m.name] = m; showView(m.name); }
  else if (m.kind === "broken") { S.views[m.name] = { broken: m.sentence }; showView(m.name); }
  else if (m.kind === "jobs") showJobs(m.jobs);
  else if (m.kind === "sweep") showSweep(m);
  else if (m.kind === "claims" && $("#as-ledger")) { // a study may claim nothing
    const open = new Set($$("#as-ledger details[open]").map((e) => e.dataset.claim));
    $("#as-ledger").innerHTML = m.html;
    $$("#as-ledger details").forEach((e) => { e.open = open.has(e.dataset.claim); });
    $("#as-strip").innerHTML = m.strip;
  }
  else if (m.kind === "taken") { accept(m.at); landed(); }
  else if (m.kind === "refused" && m.at === "sweep") refuseSweep(m.sentence);
  else if (m.kind === "refused") { refuse(m.field && m.field !== "control" ? m.field : m.at || "", m.sentence); landed(); }
  else if (m.kind === "fault") { if (S.study && $("#as-notices")) notice([m.sentence]); landed(); }
  else if (m.kind === "code") $("#as-code-text").textContent = m.text;
  else if (m.kind === "file") save(m.name, m.text);
  else if (m.kind === "report") showReport(m);
}

function keyed(e) {
  if (e.key === "Escape") {
    $$(".as-frame--big").forEach((f) => $('[data-do="grow"]', f).click());
    $$(".as-menu[open]").forEach((d) => { d.open = false; });
  }
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, select, textarea, [contenteditable]")) return;
  const views = S.study ? S.study.views.length - 1 : 0;
  if (e.key === "r" && S.study?.experiments.length && S.study.may.run) {
    const name = S.study.experiments[0].name;
    if (!["queued", "running"].includes(S.jobs[name]?.state)) tell({ kind: "run", experiment: name });
  } else if ((e.key === "[" || e.key === "]") && views > 0) {
    S.first = (S.first + (e.key === "]" ? 1 : views - 1)) % views;
    arrange();
  }
}

export function render({ model }) {
  tell = (message) => model.send_msg(message);
  model.on("msg:custom", (event) => JSON.parse(event.data ?? event).forEach(heard));
  addEventListener("as-theme", () => tell({ kind: "theme", theme: document.documentElement.dataset.theme }));
  document.addEventListener("keydown", keyed);
  document.addEventListener("click", (e) => $$(".as-menu[open]").forEach((d) => { if (!d.contains(e.target)) d.open = false; }));
  tell({ kind: "hello", theme: document.documentElement.dataset.theme });
}
