"""The story of a second scale in a browser: iterations move the error into the outlier column; files are written."""

import re

import pytest
from playwright.sync_api import expect
from study_tab import enter, title

pytestmark = pytest.mark.browser


def test_iterations_move_the_error_and_weighing_it_changes_the_tale(tab, server):
    tab.goto(f"{server}/study?study=sinq&model=sample:made-columns")
    hero = title(tab, "before_and_after")
    expect(hero).to_have_text(re.compile(r"Squared error of weights falls by 62\s%"))
    enter(tab, "iterations", "0")
    expect(hero).to_have_text("At 0 iterations nothing has moved: the squared error is the same")
    enter(tab, "iterations", "4")
    expect(hero).to_have_text(re.compile(r"Squared error of weights falls by 81\s%"))
    tab.locator('[data-ctl="weigh"] label', has_text="weighed by inputs").click()
    expect(hero).to_have_text(re.compile(r"Squared error weighted by activations falls by 91\s%"))
    expect(title(tab, "over_iterations")).to_have_text(re.compile("Imbalance falls from 29.1 to 1.12"))


def test_a_model_of_ones_own_is_refused_or_becomes_files(tab, server, tmp_path):
    import numpy as np

    rng = np.random.default_rng(0)
    good = {f"layers.{i}.a.weight": rng.normal(size=(32, 64)).astype(np.float32) for i in range(2)}
    np.savez(tmp_path / "bad.npz", **{"layers.0.a.weight": np.zeros((4, 16), np.int8)})
    np.savez(tmp_path / "good.npz", **good)
    tab.goto(f"{server}/study?study=sinq")
    expect(title(tab, "before_and_after")).to_have_text(re.compile("falls by"))
    model = tab.locator('[data-ctl="model"]')
    model.locator("input[type=file]").set_input_files(tmp_path / "bad.npz")
    expect(tab.locator("body")).to_contain_text("already quantised: type I8; dequantise explicitly")
    model.locator("input[type=file]").set_input_files(tmp_path / "good.npz")
    expect(tab.locator('[data-view="before_and_after"]')).to_contain_text("layers.0.a, columns 0 to 63 of 32 rows")
    job = tab.locator('[data-job="pack"]')
    job.get_by_role("button", name=re.compile("^Run")).click()
    link = job.get_by_role("link", name="packed.safetensors")
    expect(link).to_be_visible()
    with tab.expect_download() as waiting:
        link.click()
    waiting.value.save_as(tmp_path / "packed.safetensors")
    from assay.efficient import read_quantised

    assert set(read_quantised(tmp_path / "packed.safetensors")[0]) == set(good)
