"""The story of the LIF study in a browser: the filter slides, the prediction stands before the sweep, points appear."""

import re
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect
from study_tab import enter, title

pytestmark = pytest.mark.browser


def test_drag_the_filter_then_train_and_read_the_claims(tab, server):
    tab.goto(f"{server}/gallery")
    tab.get_by_role("link", name="choose a spiking neuron’s memory").click()
    expect(tab).to_have_url(re.compile("lif_frequency_matching"))
    hero = title(tab, "overlay")
    expect(hero).to_have_text(re.compile(r"At β = 0\.5 the filter keeps \d+\s%"), timeout=60_000)
    assert tab.locator('[data-view="overlay"] .as-legend, [data-view="overlay"]').filter(has_text="β† = ").count()

    enter(tab, "beta", "0.9")
    expect(hero).to_have_text(re.compile(r"At β = 0\.9 the filter keeps"))
    enter(tab, "beta", "1.2")
    expect(tab.locator("#as-c-beta-e")).to_contain_text("beta: got")
    expect(tab.locator("#as-c-beta-e")).to_contain_text("0.995")
    enter(tab, "beta", "0.7")
    expect(tab.locator("#as-c-beta-e")).to_be_hidden()

    tab.locator('[data-ctl="source"] select').select_option("sample:synthetic-low")
    expect(tab.locator('[data-view="overlay"]')).to_contain_text("40 recordings")
    expect(title(tab, "regions")).to_have_text(re.compile("^β† is "))
    expect(tab.locator('[data-claim="2"]')).to_have_attribute("data-verdict", "holds")

    tab.get_by_text("Quick", exact=True).click()
    tab.get_by_role("button", name="Run Train over β").first.click()
    expect(tab.locator('[data-job="sweep"]')).to_have_attribute("data-state", "done", timeout=90_000)
    expect(title(tab, "regions")).to_have_text(re.compile("The nets have not learned enough"))
    expect(tab.locator('[data-claim="3b"]')).to_have_attribute("data-verdict", "needs scale")
    expect(tab.locator('[data-claim="3b"]')).to_contain_text("half of guessing")
    expect(tab.locator(".st-prov")).to_contain_text("synthetic-low")


def test_the_cut_off_is_a_handle_in_the_figure(tab, server):
    tab.goto(f"{server}/study?study=lif-frequency-matching")
    hero = title(tab, "overlay")
    expect(hero).to_have_text(re.compile(r"At β = 0\.5 the filter keeps"), timeout=60_000)
    line = tab.locator('[data-view="overlay"] .shapelayer path').first.bounding_box()
    assert line is not None
    y = line["y"] + line["height"] / 2
    tab.mouse.move(line["x"] + line["width"] / 2, y)
    expect(tab.locator('[data-view="overlay"] .as-plot--ew')).to_be_visible()
    tab.mouse.down()
    tab.mouse.move(line["x"] - 30, y, steps=4)
    tab.mouse.up()
    expect(hero).to_have_text(re.compile(r"At β = 0\.[5-9]\d+ the filter keeps"))


def test_its_notebook_opens_at_its_address_with_and_without_a_slash(server):
    for slash in ("", "/"):
        with urlopen(f"{server}/notebooks/dynamics/lif_frequency_matching{slash}", timeout=30) as answer:
            assert answer.status == 200 and answer.url.endswith("/lif_frequency_matching/")
