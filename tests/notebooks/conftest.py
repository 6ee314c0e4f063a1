"""What tests of notebooks share: a run at `quick`, with what holds for every notebook."""

import importlib.util

import pytest

from workbench.places import notebooks_folder


@pytest.fixture
def run_at_quick(fresh_home):
    """Runs a study's notebook at `quick` with seed 1 and some controls; gives its last `here`, and what it showed."""

    def run(place, **controls):
        path = notebooks_folder() / place
        spec = importlib.util.spec_from_file_location(f"{path.stem}_notebook", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        outputs, values = module.app.run(defs={"controls": controls, "preset": "quick", "seed": 1})
        here = values["here"]
        session = here.page.session
        session.runner.close()
        assert session.preset == "quick" and session.value("seed") == 1
        assert set(here.results) == set(session.study.experiments)
        assert all(result.complete for result in here.results.values())
        assert len(here.judgements()) == len(session.study.claims)
        shown = "".join(getattr(output, "text", "") or "" for output in outputs)
        assert "Traceback" not in shown
        return here, shown

    return run
