"""The browser face on the kitchen-sink study: from the gallery to a verdict and back by a link."""

import json
import re

import pytest
from playwright.sync_api import expect
from study_tab import title

pytestmark = pytest.mark.browser
WIDTHS = (1600, 1100, 900, 400)


def study(tab, server, query=""):
    tab.goto(f"{server}/study?study=kitchen-sink{query}")
    expect(tab.locator('[data-view="curve"]')).to_have_attribute("data-shown", re.compile(r"\d"))
    expect(tab.locator(".as-claim")).to_have_count(5)


def field(tab, name):
    return tab.locator(f"#as-c-{name}")


def verdict(tab, claim):
    return tab.locator(f'[data-claim="{claim}"]')


def test_from_the_gallery_to_a_verdict_and_back_by_a_link(tab, server):
    tab.goto(server)
    expect(tab.locator("#ga-count")).to_have_text(re.compile(r"\d+ studies"))
    tab.get_by_placeholder("Find a study").fill("amplitude kitchen")
    expect(tab.locator(".as-card:visible")).to_have_count(1)
    assert "find=amplitude" in tab.url
    tab.get_by_role("link", name="Does a wave keep its amplitude?").click()
    expect(title(tab, "curve")).to_have_text("The wave reaches 1.00 V")
    expect(verdict(tab, 1)).to_have_attribute("data-verdict", "holds")
    expect(verdict(tab, 2)).to_have_attribute("data-verdict", "not judged")

    field(tab, "amplitude").fill("2")
    field(tab, "amplitude").press("Enter")
    expect(title(tab, "curve")).to_have_text("The wave reaches 2.00 V")
    expect(tab).to_have_url(re.compile("amplitude=2.0"))

    tab.get_by_text("Quick", exact=True).click()
    tab.get_by_role("button", name="Run Climb the wave").click()
    expect(tab.locator('[data-job="climb"]')).to_have_attribute("data-state", "done", timeout=40_000)
    expect(verdict(tab, 2)).to_have_attribute("data-verdict", re.compile("holds|fails|inconclusive"))
    expect(tab.locator(".st-prov")).to_contain_text("seed")

    link = tab.url
    tab.get_by_role("button", name="Undo").click()  # the preset
    tab.get_by_role("button", name="Undo").click()  # the amplitude
    expect(title(tab, "curve")).to_have_text("The wave reaches 1.00 V")
    expect(tab.get_by_role("button", name="Undo")).to_be_disabled()
    tab.get_by_role("button", name="Redo").click()
    expect(title(tab, "curve")).to_have_text("The wave reaches 2.00 V")

    tab.goto(link)
    expect(title(tab, "curve")).to_have_text("The wave reaches 2.00 V")
    expect(field(tab, "amplitude")).to_have_value("2")
    expect(tab.locator("input[name=as-preset][value=quick]")).to_be_checked()
    tab.get_by_role("button", name="Reset").click()
    expect(title(tab, "curve")).to_have_text("The wave reaches 1.00 V")


def test_a_slow_job_shows_its_progress_and_is_cancelled(tab, server):
    study(tab, server, "&steps=5000&pause=0.02")
    tab.get_by_role("button", name="Run Climb the wave").click()
    bar = tab.get_by_role("progressbar", name="Climb the wave")
    expect(bar).to_be_visible(timeout=30_000)
    expect(tab.locator('[data-job="climb"] .as-job__line')).to_contain_text("%")
    tab.wait_for_function("document.querySelector('[data-job=climb]').dataset.state === 'running'", timeout=30_000)
    tab.get_by_role("button", name="Cancel Climb the wave").click()
    expect(tab.locator('[data-job="climb"]')).to_have_attribute("data-state", "cancelled", timeout=10_000)
    expect(tab.locator('[data-job="climb"]')).to_contain_text("what was finished is kept")


def test_a_fault_in_a_job_is_one_sentence_with_its_log(tab, server):
    study(tab, server)
    tab.get_by_role("button", name="Run Fail on purpose").click()
    job = tab.locator('[data-job="breaks"]')
    expect(job).to_have_attribute("data-state", "failed", timeout=30_000)
    expect(job.locator(".as-note")).to_contain_text("Fail on purpose failed:")
    expect(job.get_by_text("Show log")).to_be_visible()


def test_a_drag_ends_on_the_newest_value_and_every_value_is_answered(tab, server):
    study(tab, server)
    took = tab.evaluate(
        """async () => {
        const slider = document.querySelector('[data-ctl=amplitude] .as-slider');
        const head = (view) => document.querySelector(`[data-view=${view}] .as-frame__title > :first-child`);
        const wait = (ms) => new Promise((done) => setTimeout(done, ms));
        for (let i = 0; i <= 60; i++) {
          slider.value = 4 - i / 20; slider.dispatchEvent(new Event('input')); await wait(16);
        }
        for (let i = 0; i < 200 && head('uneven').textContent !== 'Amplitude is 1.00 V'; i++) await wait(10);
        const dragged = head('uneven').textContent;
        const spent = [];
        for (let i = 1; i <= 15; i++) {
          await wait(120);
          const value = (1 + i / 10).toFixed(2), start = performance.now();
          slider.value = value; slider.dispatchEvent(new Event('input'));
          while (!head('curve').textContent.includes(value) && performance.now() - start < 2000) await wait(2);
          spent.push(performance.now() - start);
        }
        return [dragged, spent.sort((a, b) => a - b)];
        }"""
    )
    last, spent = took
    assert last == "Amplitude is 1.00 V"
    print("view answers in ms: median", spent[7], "largest", spent[-1])
    assert spent[-1] < 2000, "every value is answered"
    expect(title(tab, "uneven")).to_have_text("Amplitude is 2.50 V")


def test_bad_input_is_one_sentence_at_its_field_and_nothing_is_lost(tab, server):
    study(tab, server)
    tab.locator('[data-ctl="recording"] select').select_option("")
    for name, text in (("amplitude", "nan"), ("points", "1e9"), ("caption", "NO"), ("recording", "sample:none")):
        field(tab, name).fill(text)
        field(tab, name).press("Enter")
        error = tab.locator(f"#as-c-{name}-e")
        expect(error).to_contain_text(re.compile(rf"{name}: .*"))
        expect(field(tab, name)).to_have_value(text)
    field(tab, "amplitude").fill("3")
    field(tab, "amplitude").press("Enter")
    expect(tab.locator("#as-c-amplitude-e")).to_be_hidden()
    expect(title(tab, "curve")).to_have_text("The wave reaches 3.00 V")


def test_an_address_that_says_something_wrong_opens_with_a_sentence(tab, server):
    study(tab, server, "&amplitude=99&nothing=1&frequency=3.0")
    expect(tab.locator("#as-notices")).to_contain_text("amplitude")
    expect(field(tab, "frequency")).to_have_value("3")
    tab.goto(f"{server}/study?study=no-such-thing")
    expect(tab.get_by_role("heading", name="No such study here")).to_be_visible()


def test_other_handles_clicks_and_code(tab, server):
    study(tab, server)
    tab.locator('[data-alias="period"]').fill("0.25")
    tab.locator('[data-alias="period"]').press("Enter")
    expect(field(tab, "frequency")).to_have_value("4")
    tab.get_by_role("button", name="Show as code").click()
    expect(tab.locator("#as-code-text")).to_contain_text('explore("kitchen-sink", frequency=4.0)')


def test_tables_and_figures_are_saved(tab, server, tmp_path):
    study(tab, server)
    for view, form, check in (
        ("curve", "json", lambda text: json.loads(text)["data"][0]["name"] == "wave"),
        ("curve", "svg", lambda text: "<svg" in text),
        ("samples", "csv", lambda text: text.startswith("t,y") and text.count("\n") == 201),
    ):
        frame = tab.locator(f'[data-view="{view}"]')
        frame.get_by_label("Save").click()
        with tab.expect_download() as waiting:
            frame.get_by_role("button", name=form.upper(), exact=True).click()
        waiting.value.save_as(tmp_path / view)
        assert check((tmp_path / view).read_text(encoding="utf-8")), (view, form)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_scrolls_sideways_and_every_button_has_a_name(tab, server, theme):
    for path in ("gallery", "study?study=kitchen-sink"):
        for width in WIDTHS:
            tab.set_viewport_size({"width": width, "height": 900})
            tab.goto(f"{server}/{path}{'&' if '?' in path else '?'}theme={theme}")
            if path != "gallery":
                expect(tab.locator('[data-view="curve"]')).to_have_attribute("data-shown", re.compile(r"\d"))
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, width)
            assert tab.evaluate(
                "[...document.querySelectorAll('button')].every((b) => (b.ariaLabel || b.textContent).trim())"
            )
            assert tab.evaluate("document.documentElement.dataset.theme") == theme


def test_a_sweep_is_asked_for_beside_a_control_and_drawn_as_points_are_done(tab, server):
    study(tab, server, "&preset=quick")
    tab.locator('[data-sweep="amplitude"]').click()
    form = tab.locator("#as-sweep")
    expect(form.locator("[name=low]")).to_be_focused()
    expect(form.locator("[name=high]")).to_have_value("4")
    form.locator("[name=high]").fill("9")
    form.get_by_role("button", name="Run the sweep").click()
    expect(form.get_by_role("alert")).to_contain_text("amplitude: got")
    form.locator("[name=high]").fill("2")
    form.locator("[name=count]").fill("3")
    form.locator("[name=seeds]").fill("2")
    form.get_by_role("button", name="Run the sweep").click()
    expect(form).to_contain_text("6 of 6 points done", timeout=90_000)
    expect(form).to_contain_text("assay run kitchen-sink climb --sweep amplitude=0:2:3 --seeds 2 --preset quick")
    frame = tab.locator("#as-sweep-frame")
    expect(frame.locator("h3")).to_contain_text("Height is highest at a")
    frame.get_by_label("What is drawn").select_option("heights.took")
    expect(frame.locator("h3")).to_contain_text("Took")
    with tab.expect_download() as saved:
        frame.locator('[data-save="sweep/heights"][data-form="csv"]').click()
    assert saved.value.path().read_text().startswith("amplitude,seed,step,height")
