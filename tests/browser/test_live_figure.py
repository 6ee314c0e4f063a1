"""A live figure in the browser: code that comes late, messages meanwhile, two figures that share it."""

import pytest

from workbench.faces.jupyter_output import LiveFigure, PlotlySource

pytestmark = pytest.mark.browser

# A model as a widget manager gives it, and Plotly's code, which comes when it is let.
PAGE = """([esm, text]) => {
  Object.assign(globalThis, { asked: 0, text });
  globalThis.plotly = new Promise((come, fail) => Object.assign(globalThis, { come: () => come(text), fail }));
  globalThis.model = (data, layout) => {
    const held = { _widget_data: data, _widget_layout: layout, _config: {}, _source: "IPY_MODEL_s", _version: "1" };
    const heard = {};
    return {
      get: (name) => held[name] ?? null,
      set(name, value) { held[name] = value; (heard[`change:${name}`] ?? []).forEach((f) => f()); },
      send(name, message) { this.set(`_py2js_${name}`, message); this.set(`_py2js_${name}`, null); },
      on: (event, f) => (heard[event] ??= []).push(f),
      off: (event, f) => { heard[event] = heard[event].filter((g) => g !== f); },
      save_changes() {},
      widget_manager: { async get_model(id) {
        asked += 1;
        const source = await plotly;
        return { get: () => source };
      } },
    };
  };
  globalThis.widget = async () =>
    (await import(URL.createObjectURL(new Blob([esm], { type: "text/javascript" })))).default();
}"""


@pytest.fixture
def page(tab):
    tab.set_content("<!doctype html><div id=a style='width:500px;height:400px'></div><div id=b></div>")
    tab.evaluate(PAGE, [str(LiveFigure._esm), PlotlySource.of_this_kernel().text])
    return tab


def test_what_is_sent_before_the_code_has_come_is_not_lost(page):
    shown = page.evaluate("""async () => {
      const one = model([], {}), made = await widget();
      await made.initialize({ model: one });  // at once, whatever is still to come
      one.send("addTraces", { trace_data: [{ type: "scatter", uid: "u", y: [1, 2] }, { uid: "v", y: [0] }] });
      const named = { "xaxis.title.text": "t (s)" };
      one.send("update", { style_data: { y: [[5, 6]] }, layout_data: named, style_traces: [0] });
      one.send("deleteTraces", { delete_inds: [1] });
      one.send("relayout", { relayout_data: { height: 300 } });
      const drawn = made.render({ model: one, el: document.getElementById("a") });
      come();
      await drawn;
      return { data: one.get("_widget_data"), layout: one.get("_widget_layout"), asked };
    }""")
    assert [(trace["uid"], trace["y"]) for trace in shown["data"]] == [("u", [5, 6])]
    assert shown["layout"]["height"] == 300 and shown["layout"]["xaxis"]["title"]["text"] == "t (s)"
    page.wait_for_selector("#a .scatterlayer path.js-line", state="attached")


def test_a_whole_state_takes_the_place_of_what_was_sent_before_it(page):
    shown = page.evaluate("""async () => {
      const one = model([], {}), made = await widget();
      await made.initialize({ model: one });
      one.send("addTraces", { trace_data: [{ type: "scatter", uid: "u", y: [1] }] });
      one.send("update", { style_data: { y: [[2]] }, layout_data: { height: 200 }, style_traces: [0] });
      one.set("_widget_data", [{ type: "scatter", uid: "u", y: [2] }]);  // holds all of the above
      one.send("restyle", { restyle_data: { name: ["v"] }, restyle_traces: [0] });
      come();
      await made.render({ model: one, el: document.getElementById("a") });
      one.send("restyle", { restyle_data: { y: [[9, 9]] }, restyle_traces: [0] });
      return [one.get("_widget_data"), one.get("_widget_layout")];
    }""")
    assert [(trace["y"], trace["name"]) for trace in shown[0]] == [([9, 9], "v")]
    assert shown[1]["height"] == 200


def test_figures_share_the_code_and_ask_again_where_it_failed(page):
    asked = page.evaluate("""async () => {
      const [first, second, third] = [await widget(), await widget(), await widget()], found = [];
      first.initialize({ model: model([], {}) });
      fail(new Error("gone"));
      await first.render({ el: document.getElementById("a") }).catch((error) => found.push(error.message));
      plotly = new Promise((made) => { come = made; });
      const models = [model([], {}), model([{ type: "scatter", y: [1, 2] }], {})];
      second.initialize({ model: models[0] });
      third.initialize({ model: models[1] });
      come(text);
      await Promise.all(["a", "b"].map((id, i) => [second, third][i].render(
        { model: models[i], el: document.getElementById(id) })));
      return [found, asked];
    }""")
    assert asked == [["gone"], 2]
