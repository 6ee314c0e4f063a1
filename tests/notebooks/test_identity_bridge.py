"""The notebook of the study: it runs at `quick`, and says what it found."""

import pytest


@pytest.mark.slow  # the report of each study runs its notebook too
def test_it_runs_at_quick_and_its_values_can_be_read(run_at_quick):
    here, shown = run_at_quick("language/identity_bridge.py", form="idn", moment=1.0)
    assert here.page.session.value("form") == "idn"
    assert str(here.judgement("2b").verdict) == "holds"
    assert "but the model echoes" in shown
