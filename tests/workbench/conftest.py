"""Fixtures of the workbench's tests."""

import shutil
import sys
from pathlib import Path

import pytest

STUDIES = Path(__file__).parent.parent / "studies"
sys.path.append(str(Path(__file__).parent))  # for what several tests share


@pytest.fixture
def kitchen(monkeypatch, tmp_path):
    """The kitchen-sink study is registered, and this test has an empty home of its own."""
    monkeypatch.setenv("ASSAY_STUDIES", str(STUDIES))
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    """One runner without a store for the tests of a file, which share its worker."""
    from workbench.runner import Runner

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_STUDIES", str(STUDIES))
        patch.setenv("ASSAY_HOME", str(tmp_path_factory.mktemp("home")))
        runner = Runner(None)
        yield runner
        runner.close()


@pytest.fixture(scope="session")
def database(tmp_path_factory):
    """MLflow's tables, made once: that takes seconds."""
    from workbench.store_tracking import make_database

    place = tmp_path_factory.mktemp("database") / "mlflow.db"
    make_database(place)
    return place


@pytest.fixture
def fresh_store(database, tmp_path):
    """An empty store in a folder of its own."""
    from workbench.store import Store

    (tmp_path / "store").mkdir()
    shutil.copyfile(database, tmp_path / "store" / "mlflow.db")
    return Store(tmp_path / "store")


@pytest.fixture(scope="session")
def small_runs():
    """What makes small runs, for tests in folders below this one."""
    import small_runs

    return small_runs
