// Figures as every page draws them: at their real width, with a legend in HTML and ticks that do not touch. Follows base.js.
const NARROW = 480;

function legend(frame, data, layout) {
  const colours = layout.template.layout.colorway;
  const named = data.map((t, i) => [t, colours[i % colours.length]])
    .filter(([t]) => t.name && t.showlegend !== false && t.visible !== false);
  $(".key", frame).innerHTML = named.length < 2 ? "" : named.map(([t, auto]) => {
    const bar = t.type === "bar" || t.type === "histogram";
    const lines = !bar && (t.mode || "lines").includes("lines");
    const colour = (bar ? t.marker?.color : lines ? t.line?.color : t.marker?.color) || auto;
    const dash = { dot: "dotted", dash: "dashed", dashdot: "dashed", longdash: "dashed" }[t.line?.dash] || "solid";
    const flat = typeof colour === "string" ? colour : auto;
    const look = t.fill && t.fillcolor ? `background:${t.fillcolor}` : bar ? `background:${flat}`
      : lines ? `border-top:2px ${dash} ${flat}` : `border:1.500px solid ${flat};border-radius:50%`;
    const mark = `<i class="${lines && !(t.fill && t.fillcolor) ? "ln" : ""}" style="${look}"></i>`;
    if (!t.meta?.run) return `<li>${mark}${escaped(t.name)}</li>`;
    const points = !bar && !lines; // the badge of a run has the shape of its points
    return `<li><b class="ab ab-${t.meta.run}">${t.meta.run}</b>${points ? "" : mark}${escaped(t.name.replace(/^[A-F](, |$)/, ""))}</li>`;
  }).join("");
}

// Ticks that a study sets stay level; those that would touch their neighbour are left out.
function thin(layout, width) {
  const axis = layout.xaxis;
  if (!axis?.tickvals || axis.tickvals.length < 3) return;
  const low = Math.min(...axis.tickvals), high = Math.max(...axis.tickvals);
  const texts = axis.ticktext || axis.tickvals.map(String);
  const keep = [];
  let free = -Infinity;
  axis.tickvals.forEach((value, i) => {
    const at = ((width - 130) * (value - low)) / (high - low), half = 4 * texts[i].length + 3;
    if (at - half >= free) { keep.push(i); free = at + half; }
  });
  axis.tickvals = keep.map((i) => axis.tickvals[i]);
  axis.ticktext = keep.map((i) => texts[i]);
  axis.tickangle = 0;
}

function drawFigure(frame, plot, figure, template) {
  const layout = structuredClone(figure.layout);
  layout.template = figure.layout.template = template;
  const narrow = plot.clientWidth < NARROW;
  Object.assign(layout, { autosize: true, showlegend: false, dragmode: false });
  delete layout.height; delete layout.width;
  thin(layout, plot.clientWidth);
  if (narrow) for (const a of ["xaxis", "yaxis", "yaxis2"]) if (layout[a] && !layout[a].tickvals) layout[a].nticks = 5;
  for (const [axis, range] of Object.entries(plot.heldRanges || {})) layout[axis].range = range; // while a handle is held
  Plotly.react(plot, figure.data, layout, { responsive: true, displaylogo: false, displayModeBar: false, scrollZoom: false });
  legend(frame, figure.data, figure.layout);
}
