"""The notebook of the study: it runs at `quick`, and says what it found."""

import pytest


@pytest.mark.slow  # the report of each study runs its notebook too
def test_it_runs_at_quick_and_its_values_can_be_read(run_at_quick):
    here, shown = run_at_quick("efficient/sinq.py", bits="3", iterations=8)
    assert here.page.session.value("iterations") == 8
    assert str(here.judgement("3a").verdict) == "holds"
    assert "Squared error of weights" in shown
