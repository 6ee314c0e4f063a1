// A study's page: draws what its session tells, and tells what a person does. No state of its own that a reload loses.
// Follows base.js.
const svg = (shapes) =>
  `<svg viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" aria-hidden="true">${shapes}</svg>`;
const ICON = {
  link: svg('<path d="M6.5 9.5a3 3 0 0 0 4.3 0l2.4-2.4A3 3 0 0 0 9 2.8L8 3.7M9.5 6.5a3 3 0 0 0-4.3 0L2.8 8.9A3 3 0 0 0 7 13.2l1-.9"/>'),
  code: svg('<path d="M5.5 4 1.8 8l3.7 4m5-8 3.7 4-3.7 4"/>'),
  undo: svg('<path d="M6 3 2.5 6.5 6 10M3 6.5h6.5a4 4 0 0 1 0 8H7"/>'),
  redo: svg('<path d="m10 3 3.5 3.5L10 10m3-3.5H6.5a4 4 0 0 0 0 8H9"/>'),
  info: svg('<circle cx="8" cy="8" r="6"/><path d="M8 7.2v4M8 4.6v1.2"/>'),
  save: svg('<path d="M8 2v8m-3.3-3L8 10.3 11.3 7M2.5 13.5h11"/>'),
  grow: svg('<path d="M9.5 2.5h4v4m0-4-5 5m-2 6h-4v-4m0 4 5-5"/>'),
  run: svg('<path d="M5 3.2v9.6L12.6 8z" fill="currentColor"/>'),
  sweep: svg('<path d="M2 12.500h12M3.500 12.500v-3m3 3V7m3 5.500V4.500m3 8V6"/>'),
  done: svg('<path d="m3.5 8.5 3 3 6-7"/>'),
};
const S = { study: null, controls: {}, views: {}, jobs: {}, preset: "standard", two: true, first: 0, errors: {} };

// what is set: one question on its way at a time, the newest one next

const flight = { busy: false, next: null };
let gesture = ""; // the drag that is going on, so that it is one step to undo
addEventListener("pointerdown", (e) => { gesture = e.target.matches?.(".as-slider") ? `${e.timeStamp}` : ""; }, true);
addEventListener("keydown", () => { gesture = ""; }, true);
function set(values, at) {
  if (flight.busy) { flight.next = [values, at]; return; }
  flight.busy = true;
  tell({ kind: "set", values, at, gesture });
}
function landed() {
  flight.busy = false;
  const next = flight.next;
  flight.next = null;
  if (next) set(...next);
}

// controls

const position = (c, value) => c.log ? (1000 * Math.log(value / c.low)) / Math.log(c.high / c.low) : value;
function valueAt(c, at) {
  if (!c.log) return c.whole ? Math.round(at) : Math.min(c.high, Math.max(c.low, Number(Number(at).toPrecision(12))));
  const value = Number((c.low * (c.high / c.low) ** (at / 1000)).toPrecision(3));
  return Math.min(c.high, Math.max(c.low, c.whole ? Math.round(value) : value));
}
const fill = (slider) =>
  slider.style.setProperty("--v", `${(100 * (slider.value - slider.min)) / (slider.max - slider.min || 1)}%`);

function controlHtml(name) {
  const c = S.controls[name];
  const id = `as-c-${name}`;
  const sign = c.symbol ? `<i>${c.symbol}</i>` : "";
  const unit = c.unit ? `<span class="unit">${escaped(c.unit)}</span>` : "";
  const label = `<label for="${id}">${escaped(c.label)}${sign}</label>`;
  const help = `<p class="help">${escaped(c.doc)}</p>`;
  let body;
  if (c.kind === "number" || c.kind === "integer") {
    const range = c.log ? 'min="0" max="1000" step="1"' : `min="${c.low}" max="${c.high}" step="${c.step}"`;
    body = `${label}<span class="val"><input class="num" id="${id}" inputmode="decimal" autocomplete="off"
      aria-describedby="${id}-e">${unit}${sweepMark(name)}</span>${c.wide ? "" :
      `<input class="as-slider wide" type="range" ${range} aria-label="${escaped(c.label)}">`}`;
  } else if (c.kind === "choice" && c.options.length <= 4 && c.options.reduce((n, o) => n + o[1].length, 0) < 34) {
    body = `<span class="lab" id="${id}">${escaped(c.label)}${sign}</span><span></span><div class="as-seg wide"
      role="radiogroup" aria-labelledby="${id}">${c.options.map(([v, l]) =>
      `<label><input type="radio" name="${id}" value="${escaped(v)}"><span>${escaped(l)}</span></label>`).join("")}</div>`;
  } else if (c.kind === "choice") {
    body = `${label}<span></span><select class="as-field wide" id="${id}">${c.options.map(([v, l]) =>
      `<option value="${escaped(v)}">${escaped(l)}</option>`).join("")}</select>`;
  } else if (c.kind === "flag") {
    body = `<label class="as-check wide"><input type="checkbox" id="${id}">${escaped(c.label)}${sign}</label>`;
  } else if (c.kind === "data" || c.kind === "checkpoint") {
    const samples = c.samples.map((s) => `<option value="${escaped(s)}">${escaped(s.replace("sample:", ""))}</option>`).join("");
    const own = c.optional ? "None, or your own" : "Your own";
    const picked = c.samples.length ? `<select class="as-field wide" aria-label="${escaped(c.label)}: samples">${samples}
      <option value="">${own}</option></select>` : "";
    body = `${label}<button class="as-btn as-btn--quiet as-btn--file" type="button">Choose files</button>
      ${picked}<input class="as-field wide" id="${id}" autocomplete="off" spellcheck="false"
      placeholder="${c.optional ? "None; " : ""}a path, or sha256:…">
      <input type="file" multiple hidden ${c.suffixes ? `accept="${escaped(c.suffixes)}"` : ""}>`;
  } else {
    body = `${label}<span></span><input class="as-field wide" id="${id}" autocomplete="off" spellcheck="false">`;
  }
  const linked = c.aliases.length ? `<div class="as-linked">${c.aliases.map((a) =>
    `<label title="${escaped(a.doc)}"><span>${a.symbol || escaped(a.name)}</span><span class="row"><input
      data-alias="${a.name}" inputmode="decimal" autocomplete="off" aria-label="${escaped(a.doc || a.name)}">
      <em>${escaped(a.unit)}</em></span></label>`).join("")}</div>` : "";
  return `<div class="as-ctl" data-ctl="${name}">${body}${linked}${help}
    <p class="err" id="${id}-e" role="alert" hidden></p></div>`;
}

function wireControl(box) {
  const name = box.dataset.ctl;
  const shape = JSON.stringify([S.controls[name].kind, S.controls[name].options]);
  box.dataset.shape = shape;
  const inHand = () => {
    $$(".as-ctl--yours").forEach((e) => e.classList.remove("as-ctl--yours"));
    $$(".as-eq .yours").forEach((e) => e.classList.replace("yours", "ctl"));
    box.classList.add("as-ctl--yours");
    $$(`.as-eq [data-control="${name}"]`).forEach((e) => e.classList.replace("ctl", "yours"));
    dock(name);
  };
  box.addEventListener("focusin", inHand);
  box.addEventListener("pointerdown", inHand);
  const slider = $(".as-slider", box);
  const field = $("input.num, input.as-field", box);
  if (slider) slider.addEventListener("input", () => {
    const value = valueAt(S.controls[name], slider.value);
    fill(slider);
    field.value = String(value);
    set({ [name]: value }, name);
  });
  if (field) field.addEventListener("change", () => set({ [name]: field.value }, name));
  $$("select, input[type=radio]", box).forEach((e) => e.addEventListener("change", () => {
    if (e.value !== "" || !S.controls[name].samples) return set({ [name]: e.value }, name);
    field.hidden = false;
    field.value = "";
    field.focus();
  }));
  $$("[data-sweep]", box).forEach((e) => e.addEventListener("click", () => openSweep(name)));
  const tick = $("input[type=checkbox]", box);
  if (tick) tick.addEventListener("change", () => set({ [name]: tick.checked }, name));
  $$("[data-alias]", box).forEach((e) =>
    e.addEventListener("change", () => set({ [e.dataset.alias]: e.value }, e.dataset.alias)));
  wireFiles(box, name);
}

function showControls() {
  for (const [name, c] of Object.entries(S.controls)) {
    let box = $(`[data-ctl="${name}"]`);
    if (!box) continue;
    if (box.dataset.shape !== JSON.stringify([c.kind, c.options])) {
      box.outerHTML = controlHtml(name);
      box = $(`[data-ctl="${name}"]`);
      wireControl(box);
    }
    const held = document.activeElement;
    const slider = $(".as-slider", box);
    const field = $("input.num, input.as-field", box);
    const refused = S.errors[name] !== undefined;
    if (slider) {
      if (!c.log) { slider.min = c.low; slider.max = c.high; }
      if (!(held === slider && (flight.busy || flight.next))) { slider.value = position(c, c.value); fill(slider); }
    }
    if (field && !refused && !(held === slider && (flight.busy || flight.next))) field.value = c.text;
    const select = $("select", box);
    if (select && c.samples) {
      select.value = c.samples.includes(c.text) ? c.text : "";
      if (held !== field) field.hidden = !refused && select.value !== "";
      $(".help", box).textContent = c.about[c.text] || [c.called, c.doc].filter(Boolean).join(" · ");
    } else if (select) select.value = c.text;
    $$("input[type=radio]", box).forEach((e) => { e.checked = e.value === c.text; });
    const tick = $("input[type=checkbox]", box);
    if (tick) tick.checked = c.value;
    c.aliases.forEach((a) => {
      const e = $(`[data-alias="${a.name}"]`, box);
      if (e && S.errors[a.name] === undefined) e.value = a.text;
    });
  }
  if (docked) dock(docked);
}

function refuse(field, sentence) {
  const alias = $(`[data-alias="${field}"]`);
  const box = alias ? alias.closest(".as-ctl") : $(`[data-ctl="${field}"]`);
  if (!box) return notice([sentence]);
  S.errors[field] = sentence;
  const err = $(".err", box);
  err.textContent = sentence;
  err.hidden = false;
  box.classList.add("as-ctl--refused");
}
function accept(name) {
  if (S.errors[name] === undefined) return;
  delete S.errors[name];
  const alias = $(`[data-alias="${name}"]`);
  const box = alias ? alias.closest(".as-ctl") : $(`[data-ctl="${name}"]`);
  if (box) { $(".err", box).hidden = true; box.classList.remove("as-ctl--refused"); }
}
function notice(sentences) {
  const place = $("#as-notices");
  place.innerHTML = sentences.map((s) => `<p class="as-note as-note--open">${escaped(s)}
    <button class="as-btn as-btn--quiet" type="button">Close</button></p>`).join("");
  $$("button", place).forEach((b) => b.addEventListener("click", () => b.parentElement.remove()));
}

// the control in hand, at the bottom of a narrow page

let docked = "";
function dock(name) {
  const place = $("#as-dock");
  const c = S.controls[name];
  if (!c || !$(`[data-ctl="${name}"] .as-slider`)) return;
  if (docked !== name) {
    docked = name;
    const range = c.log ? 'min="0" max="1000" step="1"' : `min="${c.low}" max="${c.high}" step="${c.step}"`;
    $(".as-dock__ctl", place).innerHTML = `<span>${c.symbol || escaped(c.label)}</span><input type="range" ${range}
      class="as-slider as-slider--yours" aria-label="${escaped(c.label)}, at hand"><output></output>`;
    const slider = $("input", place);
    slider.addEventListener("input", () => {
      fill(slider);
      $("output", place).textContent = valueAt(S.controls[name], slider.value);
      set({ [name]: valueAt(S.controls[name], slider.value) }, name);
    });
  }
  const slider = $("input", place);
  if (document.activeElement !== slider || !flight.busy) { slider.value = position(c, c.value); fill(slider); }
  $("output", place).textContent = c.text;
}

