"""The story of certificates in a browser: grades collapse, time warps, matrices are moved, a model is opened."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from playwright.sync_api import expect
from study_tab import enter, title

from assay.checkpoints.safetensors_writing import write_safetensors

pytestmark = pytest.mark.browser
PEERS = Path(__file__).parents[1] / "assay" / "dynamics" / "state_space" / "peers" / "mixers.npz"


def opened(tab, server, more=""):
    tab.goto(f"{server}/study?study=ssm-stability{more}")
    expect(title(tab, "channels")).to_have_text(re.compile("From weights alone: the bound lies"))


def test_grades_collapse_and_no_dot_stands_above_its_bound(tab, server):
    opened(tab, server)
    hero = title(tab, "channels")
    expect(hero).to_have_text(re.compile(r"lies [3-5][\d.]* decades above the data, no dot above it"))
    tab.locator('[data-ctl="grade"] select').select_option("conditional")
    expect(hero).to_have_text(re.compile(r"^Given the data: the bound .*, no dot above it"))
    tab.locator('[data-ctl="grade"] select').select_option("empirical")
    expect(hero).to_have_text(re.compile("nothing is promised"))
    tab.get_by_role("tab", name="Time warp", exact=True).click()
    expect(title(tab, "time_warp")).to_have_text(re.compile("leave the exponential"))
    tab.locator('[data-ctl="method"]').get_by_text("Exact hold", exact=True).click()
    expect(title(tab, "time_warp")).to_have_text(re.compile("Every step lands on one exponential"))


def test_a_matrix_is_moved_by_hand_and_its_status_follows(tab, server):
    opened(tab, server, "&time=discrete&first=0.5,0;0,0.5&second=0.9,0;0,-0.9")
    tab.get_by_role("tab", name="Switching lab", exact=True).click()
    status = title(tab, "lab")
    expect(status).to_have_text(re.compile("^CERTIFIED"))
    plot = tab.locator('[data-view="matrices"] .js-plotly-plot')
    plot.scroll_into_view_if_needed()
    place = """(plot, [x, y]) => { const box = plot.getBoundingClientRect(), { xaxis, yaxis } = plot._fullLayout;
      return [box.left + xaxis._offset + xaxis.d2p(x), box.top + yaxis._offset + yaxis.d2p(y)]; }"""
    start, end = (plot.evaluate(place, to) for to in ([0.5, 0], [1.2, 0.3]))
    tab.mouse.move(*start)
    tab.mouse.down()
    tab.mouse.move(*end, steps=8)
    tab.mouse.up()
    expect(status).to_have_text(re.compile("^REFUTED"))
    expect(title(tab, "matrices")).to_have_text("1 of 2 matrices decay alone")
    expect(tab.locator("#as-c-first")).to_have_value(re.compile(r"^1\.(19|2\d?)\b"))  # where the hand let go
    texts = [tab.locator(f"#as-c-{name}").input_value() for name in ("first", "second")]
    rows = [[float(v) for v in text.replace(";", ",").split(",")] for text in texts]
    assert rows[1] == [0.9, 0, 0, -0.9] and rows[0][1::2] == [0, 0.5], "one matrix, its first column alone"
    assert abs(rows[0][0] - 1.2) < 0.03 and abs(rows[0][2] - 0.3) < 0.03
    tab.get_by_role("button", name="Undo").click()
    expect(status).to_have_text(re.compile("^CERTIFIED"))


def test_a_model_of_ones_own_is_opened_and_a_bad_one_refused(tab, server, tmp_path):
    held = np.load(PEERS, allow_pickle=False)
    weights = {k.split("|")[2]: torch.from_numpy(held[k]) for k in held.files if k.startswith("mamba2|weight|")}
    write_safetensors(tmp_path / "mine.safetensors", weights)
    spoilt = {k: v[:1] if k.endswith("conv1d.weight") else v for k, v in weights.items()}
    write_safetensors(tmp_path / "bad.safetensors", spoilt)
    opened(tab, server)
    files = tab.locator('[data-ctl="model"] input[type=file]')
    files.set_input_files(tmp_path / "bad.safetensors")
    expect(tab.locator("body")).to_contain_text(re.compile(r"conv1d\.weight: expected"))
    files.set_input_files(tmp_path / "mine.safetensors")
    expect(tab.locator('[data-view="channels"] .sub')).to_contain_text("layers.0.mixer")
    tab.get_by_role("tab", name="Numbers", exact=True).click()
    expect(tab.locator('[data-view="numbers"]')).to_contain_text("Mamba-2")
    enter(tab, "channel", "999")
    expect(tab.locator("#as-c-channel-e")).to_contain_text("channel: got 999")
