// A sweep: the form that asks for one, the marks beside controls that open it, and what it gave. Follows views.js.

const unless = () => S.study.may.run ? "" : `disabled title="${escaped(S.study.may.why)}"`; // of a button that runs something

const sweepable = () => S.study.experiments.length ? Object.entries(S.controls).filter(([, c]) => c.kind === "number" || c.kind === "integer") : [];

const sweepHtml = () => !sweepable().length ? "" : `<details class="as-sweep" id="as-sweep"><summary>Sweep a control</summary>
  <form class="as-sweep__form"><label class="wide">Control<select class="as-field" name="control">${sweepable().map(([n, c]) =>
    `<option value="${n}">${escaped(c.label)}</option>`).join("")}</select></label>
  <label>From<input class="as-field" name="low" inputmode="decimal" autocomplete="off"></label>
  <label>To<input class="as-field" name="high" inputmode="decimal" autocomplete="off"></label>
  <label>Values<input class="as-field" name="count" inputmode="numeric" value="9" autocomplete="off"></label>
  <label>Seeds<input class="as-field" name="seeds" inputmode="numeric" value="1" autocomplete="off"></label>
  <label class="wide">Experiment<select class="as-field" name="experiment">${S.study.experiments.map((e) =>
    `<option value="${e.name}">${escaped(e.title)}</option>`).join("")}</select></label>
  <p class="err wide" role="alert" hidden></p><button class="as-btn" type="submit" ${unless()}>${ICON.run}Run the sweep</button></form>
  <div class="as-job as-sweep__job" aria-live="polite"></div></details>`;

const sweepFrame = () => `<section class="as-frame st-sweep" id="as-sweep-frame" hidden><header class="as-frame__head">
  <div class="as-frame__title"><h3 aria-live="polite"></h3><p class="sub"></p></div><select class="as-field"
  aria-label="What is drawn"></select></header><div class="as-frame__fig"><div class="as-plot"></div></div><ul class="key"></ul>
  <p class="as-saves"></p></section>`;

const sweepField = (name) => $(`#as-sweep [name=${name}]`);

function sweepOf(name) { // the form filled for a control: its whole range
  const c = S.controls[name];
  sweepField("control").value = name;
  sweepField("low").value = c.low;
  sweepField("high").value = c.high;
  if (c.whole) sweepField("count").value = Math.min(9, c.high - c.low + 1);
}

function wireSweep() {
  const place = $("#as-sweep");
  if (!place) return;
  sweepOf(sweepField("control").value);
  sweepField("control").addEventListener("change", (e) => sweepOf(e.target.value));
  $("form", place).addEventListener("submit", (e) => {
    e.preventDefault();
    $(".err", place).hidden = true;
    const [low, high, count] = ["low", "high", "count"].map((n) => sweepField(n).value.trim());
    tell({ kind: "sweep", control: sweepField("control").value, values: `${low}:${high}:${count}`, at: "sweep",
           seeds: sweepField("seeds").value.trim(), experiment: sweepField("experiment").value });
  });
  $("#as-sweep-frame select").addEventListener("change", (e) => tell({ kind: "sweep_measure", measure: e.target.value }));
}

function sweepMark(name) { // the mark beside a numeric control
  const c = S.controls[name];
  if (!S.study.experiments.length || (c.kind !== "number" && c.kind !== "integer")) return "";
  return `<button class="as-mark" type="button" data-sweep="${name}" aria-label="Sweep ${escaped(c.label)}" ${unless() || 'title="Sweep over its range"'}>${ICON.sweep}</button>`;
}

function openSweep(name) {
  $("#as-sweep").open = true;
  sweepOf(name);
  $("#as-sweep").scrollIntoView({ block: "nearest", behavior: "smooth" });
  sweepField("low").focus({ preventScroll: true });
}

function refuseSweep(sentence) {
  const err = $("#as-sweep .err");
  $("#as-sweep").open = true;
  err.textContent = sentence;
  err.hidden = false;
}

function showSweep(m) {
  const percent = Math.round(100 * m.fraction);
  const busy = m.state === "queued" || m.state === "running";
  const box = $(".as-sweep__job");
  const title = "Sweep";
  const held = box.contains(document.activeElement);
  if (busy && $("[role=progressbar]", box)) {
    $("[role=progressbar]", box).setAttribute("aria-valuenow", percent);
    $("[role=progressbar] i", box).style.width = `${percent}%`;
    const [now, left] = $$(".as-job__line span", box);
    now.textContent = m.message;
    left.textContent = `${percent} %${m.left ? ` · ${m.left}` : ""}`;
  } else if (busy) {
    box.innerHTML = `<div class="as-job__row"><div><h4>${title}</h4></div><button class="as-btn" type="button" aria-label="Cancel the sweep">Cancel</button></div>
      <div class="as-bar" role="progressbar" aria-valuenow="${percent}" aria-valuemin="0" aria-valuemax="100" aria-label="${title}"><i style="width:${percent}%"></i></div>
      <div class="as-job__line"><span>${escaped(m.message)}</span><span>${percent} %</span></div>`;
    $("button", box).addEventListener("click", () => tell({ kind: "sweep_cancel" }));
  } else {
    const errors = m.errors.map((e) => `<p class="as-note as-note--fails">${escaped(e)}</p>`).join("");
    const words = { done: "Done", cancelled: "Cancelled; what was finished is kept", failed: "Ended; some points failed" }[m.state];
    box.innerHTML = `<p class="as-job__line"><span>${words}: ${escaped(m.message.replace(", 0 running", ""))}</span></p>${errors}
      <p class="as-job__line"><code>${escaped(m.command)}</code></p>`;
    if (held) sweepField("control").focus({ preventScroll: true });
  }
  const frame = $("#as-sweep-frame");
  frame.hidden = !m.figure.data.length;
  if (frame.hidden) return;
  $("h3", frame).innerHTML = m.title;
  $(".sub", frame).innerHTML = m.subtitle;
  const select = $("select", frame);
  select.innerHTML = m.measures.map(([v, l]) => `<option value="${escaped(v)}">${escaped(l)}</option>`).join("");
  select.value = m.measure;
  const layout = { ...m.figure.layout, template: S.study.templates[m.theme], autosize: true, showlegend: false, dragmode: false };
  Plotly.react($(".as-plot", frame), m.figure.data, layout, { responsive: true, displaylogo: false, displayModeBar: false, scrollZoom: false });
  legend(frame, m.figure.data, layout);
  $(".as-saves", frame).innerHTML = m.tables.map((t) => `<span>${escaped(t)} <button data-save="sweep/${escaped(t)}" data-form="csv">CSV</button>
    <button data-save="sweep/${escaped(t)}" data-form="json">JSON</button></span>`).join("");
  $$("[data-save]", frame).forEach((b) => b.addEventListener("click", () => tell({ kind: "save", what: b.dataset.save, form: b.dataset.form })));
}
