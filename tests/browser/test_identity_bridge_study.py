"""The story of the Identity Bridge in a browser: a corner fills, and stays empty where one matrix is trained."""

import re

import pytest
from playwright.sync_api import expect
from study_tab import enter, title

pytestmark = pytest.mark.browser


def test_the_corner_fills_or_stays_empty(tab, server):
    tab.goto(f"{server}/study?study=identity-bridge")
    blocks = title(tab, "blocks")
    expect(blocks).to_have_text(re.compile(r"The reverse corner fills: 100\s%"))
    tab.locator('[data-ctl="form"] select').select_option("idn")
    expect(blocks).to_have_text(re.compile(r"but the model echoes: 0\s%"))
    tab.locator('[data-ctl="form"] select').select_option("fwd")
    expect(blocks).to_have_text(re.compile(r"stays empty"))
    enter(tab, "gamma", "0.5")
    expect(title(tab, "completion")).to_have_text(re.compile(r"δ\s=\s0.5; Frobenius"))
