"""The notebook of the study: it runs at `quick`, and says what it found."""

import importlib.util
import json

import pytest

from workbench.places import notebooks_folder

FOLDER = notebooks_folder() / "dynamics"
NOTEBOOK = FOLDER / "lif_frequency_matching.py"


@pytest.mark.slow
def test_it_runs_at_quick_and_its_values_can_be_read(fresh_home):
    spec = importlib.util.spec_from_file_location("lif_notebook", NOTEBOOK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    outputs, values = module.app.run(
        defs={"controls": {"source": "sample:synthetic-low", "beta": 0.6}, "preset": "quick", "seed": 1}
    )
    here = values["here"]
    session = here.page.session
    session.runner.close()
    assert session.value("beta") == 0.6 and session.value("seed") == 1 and session.preset == "quick"
    assert set(here.results) == set(session.study.experiments)
    assert all(result.complete for result in here.results.values())
    assert len(here.judgements()) == len(session.study.claims)
    assert str(here.judgement("1a").verdict) == "holds"
    shown = "".join(getattr(output, "text", "") or "" for output in outputs)
    assert "At β = 0.6 the filter keeps" in shown and "Traceback" not in shown


@pytest.mark.parametrize("name", ["radhar", "synthetic_low"])
def test_the_kept_verdicts_are_of_every_claim_as_it_stands(name):
    from workbench.registry import registry

    study = registry().get("lif-frequency-matching")
    kept = json.loads((FOLDER / "verdicts" / f"lif_frequency_matching-{name}.json").read_text("utf-8"))
    assert kept["study"] == study.slug and kept["preset"] == "standard"
    assert [claim["id"] for claim in kept["claims"]] == [str(id) for id in study.claims]
    for claim in kept["claims"]:
        stands = study.claims[claim["id"]]
        assert claim["sentence"] == stands.sentence
        assert claim["expected"] == (stands.expects.words if stands.expects else None)
        assert claim["verdict"] != "not judged"
