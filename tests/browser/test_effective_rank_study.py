"""The story of effective rank in a browser: the gauge moves the rank and nothing else; whitened it does not move."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect
from study_tab import enter, title

pytestmark = pytest.mark.browser


def show(tab, name):
    tab.get_by_role("tab", name=name, exact=True).click()


def test_the_gauge_moves_the_rank_and_leaves_loss_and_text(tab, server):
    tab.goto(f"{server}/study?study=effective-rank")
    hero = title(tab, "gauge_spectrum")
    expect(hero).to_have_text(re.compile(r"R = 36\.\d+ of 48 "))
    expect(tab.locator('[data-view="unmoved"]')).to_contain_text("loss before")
    expect(tab.locator('[data-view="text"]')).to_contain_text("The same text at every gauge")
    before = tab.locator('[data-view="text"]').inner_text()
    loss = re.search(r"loss before\s+([\d.]+)", tab.locator('[data-view="unmoved"]').inner_text())
    assert loss is not None

    enter(tab, "move", "1")
    expect(hero).to_have_text(re.compile(r"R = 1\.00\d of 48 .*: it was 36"))
    expect(tab.locator('[data-view="unmoved"]')).to_contain_text(re.compile("loss after\\s*" + re.escape(loss[1])))
    expect(tab.locator('[data-view="unmoved"]')).to_contain_text("100")
    assert tab.locator('[data-view="text"]').inner_text() == before
    tab.locator('[data-ctl="gauge"] select').select_option("whitened")
    expect(hero).to_have_text(re.compile("the gauge does not move it"))


def test_the_spectrum_by_hand_and_a_checkpoint_of_ones_own(tab, server, tmp_path):
    np.save(tmp_path / "mine.npy", np.random.default_rng(0).standard_normal((300, 12)).astype(np.float32))
    tab.goto(f"{server}/study?study=effective-rank")
    show(tab, "By hand")
    expect(title(tab, "hand_spectrum")).to_have_text("Move a dial to change the spectrum")
    enter(tab, "kept", "0.25")
    expect(title(tab, "hand_spectrum")).to_have_text(re.compile(r"R goes from 36\.\d+ to \d"))
    expect(tab.locator('[data-view="hand_metrics"]')).to_contain_text(re.compile("−\\d\\d"))

    enter(tab, "other", str(tmp_path / "mine.npy"))
    expect(tab.locator('[data-view="gauge_spectrum"]')).to_contain_text("mine.npy, R = ")
    show(tab, "Suite")
    expect(tab.locator('[data-view="cloud"]')).to_contain_text("mine.npy")
    expect(tab.locator('[data-view="cloud"]')).to_contain_text("small-decoder")
