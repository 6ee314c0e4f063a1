"""The notebook of the study: it runs at `quick`, and says what it found."""

import importlib.util

import pytest

from workbench.places import notebooks_folder

NOTEBOOK = notebooks_folder() / "language" / "latent_cot.py"


@pytest.mark.slow  # the report of each study runs its notebook too
def test_it_runs_at_quick_and_its_values_can_be_read(fresh_home):
    spec = importlib.util.spec_from_file_location("latent_cot_notebook", NOTEBOOK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    outputs, values = module.app.run(defs={"controls": {"effect": "direct", "step": 2}, "preset": "quick", "seed": 1})
    here = values["here"]
    session = here.page.session
    session.runner.close()
    assert session.value("effect") == "direct" and session.preset == "quick"
    assert set(here.results) == set(session.study.experiments)
    assert all(result.complete for result in here.results.values())
    assert len(here.judgements()) == len(session.study.claims)
    assert str(here.judgement("1").verdict) == "fails"
    assert str(here.judgement("4c").verdict) == "holds"
    shown = "".join(getattr(output, "text", "") or "" for output in outputs)
    assert "each step acts on the next alone" in shown and "Traceback" not in shown
