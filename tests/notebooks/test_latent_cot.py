"""The notebook of the study: it runs at `quick`, and says what it found."""

import pytest


@pytest.mark.slow  # the report of each study runs its notebook too
def test_it_runs_at_quick_and_its_values_can_be_read(run_at_quick):
    here, shown = run_at_quick("language/latent_cot.py", effect="direct", step=2)
    assert here.page.session.value("effect") == "direct"
    assert str(here.judgement("1").verdict) == "fails"
    assert str(here.judgement("4c").verdict) == "holds"
    assert "each step acts on the next alone" in shown
