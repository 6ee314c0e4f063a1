"""The notebook of the study: it runs at `quick`, and says what it found."""

import json

import pytest

from workbench.places import notebooks_folder

FOLDER = notebooks_folder() / "dynamics"


@pytest.mark.slow
def test_it_runs_at_quick_and_its_values_can_be_read(run_at_quick):
    here, shown = run_at_quick("dynamics/lif_frequency_matching.py", source="sample:synthetic-low", beta=0.6)
    assert here.page.session.value("beta") == 0.6
    assert str(here.judgement("1a").verdict) == "holds"
    assert "At β = 0.6 the filter keeps" in shown


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
