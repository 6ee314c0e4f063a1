"""The notebook of the study: it runs at `quick`, and says what it found."""

import pytest


@pytest.mark.slow  # the report of each study runs its notebook too
def test_it_runs_at_quick_and_its_values_can_be_read(run_at_quick):
    here, shown = run_at_quick("dynamics/ssm_stability.py", grade="conditional")
    assert here.page.session.value("grade") == "conditional"
    assert str(here.judgement("2b").verdict) == "holds" and str(here.judgement("2c").verdict) == "fails"
    assert "Given the data: the bound lies" in shown and "no dot above it" in shown
