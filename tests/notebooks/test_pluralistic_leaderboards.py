"""The notebook of the study: it runs at `quick`, and says what it found."""

import pytest


@pytest.mark.slow  # the report of each study runs its notebook too
def test_it_runs_at_quick_and_its_values_can_be_read(run_at_quick):
    here, shown = run_at_quick("decisions/pluralistic_leaderboards.py", votes="sample:sixty-forty", cut=3)
    assert here.page.session.value("cut") == 3
    assert str(here.judgement("1a").verdict) == str(here.judgement("7a").verdict) == "holds"
    assert "would swap everything above the line for y" in shown
