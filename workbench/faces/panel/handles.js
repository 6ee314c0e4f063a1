// Lines in a figure that a hand can move: a shape that stands where a control is, in a view that selects this control.
// Follows controls.js.
const HANDLES = ["yours", "cutoff"]; // names of such shapes
const NEAR = 8; // pixels

// The line under the pointer: which control it moves, along which axis, and how far from the control's value it is drawn.
function handleAt(plot, selects, event) {
  const box = plot.getBoundingClientRect();
  const at = { x: event.clientX - box.left, y: event.clientY - box.top };
  const { xaxis, yaxis } = plot._fullLayout;
  for (const a of [xaxis, yaxis]) {
    const along = at[a._id[0]] - a._offset;
    if (along < -NEAR || along > a._length + NEAR) return null;
  }
  for (const shape of plot._fullLayout.shapes || []) {
    if (shape.type !== "line" || !HANDLES.includes(shape.name)) continue;
    for (const key of ["x", "y"]) {
      if (!selects[key] || shape[`${key}0`] !== shape[`${key}1`] || shape[`${key}ref`] !== key) continue;
      const line = plot._fullLayout[`${key}axis`];
      if (Math.abs(line.r2p(shape[`${key}0`]) + line._offset - at[key]) > NEAR) continue;
      const control = S.controls[selects[key]];
      return { key, name: selects[key], line, apart: control ? line.r2l(shape[`${key}0`]) - line.r2l(control.value) : 0 };
    }
  }
  return null;
}

function wireHandles(plot, selects) {
  let held = null;
  const grip = (handle) => {
    plot.classList.toggle("as-plot--ew", handle?.key === "x");
    plot.classList.toggle("as-plot--ns", handle?.key === "y");
  };
  plot.addEventListener("pointerdown", (e) => {
    held = e.button === 0 ? handleAt(plot, selects, e) : null;
    if (!held) return;
    e.preventDefault(); // a click of Plotly's would follow
    e.stopPropagation();
    gesture = `${e.timeStamp}`;
    plot.setPointerCapture(e.pointerId);
  }, true);
  plot.addEventListener("pointermove", (e) => {
    if (!held) { if (!e.buttons) grip(handleAt(plot, selects, e)); return; }
    const { key, name, line, apart } = held;
    const box = plot.getBoundingClientRect();
    const along = (key === "x" ? e.clientX - box.left : e.clientY - box.top) - line._offset;
    const value = line.l2r(line.p2l(Math.min(line._length, Math.max(0, along))) - apart);
    const control = S.controls[name];
    if (!control) return set({ [name]: value }, name);
    const low = control.low ?? -Infinity, high = control.high ?? Infinity;
    const inside = Math.min(high, Math.max(low, value));
    set({ [name]: control.whole ? Math.round(inside) : Number(inside.toPrecision(4)) }, name);
  }, true);
  const release = () => { held = null; };
  plot.addEventListener("pointerup", release, true);
  plot.addEventListener("pointercancel", release, true);
  plot.style.touchAction = selects.x ? "pan-y" : "pan-x"; // a finger across the line moves it, along it the page
}
