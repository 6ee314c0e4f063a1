// Handles of a figure, that a person holds and moves: a point whose x and y each set a control or an entry of a matrix
// (`workbench.theme.handle`), and a straight line named `yours` or `cutoff` where a control is, in a view that selects
// this control. Follows controls.js and figures.js.
const REACH = 22, NEAR = 8; // pixels around a point, and beside a line, that take hold of it
const LINES = ["yours", "cutoff"];

function pointsOf(plot) {
  const layout = plot._fullLayout;
  return (plot.data || []).flatMap((t) => {
    if (!t.meta?.held || !layout) return [];
    const axes = { x: layout[(t.xaxis || "x").replace("x", "xaxis")], y: layout[(t.yaxis || "y").replace("y", "yaxis")] };
    return [{ held: t.meta.held, axes, at: [axes.x._offset + axes.x.d2p(t.x[0]), axes.y._offset + axes.y.d2p(t.y[0])] }];
  });
}
// A line may be drawn beside the value that it stands for, as the line below row k is at k + ½: that stays so.
function linesOf(plot, selects) {
  const layout = plot._fullLayout;
  return (layout?.shapes || []).flatMap((s) => ["x", "y"].flatMap((key) => {
    if (s.type !== "line" || !LINES.includes(s.name) || !selects[key]) return [];
    if (s[`${key}0`] !== s[`${key}1`] || s[`${key}ref`] !== key) return [];
    const axis = layout[`${key}axis`], control = S.controls[selects[key]], at = axis.r2l(s[`${key}0`]);
    const apart = control ? at - axis.d2l(control.value) : 0;
    return [{ held: { [key]: [selects[key]] }, axes: { x: layout.xaxis, y: layout.yaxis }, key, apart, line: axis._offset + axis.l2p(at) }];
  }));
}
function under(plot, selects, e) {
  const box = plot.getBoundingClientRect(), at = { x: e.clientX - box.left, y: e.clientY - box.top };
  const far = (h) => Math.hypot(at.x - h.at[0], at.y - h.at[1]);
  const point = pointsOf(plot).filter((h) => far(h) < REACH).sort((a, b) => far(a) - far(b))[0];
  const inside = (axis) => at[axis._id[0]] >= axis._offset && at[axis._id[0]] <= axis._offset + axis._length;
  return point || linesOf(plot, selects).find((h) => Math.abs(at[h.key] - h.line) < NEAR && inside(h.axes[h.key === "x" ? "y" : "x"]));
}

// What a place in pixels sets: as many digits as a pixel is worth, inside the axis and the control's bounds.
function worth(axis, pixels, control, apart = 0) {
  const value = (at) => axis.l2d(axis.p2l(at) - apart);
  const [low, high] = [0, axis._length].map(value).sort((a, b) => a - b);
  const bound = (v) => Math.min(high, control?.high ?? high, Math.max(low, control?.low ?? low, v));
  const here = value(pixels), pixel = Math.abs(value(pixels + 1) - here) || 1;
  if (control?.whole) return Math.round(Math.min(control.high, Math.max(control.low, here)));
  return Number(bound(Number(bound(here).toFixed(Math.min(12, Math.max(0, Math.ceil(-Math.log10(pixel))))))).toPrecision(12));
}
function moved(handle, x, y) {
  const values = {};
  for (const [key, at] of [["x", x], ["y", y]]) {
    if (!handle.held[key]) continue;
    const [name, row, column] = handle.held[key];
    const value = worth(handle.axes[key], at - handle.axes[key]._offset, S.controls[name], handle.apart);
    if (row === undefined) { values[name] = value; continue; }
    values[name] ??= S.controls[name].text.split(";").map((line) => line.split(",").map(Number));
    values[name][row][column] = value;
  }
  return values;
}

function wireHandles(name, plot, selects) {
  let hand = null; // the handle that is held, with the axes as they were: they stay until it is let go
  const look = (handle) => {
    plot.classList.toggle("as-plot--near", Boolean(handle?.at));
    plot.classList.toggle("as-plot--ew", handle?.key === "x");
    plot.classList.toggle("as-plot--ns", handle?.key === "y");
  };
  plot.addEventListener("pointerdown", (e) => {
    const handle = e.button === 0 && under(plot, selects, e);
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
    if (!hand) return e.buttons ? undefined : look(under(plot, selects, e));
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
  plot.addEventListener("touchstart", (e) => { if (under(plot, selects, e.touches[0])) e.preventDefault(); }, { passive: false });
}
