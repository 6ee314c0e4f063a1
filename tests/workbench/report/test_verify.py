"""`assay verify`: an untouched report is the same, an edited one is caught and named, and nothing kept can answer."""

import json
import os
import random
import shutil
from pathlib import Path

import pytest

from workbench.batch import RunFailed
from workbench.cli import main
from workbench.comparison import Word
from workbench.controls import ControlError
from workbench.registry import UnknownStudy, registry
from workbench.report import verify as verifying
from workbench.report.inputs import find_inputs, values_of
from workbench.report.manifest import read_manifest, seal_html
from workbench.report.manifest_schema import UNSEALED, Manifest
from workbench.report.rerun import rerun
from workbench.report.stale import alike, changes_between, check_report
from workbench.report.verify import Asked, Part, allowed_environment, experiments_of, verify_report

KITCHEN = Path(__file__).parents[2] / "studies"


def page(manifest):
    """A report that is its manifest alone."""
    text = json.dumps({**manifest, "seal": UNSEALED}, ensure_ascii=False, separators=(",", ":"))
    script = text.replace("<", "\\u003c")
    return seal_html(f'<title>r</title><script type="application/json" id="assay-manifest">{script}</script>'.encode())


def made(folder, **values):
    """The manifest of the kitchen sink at quick, as its report would hold it."""
    order = {"study": "kitchen-sink", "values": values, "preset": "quick", "device": "cpu", "told": False,
             "experiments": ["climb", "repeats"], "settings": None}  # fmt: skip
    folder.mkdir(exist_ok=True)
    return rerun(order, lambda message: None, folder)


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    """A manifest of the kitchen sink; another process makes it again under `again`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_STUDIES", str(KITCHEN))
        patch.setenv("ASSAY_HOME", str(tmp_path_factory.mktemp("home")))
        return made(tmp_path_factory.mktemp("made"))


@pytest.fixture
def report(kitchen, manifest, tmp_path):
    """An untouched report."""
    path = tmp_path / "report.html"
    path.write_bytes(page(manifest))
    return path


@pytest.fixture
def again(monkeypatch, manifest):
    """What a clean process gives, without one: what the report's own process gave. Yields the orders it got."""
    orders = []

    def run(_, order, *__):
        orders.append(order)
        return Manifest.model_validate(manifest)

    monkeypatch.setattr(verifying, "run_again", run)
    return orders


def edited(manifest, **values):
    """The manifest with other values of some quantities, by name."""
    left = dict(values["to"])
    written = [{**q, "value": left.pop(q["name"])} if q["name"] in left else q for q in manifest["quantities"]]
    assert not left
    return {**manifest, "quantities": written}


@pytest.mark.slow
def test_an_untouched_report_is_the_same_and_nothing_of_the_user_s_is_read_or_written(report, tmp_path):
    home = Path(os.environ["ASSAY_HOME"])
    said = []
    found = verify_report(report, on_progress=lambda what, fraction: said.append(fraction))
    assert found.status == 0 and found.alike and found.words == "verified" and not found.changes
    assert {one.word for one in found.judged if one.quantity.kind != "timing"} == {Word.SAME}
    assert sum(one.quantity.kind == "timing" for one in found.judged) == 5
    assert said == sorted(said) and said
    assert not (home / "runs").exists() and not (home / "mlflow.db").exists()
    json.dumps(found.as_json(), allow_nan=False)


def test_any_number_that_is_changed_by_twice_its_tolerance_is_caught_and_named(report, manifest, again):
    """Whoever edits a number can seal the file again; making the number again finds it."""
    wanted = {}
    for q in Manifest.model_validate(manifest).named:
        value = q.value
        if q.kind == "timing" or value is None:
            continue
        first = value[0] if isinstance(value, list) else value
        if isinstance(first, str):
            other = f"{first} more"
        elif q.kind == "exact" or (q.kind == "statistical" and q.interval is None):
            other = first + 1
        elif q.interval is not None:
            other = first + 2 * (q.interval[1] - q.interval[0])
        else:
            other = first + 2 * (q.atol + q.rtol * abs(first)) if q.atol + q.rtol * abs(first) else first + 1e-12
        wanted[q.name] = [other, *value[1:]] if isinstance(value, list) else other
    assert len(wanted) > 60
    report.write_bytes(page(edited(manifest, to=wanted)))
    found = verify_report(report)
    assert found.status == 1
    assert {one.quantity.name for one in found.judged if one.word is Word.DRIFT} == set(wanted)


@pytest.mark.parametrize("name", ["climb/heights/height[step=3]", "claim/3/estimate", "view/curve/data[0]/y/sample"])
def test_one_edited_number_is_the_only_one_that_drifts(report, manifest, again, name, capsys):
    value = next(q["value"] for q in manifest["quantities"] if q["name"] == name)
    other = [*value[:-1], value[-1] + 1.0] if isinstance(value, list) else value + 400.0
    report.write_bytes(page(edited(manifest, to={name: other})))
    with pytest.raises(SystemExit) as ended:
        main(["verify", str(report), "--json"])
    data = json.loads(capsys.readouterr().out)
    assert ended.value.code == data["exit"] == 1 and data["outcome"] == "not the same"
    assert [q["name"] for q in data["quantities"] if q["word"] == "drift"] == [name]
    assert data["counts"]["drift"] == 1 and data["same_numeric_environment"]


def test_a_quantity_that_was_taken_out_or_put_in_is_missing(report, manifest, again):
    quantities = manifest["quantities"]
    report.write_bytes(page({**manifest, "quantities": [q for q in quantities if q["name"] != "claim/2/verdict"]}))
    found = verify_report(report)
    assert found.status == 1
    assert [one.quantity.name for one in found.judged if one.word is Word.MISSING] == ["claim/2/verdict"]
    invented = {**quantities[0], "name": "claim/9/estimate"}
    report.write_bytes(page({**manifest, "quantities": [*quantities, invented]}))
    found = verify_report(report)
    assert [one.quantity.name for one in found.judged if one.word is Word.MISSING] == ["claim/9/estimate"]


def test_a_broken_seal_is_found_before_anything_runs(report, again, capsys):
    content = report.read_bytes()
    report.write_bytes(content.replace(b"The wave reaches 1.00 V", b"The wave reaches 2.00 V"))
    for arguments in (["verify", str(report)], ["verify", str(report), "--check"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 2 and "seal is broken" in capsys.readouterr().err
    assert again == []


def test_exit_statuses_and_what_is_said(report, again, capsys):
    for arguments, status in ((["--only", "claim/1"], 3), (["--sample", "3"], 3), ([], 0), (["--check"], 0),
                              (["--preset", "quick"], 0), (["--only", "nothing"], 2), (["--sample", "0"], 2),
                              (["--preset", "huge"], 2), (["--check", "--only", "climb"], 2), (["--input", "/none"], 2),
                              (["--time-limit", "soon"], 2)):  # fmt: skip
        with pytest.raises(SystemExit) as ended:
            main(["verify", str(report), *arguments])
        out, err = capsys.readouterr()
        assert ended.value.code == status, (arguments, out, err)
        assert len(err.splitlines()) == (status == 2)
        assert ("partly verified" in out) == (status == 3)


def test_the_study_is_looked_up_by_its_name_alone(report, manifest, capsys, monkeypatch):
    report.write_bytes(page({**manifest, "study": {**manifest["study"], "slug": "../../etc/passwd"}}))
    with pytest.raises(UnknownStudy):
        verify_report(report)
    monkeypatch.delenv("ASSAY_STUDIES")
    with pytest.raises(SystemExit) as ended:
        main(["verify", str(report), "--json"])
    out, err = capsys.readouterr()
    assert ended.value.code == 2 and "got '../../etc/passwd'" in err and json.loads(out)["exit"] == 2


def test_controls_pass_the_study_s_own_checks(report, manifest):
    study = manifest["study"]
    report.write_bytes(page({**manifest, "study": {**study, "controls": {**study["controls"], "gone": "1"}}}))
    with pytest.raises(ControlError, match="no such control any more"):
        verify_report(report)


@pytest.mark.slow
def test_an_experiment_that_fails_when_it_is_run_again_is_one_sentence(report, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "studies" / "kitchen"
    folder.mkdir(parents=True)
    source = (KITCHEN / "kitchen" / "kitchen_sink.py").read_text()
    (folder / "kitchen_sink.py").write_text(source.replace('rng = run.rng("climb")', 'raise RuntimeError("no ladder")'))
    monkeypatch.setenv("ASSAY_STUDIES", str(tmp_path / "studies"))
    before = report.read_bytes()
    with pytest.raises(SystemExit) as ended:
        main(["verify", str(report)])
    err = capsys.readouterr().err
    assert ended.value.code == 2
    assert "“Climb the wave” failed when it was run again: RuntimeError: no ladder." in err.splitlines()[-1]
    assert report.read_bytes() == before


@pytest.mark.slow
def test_what_takes_too_long_is_given_up(report):
    with pytest.raises(RunFailed, match="took more than"):
        verify_report(report, seconds=0.5)


def test_only_what_is_needed_is_run(kitchen, manifest):
    found, study = Manifest.model_validate(manifest), registry().get("kitchen-sink")

    def needed(*names):
        return experiments_of(Part.of(found, study, Asked(only=names)), study, found)

    assert needed("claim/1") == needed("view/curve") == []
    assert needed("climb/heights") == needed("view/progress") == needed("claim/2/estimate") == ["climb"]
    assert needed("claim/3") == needed("repeats/means/mean[seed=0]") == ["climb", "repeats"]
    assert experiments_of(Part(), study, found) == ["climb", "repeats"]
    some = Part.of(found, study, Asked(sample=4))
    assert len(some.names) == 4 and "4 of 75 quantities" in some.words
    both = Part.of(found, study, Asked(only=("claim",), sample=2))
    assert len(both.names) == 2 and all(name.startswith("claim/") for name in both.names)


def test_another_preset_compares_what_does_not_follow_it_and_claims_by_their_intervals(
    report, manifest, monkeypatch, tmp_path
):
    other = made(tmp_path / "other", seeds="3", steps="6", pause="0.0")
    standard = {**other, "study": {**other["study"], "preset": "standard"}}
    orders = []

    def run(_, order, *__):
        orders.append(order)
        return Manifest.model_validate(standard)

    monkeypatch.setattr(verifying, "run_again", run)
    found = verify_report(report, Asked(preset="standard"))
    assert orders[0]["preset"] == "standard"
    assert not {"seeds", "steps", "pause"} & orders[0]["values"].keys() and orders[0]["values"]["amplitude"] == "1.0"
    assert found.status in (1, 3) and "at standard, the report is at quick" in found.partly
    words = {one.quantity.name: one for one in found.judged}
    assert words["view/curve/data[0]/y/sample"].word is Word.SAME
    assert words["climb/heights/rows"].word is Word.NOT_COMPARABLE and "follows the preset" in words["climb/digest"].why
    assert words["claim/3/estimate"].word in (Word.WITHIN, Word.DRIFT)
    assert words["claim/4/estimate"].word is Word.SAME


# inputs


def test_an_input_is_found_by_its_hash_wherever_it_lies_now_or_asked_for(kitchen, tmp_path, monkeypatch):
    data = tmp_path / "wave.bin"
    data.write_bytes(b"recording")
    found = Manifest.model_validate(made(tmp_path / "made", recording=str(data)))
    (one,) = found.inputs
    assert (one.control, one.name, one.reference) == ("recording", "wave.bin", f"sha256:{one.sha256}")
    assert str(tmp_path) not in found.model_dump_json()
    study = registry().get("kitchen-sink")

    elsewhere = tmp_path / "data" / "deep"
    elsewhere.mkdir(parents=True)
    data.rename(elsewhere / "renamed.bin")
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    (lost,) = find_inputs(found)
    assert one.sha256 in lost.missing and "wave.bin" in lost.missing and "--input PATH" in lost.missing
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "data"))
    (here,) = find_inputs(found)
    assert Path(here.reference) == (elsewhere / "renamed.bin").resolve() and not here.missing
    monkeypatch.delenv("ASSAY_DATA")
    named = find_inputs(found, [elsewhere / "renamed.bin"])
    assert values_of(study, found, named)["recording"] == str(elsewhere / "renamed.bin")
    (elsewhere / "renamed.bin").write_bytes(b"something else")
    with pytest.raises(ControlError, match=r"input: got renamed\.bin with SHA-256"):
        find_inputs(found, [elsewhere / "renamed.bin"])


def test_without_its_input_a_report_is_refused_and_the_input_asked_for(kitchen, tmp_path, capsys, monkeypatch):
    data = tmp_path / "wave.bin"
    data.write_bytes(b"recording")
    path = tmp_path / "report.html"
    path.write_bytes(page(made(tmp_path / "made", recording=str(data))))
    data.unlink()
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(["verify", str(path)])
    err = capsys.readouterr().err
    assert ended.value.code == 2 and "wave.bin (SHA-256" in err and len(err.splitlines()) == 1
    with pytest.raises(SystemExit) as ended:
        main(["verify", str(path), "--check"])
    assert ended.value.code == 1 and "not on this machine" in " ".join(capsys.readouterr().out.split())


# what moved


def test_a_report_is_stale_when_code_data_terms_or_packages_moved(kitchen, manifest):
    def check(**changed):
        return check_report(Manifest.model_validate({**manifest, **changed}))

    assert not check().stale
    code, study = manifest["code"], manifest["study"]
    for changed, part in (
        ({"code": {**code, "members": {**code["members"], "climb": "0" * 64}}}, "code"),
        ({"code": {**code, "members": {**code["members"], "gone": "0" * 64}}}, "code"),
        ({"code": {**code, "modules": {**code["modules"], "kitchen-sink/kitchen_sink.py": "1" * 64}}}, "code"),
        ({"study": {**study, "terms": "2" * 64}}, "code"),
        ({"inputs": [{**manifest["inputs"][0], "sha256": "3" * 64}]}, "data"),
        ({"environments": [{**e, "versions": {**e["versions"], "numpy": "1.0"}} for e in manifest["environments"]]},
         "packages"),
    ):  # fmt: skip
        found = check(**changed)
        assert found.stale and {change.part for change in found.changes} == {part}
    elsewhere = [{**e, "cpu": "AVX-1024", "processor": "Abacus"} for e in manifest["environments"]]
    moved = check(environments=elsewhere)
    assert not moved.stale and {change.name for change in moved.aside} == {"cpu", "processor"}


def test_checking_runs_nothing(report, monkeypatch):
    monkeypatch.setattr(verifying, "run_again", lambda *_: pytest.fail("it ran"))
    monkeypatch.setattr("workbench.snapshot.Snapshot.perform", lambda *_: pytest.fail("it ran"))
    assert not check_report(read_manifest(report)).stale


def test_elsewhere_digests_are_not_comparable_and_the_machine_is_named(report, manifest, again):
    elsewhere = [{**e, "cpu": "AVX-1024"} for e in manifest["environments"]]
    digests = {q["name"]: "0" * 64 for q in manifest["quantities"] if q["name"].endswith("/digest")}
    report.write_bytes(page({**edited(manifest, to=digests), "environments": elsewhere}))
    found = verify_report(report)
    assert not found.alike and found.status == 0
    assert {one.quantity.name for one in found.judged if one.word is Word.NOT_COMPARABLE} - {
        one.quantity.name for one in found.judged if one.quantity.kind == "timing"
    } == set(digests)
    assert [(c.part, c.name, c.values[0]) for c in found.changes] == [("environment", "cpu", "AVX-1024")]


def test_what_two_manifests_differ_in_is_named(manifest):
    then = Manifest.model_validate(manifest)
    assert alike(then, then) and changes_between(then, then) == []
    threads = Manifest.model_validate(
        {**manifest, "environments": [{**e, "threads": 2} for e in manifest["environments"]]}
    )  # fmt: skip
    assert not alike(then, threads) and [c.name for c in changes_between(threads, then)] == ["threads"]
    stage = {**manifest["runs"]["climb"], "kernels": {"lif": ["cpu"]}}
    run = {**stage, "kernels": {"lif": ["gpu"]}}
    one, other = (Manifest.model_validate({**manifest, "runs": {"climb": r}}) for r in (stage, run))
    assert [(c.name, c.values) for c in changes_between(one, other)] == [("lif", ("cpu", "gpu"))]


def test_the_clean_process_gets_an_allow_list_and_the_report_s_threads(manifest, monkeypatch, tmp_path):
    monkeypatch.setenv("SECRET_TOKEN", "x")
    monkeypatch.setenv("ASSAY_STORE", "http://elsewhere")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    found = allowed_environment(Manifest.model_validate(manifest), tmp_path)
    assert found["OMP_NUM_THREADS"] == "1" and found["ASSAY_HOME"] == str(tmp_path) and found["PYTHONHASHSEED"] == "0"
    assert not {"SECRET_TOKEN", "ASSAY_STORE"} & found.keys()
    many = {**manifest, "environments": [{**e, "threads": 4000} for e in manifest["environments"]]}
    assert allowed_environment(Manifest.model_validate(many), tmp_path)["MKL_NUM_THREADS"] == "256"


def test_a_sample_is_drawn_anew_each_time(kitchen, manifest):
    found, study = Manifest.model_validate(manifest), registry().get("kitchen-sink")
    random.seed(0)
    drawn = {Part.of(found, study, Asked(sample=5)).names for _ in range(5)}
    assert len(drawn) > 1


def test_a_folder_of_one_s_own_is_left_as_it_is(report, again):
    before = sorted(p.name for p in report.parent.iterdir())
    verify_report(report)
    assert sorted(p.name for p in report.parent.iterdir()) == before
    shutil.rmtree(report.parent, ignore_errors=True)
