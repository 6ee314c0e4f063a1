"""The story of a neuron's tree in a browser: threads fold its schedule down to the depth wall; a cell of one's own."""

import pytest
from playwright.sync_api import expect
from study_tab import enter, title

pytestmark = pytest.mark.browser

STICK = """# a soma and two branches
1 1 0 0 0 8 -1
2 3 40 0 0 1 1
3 3 80 0 0 1 2
4 3 40 40 0 1 1
"""


def test_threads_fold_the_schedule_down_to_the_depth_wall(tab, server):
    tab.goto(f"{server}/study?study=heliox")
    hero = title(tab, "gantt")
    expect(hero).to_have_text("8 threads take 61 rounds for 455 nodes; the depth wall is 51")
    tab.get_by_role("slider", name="Threads").first.focus()
    tab.keyboard.press("End")
    expect(hero).to_have_text("32 threads reach the depth wall: 51 rounds, one for each node on the longest branch")
    tab.keyboard.press("Home")
    expect(hero).to_have_text("1 thread takes 455 rounds for 455 nodes; the depth wall is 51")


def test_a_neuron_of_ones_own_is_read_and_a_broken_one_refused(tab, server, tmp_path):
    (tmp_path / "good.swc").write_text(STICK)
    (tmp_path / "bad.swc").write_text(STICK + "5 3 9 9 9 1 77\n")
    tab.goto(f"{server}/study?study=heliox")
    hero = title(tab, "gantt")
    expect(hero).to_contain_text("455 nodes")
    chosen = tab.locator('[data-ctl="neuron"] input[type=file]')
    chosen.set_input_files(tmp_path / "bad.swc")
    expect(tab.locator("body")).to_contain_text("77")
    chosen.set_input_files(tmp_path / "good.swc")
    expect(hero).not_to_contain_text("455 nodes")
    enter(tab, "threads", "2")
    expect(hero).to_contain_text("2 threads")
