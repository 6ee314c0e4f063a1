// The report's own script: unpacks plotly.js, draws each figure under the theme at hand, and readies them for print.
(async () => {
  const root = document.documentElement;
  const nonce = document.currentScript.nonce;
  const read = (id) => { const e = document.getElementById(id); return e && JSON.parse(e.textContent); };
  const short = (text) => `${text.slice(0, 8)}…${text.slice(-4)}`;

  const manifest = read("assay-manifest");
  const seal = document.getElementById("rp-seal");
  if (seal && manifest.seal) { seal.textContent = short(manifest.seal); seal.title = manifest.seal; }
  document.getElementById("rp-theme").addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    dispatchEvent(new Event("rp-theme"));
  });

  const folds = () => [...document.querySelectorAll("details.rp-fold")];
  let opened = [];
  let printing = false;
  addEventListener("beforeprint", () => { opened = folds().filter((d) => !d.open); opened.forEach((d) => { d.open = true; }); });
  addEventListener("afterprint", () => { opened.forEach((d) => { d.open = false; }); });

  const kept = read("rp-figures");
  if (!kept) { root.dataset.ready = "1"; return; }
  const packed = Uint8Array.from(atob(document.getElementById("rp-plotly").textContent), (c) => c.charCodeAt(0));
  const text = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  const script = document.createElement("script");
  script.nonce = nonce;
  script.textContent = text;
  document.head.append(script);

  const plots = [...document.querySelectorAll(".rp-plot")];
  const merged = (low, high) => {
    if (!high || typeof high !== "object" || Array.isArray(high)) return high === undefined ? low : high;
    const found = { ...low };
    for (const [name, value] of Object.entries(high)) found[name] = merged(found[name], value);
    return found;
  };
  const drawn = (index, theme, size) => {
    const figure = kept.figures[index];
    const dark = theme === "dark" && figure.dark;
    const data = figure.data.map((t, i) => (dark ? merged(t, figure.dark.data[i]) : t));
    const shapes = (figure.layout.shapes || []).map((s, i) => (dark ? merged(s, figure.dark.shapes[i]) : s));
    const clear = { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: false };
    return [data, { ...figure.layout, ...clear, ...size, shapes, template: kept.templates[theme] }];
  };
  const config = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d"], scrollZoom: false };
  const draw = (place, theme = root.dataset.theme, size = { autosize: true }) => {
    place.querySelector("noscript")?.remove();
    const [data, layout] = structuredClone(drawn(Number(place.dataset.figure), theme, size));
    place.dataset.drawn = theme;
    return Plotly.react(place, data, layout, config);
  };

  addEventListener("rp-theme", () => { if (!printing) plots.filter((p) => p.dataset.drawn).forEach((p) => draw(p)); });
  // A browser that prints waits for nothing: figures are drawn to the paper's width at once.
  addEventListener("beforeprint", () => {
    printing = true;
    plots.forEach((p) => { p.style.height = "340px"; draw(p, "light", { width: 668, height: 340, autosize: false }); });
  });
  addEventListener("afterprint", () => {
    printing = false;
    plots.forEach((p, i) => { p.style.height = heights[i]; draw(p); });
  });
  const heights = plots.map((p) => p.style.height);

  const idle = window.requestIdleCallback || ((call) => setTimeout(call, 1));
  const near = plots.filter((p) => p.getBoundingClientRect().top < 2 * innerHeight);
  for (const place of near) await draw(place);
  for (const place of plots) if (!place.dataset.drawn) { await new Promise((done) => idle(done, { timeout: 500 })); await draw(place); }
  root.dataset.ready = "1";
})();
