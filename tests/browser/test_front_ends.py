"""One figure, four front ends: Panel, marimo, JupyterLab and the exported page show the same."""

import json
import os
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest

from workbench.registry import Registry
from workbench.snapshot import Snapshot, settle

pytestmark = pytest.mark.browser
HERE = Path(__file__).parent
STUDIES = HERE / "studies"
STUDY = Registry([STUDIES]).get("one-figure")
VIEWS = tuple(STUDY.views)
TITLES = {
    "numbers": "Three lines", "days": "Four days", "many": "Thirty lines", "chart": "A map with a hole",
    "million": "A long line",
}  # fmt: skip

# What plotly.js holds after it drew: numbers it was given, kinds of axes and their ranges, and the marks in the page.
SEEN = """plot => {
  const plain = (v) => v == null ? null : Array.from(v, (n) => typeof n === "object" && n?.length !== undefined
    ? plain(n) : typeof n === "number" && !isFinite(n) ? null : n);
  const full = plot._fullLayout;
  return {
    traces: plot._fullData.map((t) => ({
      type: t.type, name: t.name, x: plain(t.x), y: plain(t.y), z: plain(t.z), x0: t.x0, dx: t.dx,
      colour: t.line?.color ?? null, dash: t.line?.dash ?? null,
    })),
    axes: ["xaxis", "yaxis"].map((a) => ({
      type: full[a].type, title: full[a].title.text,
      range: full[a].range.map((v) => full[a].type === "date" ? +new Date(v) : v),
    })),
    lines: plot.querySelectorAll(".scatterlayer path.js-line").length,
    points: plot.querySelectorAll(".scatterlayer path.point").length,
    maps: plot.querySelectorAll(".heatmaplayer image").length,
  };
}"""
DRAWN = "plot => plot._fullData?.length > 0 && plot.querySelector('.scatterlayer .trace, .heatmaplayer .hm') !== null"


def seen(tab, plot):
    plot.wait_for(state="attached")
    plot.scroll_into_view_if_needed()
    element = plot.element_handle()
    tab.wait_for_function(DRAWN, arg=element)
    return plot.evaluate(SEEN)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def registered(monkeypatch, home):
    monkeypatch.setenv("ASSAY_STUDIES", str(STUDIES))
    monkeypatch.setenv("ASSAY_HOME", str(home))


def in_panel(tab, served):
    command = [sys.executable, "-c", "from workbench.cli import main; main()", "serve"]
    with served(command, {"ASSAY_STUDIES": str(STUDIES)}) as address:
        tab.goto(f"{address}/study?study=one-figure")
        found = {}
        for view in VIEWS:
            frame = tab.locator(f'[data-view="{view}"]')
            if view != VIEWS[0] and not frame.count():
                tab.get_by_role("tab", name=STUDY.views[view].tab, exact=True).click()
            found[view] = seen(tab, frame.locator(".js-plotly-plot"))
        tab.goto("about:blank")
    return found


def in_marimo(tab, served):
    command = [sys.executable, "-m", "marimo", "run", str(HERE / "one_figure_notebook.py"), "--headless", "--no-token"]
    variables = {"MARIMO_SKIP_UPDATE_CHECK": "1", "ASSAY_STUDIES": str(STUDIES)}
    with served([*command, "--host", "127.0.0.1"], variables) as address:
        tab.goto(address)
        plots = tab.locator(".js-plotly-plot")
        plots.nth(len(VIEWS) - 1).wait_for(state="attached")
        found = {view: seen(tab, plots.nth(i)) for i, view in enumerate(VIEWS)}
        tab.goto("about:blank")
    return found


def in_jupyterlab(tab, served, folder):
    cells = [nbformat.v4.new_code_cell("from workbench import explore")]
    for view in VIEWS:
        code = f'e = explore("one-figure")\ne.view = "{view}"\nassert e.settle()\ne.live'
        cells.append(nbformat.v4.new_code_cell(code))
    folder.mkdir()
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), folder / "one-figure.ipynb")
    command = [sys.executable, "-c", "from workbench.cli import main; main()", "lab", "one-figure", "--no-browser"]
    variables = {
        "JUPYTER_TOKEN": "let-me-in", "JUPYTER_CONFIG_DIR": str(folder / "jupyter"), "ASSAY_STUDIES": str(STUDIES)
    }  # fmt: skip
    with served([*command, "--folder", str(folder)], variables) as address:
        tab.goto(f"{address}/lab/tree/one-figure.ipynb?token=let-me-in")
        tab.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=60_000)
        tab.get_by_role("menuitem", name="Run", exact=True).click()
        tab.get_by_text("Run All Cells", exact=True).click()
        found = {}
        for i, view in enumerate(VIEWS):
            cell = tab.locator(".jp-Notebook .jp-CodeCell").nth(i + 1)
            cell.scroll_into_view_if_needed()
            found[view] = seen(tab, cell.locator(".js-plotly-plot"))
        tab.goto("about:blank")
    return found


def in_a_report(tab, folder):
    from workbench.report.exporting import write_report

    path = write_report("one-figure", folder / "one-figure.html", "html", values={}, preset="quick")
    tab.goto(path.as_uri())
    found = {}
    for view, title in TITLES.items():
        plot = tab.locator("figure.rp-fig", has_text=title).locator(".rp-plot")
        plot.scroll_into_view_if_needed()
        found[view] = seen(tab, plot)
    return found


def numbers_of(shown):
    """What a view gave, as plotly.js should hold it."""

    def plain(values):
        if values is None:
            return None
        array = np.asarray(values)
        if array.dtype.kind in "iuf":
            return json.loads(json.dumps(np.where(np.isfinite(array), array, None).tolist()))
        return [str(value).replace(" ", "T") if array.dtype.kind == "M" else str(value) for value in array]

    return [{part: plain(trace.get(part)) for part in ("x", "y", "z")} for trace in shown.content["data"]]


def agrees(got, wanted):
    """Numbers to what float32 holds, dates to the day, words as they are."""
    if wanted is None or got is None:
        return got is None and wanted is None
    if isinstance(wanted, list):
        return len(got) == len(wanted) and all(map(agrees, got, wanted))
    if isinstance(wanted, str):
        return str(got)[:10].replace(" ", "T") == wanted[:10]
    return got == pytest.approx(wanted, rel=1e-6, abs=1e-12)


def test_four_front_ends_show_the_same(tab, served, tmp_path):
    found = {
        "Panel": in_panel(tab, served), "marimo": in_marimo(tab, served),
        "JupyterLab": in_jupyterlab(tab, served, tmp_path / "lab"), "report": in_a_report(tab, tmp_path),
    }  # fmt: skip
    snapshot = Snapshot(STUDY, settle(STUDY))
    for view in VIEWS:
        wanted = numbers_of(snapshot.show(view))
        for front, views in found.items():
            got = views[view]
            for trace, numbers in zip(got["traces"], wanted, strict=True):
                for part, values in numbers.items():
                    assert agrees(trace[part], values), (front, view, trace["name"], part)
            first = found["Panel"][view]
            for part in ("lines", "points", "maps"):
                assert got[part] == first[part], (front, view, part)
            for one, other in zip(got["axes"], first["axes"], strict=True):
                assert (one["type"], one["title"]) == (other["type"], other["title"]), (front, view)
                width = abs(other["range"][1] - other["range"][0])
                assert one["range"] == pytest.approx(other["range"], abs=0.08 * width), (front, view)
            looks = [[(t["colour"], t["dash"]) for t in v[view]["traces"]] for v in (views, found["Panel"])]
            assert looks[0] == looks[1], (front, view)
    assert max(v for v in found["report"]["million"]["traces"][0]["y"] if v is not None) == 7.0
    assert len(found["Panel"]["million"]["traces"][0]["y"]) <= 20_000
    assert os.environ["ASSAY_STUDIES"] == str(STUDIES)
