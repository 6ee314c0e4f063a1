"""The story of a leaderboard in a browser: the line names whom it leaves out, and another method takes them in."""

import re

import pytest
from playwright.sync_api import expect
from study_tab import enter, title

pytestmark = pytest.mark.browser


def test_the_line_names_whom_it_leaves_out_and_rows_jump(tab, server):
    tab.goto(f"{server}/study?study=pluralistic-leaderboards")
    hero = title(tab, "leaderboard")
    expect(hero).to_have_text(re.compile(r"22\s% would swap everything above the line for model 16; 1/6 is 16\.7\s%"))
    expect(tab.locator('[data-view="wronged"]')).to_contain_text("most wronged model")
    enter(tab, "cut", "1")
    expect(hero).to_have_text(re.compile(r"1/1 is 100\s%"))
    enter(tab, "cut", "6")
    tab.locator('[data-ctl="method"] select').select_option("monotone")
    expect(hero).to_have_text(re.compile(r"^At most [\d.]+\s% would swap everything above the line"))
    tab.get_by_role("tab", name="Jumps", exact=True).click()
    expect(title(tab, "jumps")).to_have_text(re.compile(r"\d of the top 6 change when Bradley–Terry gives way"))


def test_a_click_on_a_row_puts_the_line_there(tab, server):
    tab.goto(f"{server}/study?study=pluralistic-leaderboards")
    expect(title(tab, "leaderboard")).to_have_text(re.compile("1/6 is"))
    bar = tab.locator('[data-view="leaderboard"] .bars .point path').nth(2)
    box = bar.bounding_box()
    assert box is not None
    tab.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(tab.locator("#as-c-cut")).to_have_value("3")
    expect(title(tab, "leaderboard")).to_have_text(re.compile(r"1/3 is 33\.3\s%"))


def test_bad_votes_are_refused_in_a_sentence_and_good_ones_are_shown(tab, server, tmp_path):
    (tmp_path / "bad.csv").write_text("model_a,model_b,winner\np,q,a\nq,q,b\n")
    (tmp_path / "good.soc").write_text("# NUMBER ALTERNATIVES: 3\n60: 1,2,3\n40: 3,1,2\n")
    tab.goto(f"{server}/study?study=pluralistic-leaderboards")
    votes = tab.locator('[data-ctl="votes"]')
    expect(title(tab, "leaderboard")).to_have_text(re.compile("model 16"))
    votes.locator("input[type=file]").set_input_files(tmp_path / "bad.csv")
    expect(tab.locator("body")).to_contain_text("q meets itself in row 2; expected two different models")
    votes.locator("input[type=file]").set_input_files(tmp_path / "good.soc")
    expect(title(tab, "leaderboard")).to_have_text(re.compile("would swap"))


def test_the_line_follows_the_hand_and_a_drag_is_one_step_to_undo(tab, server):
    tab.goto(f"{server}/study?study=pluralistic-leaderboards")
    expect(title(tab, "leaderboard")).to_have_text(re.compile("1/6 is"))
    line = tab.locator('[data-view="leaderboard"] .shapelayer path').first.bounding_box()
    bars = tab.locator('[data-view="leaderboard"] .bars').first.locator(".point path")
    second = bars.nth(1).bounding_box()
    assert line is not None
    assert second is not None
    x = line["x"] + 0.8 * line["width"]
    tab.mouse.move(x, line["y"] + line["height"] / 2)
    expect(tab.locator('[data-view="leaderboard"] .as-plot--ns')).to_be_visible()
    tab.mouse.down()
    for step in (1 / 3, 2 / 3, 1):
        goal = second["y"] + 1.1 * second["height"]
        tab.mouse.move(x, line["y"] + step * (goal - line["y"]))
    tab.mouse.up()
    expect(tab.locator("#as-c-cut")).to_have_value("2")
    expect(title(tab, "leaderboard")).to_have_text(re.compile(r"1/2 is 50\s%"))
    tab.get_by_role("button", name="Undo").click()
    expect(tab.locator("#as-c-cut")).to_have_value("6")
