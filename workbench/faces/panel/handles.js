// Handles of a figure: points that a person holds and moves; a point's x and y each set a control or an entry of a
// matrix (`workbench.theme.handle`). Follows controls.js and figures.js.
const REACH = 22; // pixels around a handle that take hold of it

function handlesOf(plot) {
  const layout = plot._fullLayout;
  return (plot.data || []).flatMap((t) => {
    if (!t.meta?.held || !layout) return [];
    const axes = { x: layout[(t.xaxis || "x").replace("x", "xaxis")], y: layout[(t.yaxis || "y").replace("y", "yaxis")] };
    return [{ held: t.meta.held, axes, at: [axes.x._offset + axes.x.d2p(t.x[0]), axes.y._offset + axes.y.d2p(t.y[0])] }];
  });
}
function under(plot, e) {
  const box = plot.getBoundingClientRect();
  const far = (h) => Math.hypot(e.clientX - box.left - h.at[0], e.clientY - box.top - h.at[1]);
  return handlesOf(plot).filter((h) => far(h) < REACH).sort((a, b) => far(a) - far(b))[0];
}

// What a place in pixels sets: as many digits as a pixel is worth, inside the axis and the control's bounds.
function worth(axis, pixels, control) {
  const [low, high] = [...axis.range].sort((a, b) => a - b).map((v) => axis.l2d(v));
  const bound = (v) => Math.min(high, control.high ?? high, Math.max(low, control.low ?? low, v));
  const value = bound(axis.p2d(pixels));
  const pixel = Math.abs(axis.p2d(pixels + 1) - axis.p2d(pixels)) || 1;
  return Number(bound(Number(value.toFixed(Math.min(12, Math.max(0, Math.ceil(-Math.log10(pixel))))))).toPrecision(12));
}
function moved(handle, x, y) {
  const values = {};
  for (const [key, at] of [["x", x], ["y", y]]) {
    if (!handle.held[key]) continue;
    const [name, row, column] = handle.held[key];
    const value = worth(handle.axes[key], at - handle.axes[key]._offset, S.controls[name]);
    if (row === undefined) { values[name] = value; continue; }
    values[name] ??= S.controls[name].text.split(";").map((line) => line.split(",").map(Number));
    values[name][row][column] = value;
  }
  return values;
}

function wireHandles(name, plot) {
  let hand = null; // the handle that is held, with the axes as they were: they stay until it is let go
  plot.addEventListener("pointerdown", (e) => {
    const handle = e.button === 0 && under(plot, e);
    if (!handle) return;
    e.preventDefault();
    e.stopPropagation();
    const layout = plot._fullLayout;
    const axes = Object.keys(layout).filter((k) => /^[xy]axis\d*$/.test(k));
    plot.heldRanges = Object.fromEntries(axes.map((k) => [k, [...layout[k].range]]));
    hand = { ...handle, axes: { x: { ...handle.axes.x }, y: { ...handle.axes.y } } };
    const first = Object.values(handle.held)[0][0];
    $(`[data-ctl="${first}"]`)?.dispatchEvent(new Event("pointerdown"));
    gesture = `${e.timeStamp}`;
    plot.setPointerCapture(e.pointerId);
    plot.classList.add("as-plot--held");
  }, true);
  plot.addEventListener("pointermove", (e) => {
    if (!hand) return plot.classList.toggle("as-plot--near", Boolean(under(plot, e)));
    const box = plot.getBoundingClientRect();
    const values = moved(hand, e.clientX - box.left, e.clientY - box.top);
    set(values, Object.keys(values)[0]);
  });
  const drop = () => {
    if (!hand) return;
    hand = null;
    delete plot.heldRanges;
    plot.classList.remove("as-plot--held");
    showView(name);
  };
  for (const what of ["pointerup", "pointercancel"]) plot.addEventListener(what, drop);
  plot.addEventListener("touchstart", (e) => { if (under(plot, e.touches[0])) e.preventDefault(); }, { passive: false });
}
