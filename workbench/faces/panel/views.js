// Views: frames, figures, what is saved of them. Follows handles.js and figures.js in one module.


const frameHtml = (name, hero) => {
  const v = S.study.views.find((x) => x.name === name);
  const level = hero ? "h2" : "h3";
  return `<section class="as-frame${hero ? " st-hero" : ""}" data-view="${name}" aria-busy="true">
    <header class="as-frame__head"><div class="as-frame__title"><${level} aria-live="polite">${escaped(v.title)}</${level}>
    <p class="sub"></p></div><div class="as-tools">
    <button class="as-btn as-btn--quiet as-btn--icon" data-do="info" aria-label="About this view" aria-expanded="false"
      title="About this view">${ICON.info}</button>
    <details class="as-menu"><summary class="as-btn as-btn--quiet as-btn--icon" aria-label="Save" title="Save">${ICON.save}
    </summary><div></div></details>
    <button class="as-btn as-btn--quiet as-btn--icon" data-do="grow" aria-label="Enlarge" title="Enlarge">${ICON.grow}</button>
    </div></header><div class="about" hidden><p>${escaped(v.doc)}</p><div class="as-eq">${v.equation}</div></div>
    <div class="note"></div><div class="as-frame__fig"></div><ul class="key"></ul></section>`;
};

function wireFrame(frame) {
  const name = frame.dataset.view;
  $('[data-do="info"]', frame).addEventListener("click", (e) => {
    const about = $(".about", frame);
    about.hidden = !about.hidden;
    e.currentTarget.setAttribute("aria-expanded", String(!about.hidden));
  });
  $('[data-do="grow"]', frame).addEventListener("click", () => {
    frame.classList.toggle("as-frame--big");
    const plot = $(".js-plotly-plot", frame);
    if (plot) { Plotly.Plots.resize(plot); }
  });
  $(".as-menu > div", frame).addEventListener("click", (e) => {
    const form = e.target.dataset.form;
    if (!form) return;
    $(".as-menu", frame).open = false;
    const plot = $(".js-plotly-plot", frame);
    if (!plot) return tell({ kind: "save", what: name, form });
    const file = `${S.study.slug}-${name}`;
    if (form === "json") return save(`${file}.json`, JSON.stringify({ data: S.views[name].figure.data, layout: S.views[name].figure.layout }, null, 1));
    const title = { text: $(".as-frame__title > :first-child", frame).textContent,
                    subtitle: { text: $(".sub", frame).textContent } };
    const look = getComputedStyle(document.documentElement);
    const layout = { ...S.views[name].figure.layout, title, paper_bgcolor: look.getPropertyValue("--as-surface").trim(),
      margin: { ...S.views[name].figure.layout.margin, t: 84 }, showlegend: $$(".key li", frame).length > 0 };
    const size = { width: 1000, height: 560, scale: form === "png" ? 2 : 1 };
    Plotly.downloadImage({ data: S.views[name].figure.data, layout }, { format: form, filename: file, ...size });
  });
}
function save(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function showView(name) {
  const frame = $(`[data-view="${name}"]`);
  const view = S.views[name];
  if (!frame || !view) return;
  frame.removeAttribute("aria-busy");
  const place = $(".as-frame__fig", frame);
  if (view.broken) {
    $(".note", frame).innerHTML = `<p class="as-note as-note--fails" role="alert">${escaped(view.broken)}</p>`;
    frame.classList.add("as-frame--stale");
    return;
  }
  $(".as-frame__title > :first-child", frame).innerHTML = view.title;
  $(".sub", frame).innerHTML = view.subtitle;
  frame.classList.toggle("as-frame--stale", Boolean(view.stale));
  const wait = view.waits[0];
  const run = wait && `<button class="as-btn" type="button" data-run="${wait[0]}">${ICON.run}Run</button>`;
  const blank = wait && view.content === "figure" && view.empty;
  $(".note", frame).innerHTML = view.stale ? `<p class="as-note as-note--open">${escaped(view.stale)}</p>`
    : wait && !blank ? `<p class="as-note">“${escaped(wait[1])}” has not run${wait[2] ? `; it takes ${wait[2]}` : ""}.${run}</p>` : "";
  const forms = view.content === "figure" ? ["svg", "png", "json"] : view.content === "table" ? ["csv", "json"] : [];
  $(".as-menu", frame).hidden = !forms.length || Boolean(blank);
  $(".as-menu > div", frame).innerHTML = forms.map((f) => `<button data-form="${f}">${f.toUpperCase()}</button>`).join("");
  if (blank) {
    if (place.firstElementChild?.classList.contains("js-plotly-plot")) Plotly.purge(place.firstElementChild);
    place.innerHTML = `<div class="as-blank"><p>Appears as “${escaped(wait[1])}” runs${wait[2] ? `, ${wait[2]}` : ""}.</p>${run}</div>`;
    $(".key", frame).innerHTML = "";
  } else if (view.content === "figure") {
    let plot = $(".js-plotly-plot, .as-plot", place);
    if (!plot) { place.innerHTML = '<div class="as-plot"></div>'; plot = place.firstElementChild; }
    const first = !plot.classList.contains("js-plotly-plot");
    drawFigure(frame, plot, view.figure, S.study.templates[view.theme]);
    const selects = S.study.views.find((v) => v.name === name).selects;
    if (first) wireHandles(name, plot, selects);
    if (first && Object.keys(selects).length) {
      plot.on("plotly_click", (e) => {
        const values = {};
        for (const [key, control] of Object.entries(selects)) if (e.points[0][key] !== undefined) values[control] = e.points[0][key];
        if (Object.keys(values).length) set(values, Object.values(selects)[0]);
      });
    }
  } else {
    place.innerHTML = view.html;
    $(".key", frame).innerHTML = "";
    const selects = Object.entries(S.study.views.find((v) => v.name === name).selects);
    if (view.content === "table" && selects.length) {
      const heads = $$("th", place).map((e) => e.textContent);
      $$("tbody tr", place).forEach((row) => { row.classList.add("pick"); row.addEventListener("click", () => {
        const values = Object.fromEntries(selects.filter(([k]) => heads.includes(k)).map(([k, c]) => [c, row.cells[heads.indexOf(k)].textContent.replace("−", "-")]));
        set(values, selects[0][1]);
      }); });
    }
  }
  $$("[data-run]", frame).forEach((b) => b.addEventListener("click", () => tell({ kind: "run", experiment: b.dataset.run })));
  frame.dataset.shown = String(Number(frame.dataset.shown || 0) + 1);
}
