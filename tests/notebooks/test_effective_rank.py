"""The notebook of the study: it runs at `quick`, and says what it found."""

import pytest


@pytest.mark.slow
def test_it_runs_at_quick_and_its_values_can_be_read(run_at_quick):
    here, shown = run_at_quick("geometry/effective_rank.py", move=1.0)
    assert here.page.session.value("move") == 1.0
    assert str(here.judgement("G").verdict) == "holds"
    assert "The same text at every gauge" in shown
