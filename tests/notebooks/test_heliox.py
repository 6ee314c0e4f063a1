"""The notebook of the study: it runs at `quick`, and says what it found."""

import pytest


@pytest.mark.slow  # the report of each study runs its notebook too
def test_it_runs_at_quick_and_its_values_can_be_read(run_at_quick):
    here, shown = run_at_quick("dynamics/heliox.py", neuron="sample:binary", threads=32)
    assert here.page.session.value("threads") == 32
    assert {str(here.judgement(id).verdict) for id in ("3a", "3d", "4a", "4b")} == {"holds"}
    assert "the depth wall is" in shown
