"""The story of latent thoughts in a browser: a triangle of jumps folds into one line; a word of one's own."""

import re

import pytest
from playwright.sync_api import expect
from study_tab import enter, title

pytestmark = pytest.mark.browser


def test_a_triangle_of_jumps_folds_into_one_line(tab, server):
    tab.goto(f"{server}/study?study=latent-cot")
    expect(title(tab, "strip")).to_have_text(re.compile(r"Every step matters as much as any other: 9\d\s% to 9"))
    matrix = title(tab, "influence_matrix")
    expect(matrix).to_have_text("Total effects: locality 0.47, if all equal 0.50; it looks like long-range jumps")
    tab.locator('[data-ctl="effect"] select').select_option("direct")
    expect(matrix).to_have_text("Direct effects: each step acts on the next alone, locality 1.00")
    expect(title(tab, "scores")).to_have_text(re.compile("Locality 1.00, span 1.00 steps"))


def test_a_step_that_is_chosen_changes_what_comes_after_it(tab, server):
    tab.goto(f"{server}/study?study=latent-cot")
    below = tab.locator('[data-view="strip"] .sub')
    expect(below).to_contain_text("before and after at step 1: 4 of the 4 after it change")
    enter(tab, "step", "3")
    expect(below).to_contain_text(re.compile(r"before and after at step 3: \d of the 2 after it change"))


def test_a_prompt_of_ones_own_is_answered_or_refused(tab, server):
    tab.goto(f"{server}/study?study=latent-cot")
    field = tab.locator("#as-c-word")
    field.fill("4321 2134 1342 3412 4123 1243")
    field.press("Enter")
    expect(tab.locator('[data-view="strip"] .sub')).to_contain_text("4321 2134 1342 3412 4123 1243")
    field.fill("4321 2134")
    field.press("Enter")
    expect(tab.get_by_role("alert").first).to_contain_text("expected")
