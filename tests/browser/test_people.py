"""A server that people sign in to: what a runner sends, what a viewer is told, on pages and in notebooks."""

import re
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from workbench.server.users import Users
from workbench.visitors import Role

pytestmark = pytest.mark.browser
PASSWORD = "a long enough one"


@pytest.fixture
def team(served, tmp_path):
    """The address of a server that `rob`, a runner, and `vic`, a viewer, may sign in to."""
    users = Users(tmp_path / "users.json")
    users.add("rob", Role.RUNNER, PASSWORD)
    users.add("vic", Role.VIEWER, PASSWORD)
    with served([str(Path(sys.executable).with_name("assay")), "serve", "--users", str(users.path)], {}) as address:
        yield address.replace("127.0.0.1", "localhost")


def enter(tab, team, name):
    tab.goto(team)
    tab.get_by_label("Name").fill(name)
    tab.get_by_label("Password").fill(PASSWORD)
    tab.get_by_role("button", name="Sign in").click()
    expect(tab.locator(".as-user")).to_contain_text(name)


def test_files_of_one_s_own_are_sent_and_read(tab, team, tmp_path):
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text(f"t,x\n0,{name}\n")
    (tmp_path / "three.csv").write_bytes(b"\x80\x04\x95 a pickle")
    enter(tab, team, "rob")
    tab.goto(f"{team}/study?study=kitchen-sink")
    control = tab.locator('[data-ctl="recording"]')
    expect(tab.locator(".as-claim")).to_have_count(5)
    control.locator("input[type=file]").set_input_files(tmp_path / "one.csv")
    expect(tab).to_have_url(re.compile(r"recording=sha256"))
    expect(control.locator("input.as-field")).to_have_value(re.compile(r"^sha256:[0-9a-f]{64}$"))
    expect(control.locator(".help")).to_contain_text("one.csv")
    first = control.locator("input.as-field").input_value()

    control.locator("input[type=file]").set_input_files([tmp_path / "one.csv", tmp_path / "two.csv"])
    expect(control.locator("input.as-field")).not_to_have_value(first)
    expect(control.locator(".help")).to_contain_text("one and 1 more")
    both = control.locator("input.as-field").input_value()

    with tab.expect_response(lambda answer: "api/uploads" in answer.url) as answered:
        control.locator("input[type=file]").set_input_files(tmp_path / "two.csv")
    assert answered.value.status == 201
    tab.get_by_role("button", name="Undo").click()
    expect(control.locator("input.as-field")).to_have_value(both)


def test_a_viewer_is_told_why_nothing_can_be_run(tab, team):
    enter(tab, team, "vic")
    tab.goto(f"{team}/study?study=kitchen-sink")
    expect(tab.locator(".as-claim")).to_have_count(5)
    for name in ("Run Climb the wave", "Sweep Amplitude", "Choose files"):
        button = tab.get_by_role("button", name=name).first
        expect(button).to_be_disabled()
        expect(button).to_have_attribute("title", re.compile("needs the role of runner"))
    expect(tab.locator(".st-may")).to_contain_text("Viewers look at results")
    tab.goto(f"{team}/notebooks/dynamics/lif_frequency_matching/")
    expect(tab.get_by_text("Viewers look at results").first).to_be_visible()
    expect(tab.get_by_role("button", name="Train over β").first).to_be_disabled()
    expect(tab.locator(".js-plotly-plot .scatterlayer").first).to_be_visible()
