"""What is shipped: small, licensed, made by its command; the same recordings as the whole set."""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest

from assay.data import InputError, content_sha256, sample, sample_version, samples
from assay.data.make_radhar_sample import main
from assay.data.shipped import RADHAR_SAMPLE, SEED
from assay.dynamics import discriminative_spectrum, spectral_quantile

FOLDER = RADHAR_SAMPLE.parent
PROVENANCE = json.loads((FOLDER / "provenance.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def radhar():
    return sample("radhar")


def test_the_sample_is_small_and_has_licence_and_provenance():
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) <= 2_000_000
    licence = (FOLDER / "LICENSE").read_text(encoding="utf-8")
    assert "BSD 3-Clause" in licence
    assert "Redistributions of source code must retain" in licence
    assert PROVENANCE["licence"] == "BSD-3-Clause"
    assert "github.com/nesl/RadHAR" in PROVENANCE["source"]
    assert PROVENANCE["command"] in (FOLDER / "README.md").read_text(encoding="utf-8")
    sha256 = hashlib.sha256(RADHAR_SAMPLE.read_bytes()).hexdigest()
    assert PROVENANCE["sha256"] == {"radhar.npz": sha256}
    assert sample_version("radhar") == sha256 == content_sha256(RADHAR_SAMPLE)


def test_the_sample_holds_what_its_provenance_counts(radhar):
    assert len(radhar.group_names) == PROVENANCE["recordings"] == 186
    assert len(radhar.clock.time_s) == PROVENANCE["frames"] == 111_902
    counts = {entry.rule.split(":")[0]: (entry.count, entry.of) for entry in radhar.handled}
    points = PROVENANCE["points"]
    assert points["all"] == 1_641_362 + 716_109
    assert counts["range above 11.16 m or speed above 4.92 m/s"] == (points["impossible"], points["all"])
    assert counts["x below 0.3 m"] == (points["self-clutter"], points["all"])
    assert points["impossible"] == 2


def test_windows_and_split_are_the_official_ones(radhar):
    assert radhar.X.shape == (10_220, 60, 64)
    assert ((~radhar.is_test).sum(), radhar.is_test.sum()) == (7198, 3022)
    assert radhar.classes == ("boxing", "jack", "jump", "squats", "walk")
    assert not set(radhar.group[radhar.is_test]) & set(radhar.group[~radhar.is_test])
    names = np.array([name.split("/") for name in radhar.group_names])
    assert (names[radhar.group, 0] == np.where(radhar.is_test, "test", "train")).all()
    assert (names[radhar.group, 1] == np.array(radhar.classes)[radhar.y]).all()


def test_frames_come_in_pairs_at_thirty_a_second(radhar):
    steps = radhar.clock.steps_ms()
    assert radhar.fs == pytest.approx(30.03, abs=0.005)
    assert steps.min() >= 0
    assert ((steps > 5) & (steps < 20)).mean() < 0.01
    assert 0.4 < (steps < 10).mean() < 0.5
    assert np.median(steps[steps > 10]) == pytest.approx(58, abs=1)


def test_class_information_reaches_high_frequencies(radhar):
    """Half of it lies below 5 Hz for points a frame, near 7 Hz for speed; nine tenths near 13 of 15 Hz."""
    for part, half in ((slice(0, 32), 5.0), (slice(32, 64), 6.9)):
        found = discriminative_spectrum(radhar.X[:, :, part], radhar.y, 30.0)
        assert spectral_quantile(found.di_norm, found.frequency_hz, 0.5) == pytest.approx(half, abs=0.6)
        assert spectral_quantile(found.di_norm, found.frequency_hz, 0.9) == pytest.approx(13, abs=0.6)


def test_samples_are_listed_with_the_real_one_first(monkeypatch):
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    assert list(samples()) == ["radhar", "synthetic-low", "synthetic-high", "synthetic-none"]
    assert all(line.endswith(".") for line in samples().values())
    with pytest.raises(InputError) as caught:
        sample("radhar-full")
    assert str(caught.value) == (
        "sample: got 'radhar-full'; expected one of radhar, synthetic-low, synthetic-high, synthetic-none."
    )


def test_synthetic_samples_are_the_same_each_time_and_versions_differ():
    for variant in ("low", "high", "none"):
        one, two = sample(f"synthetic-{variant}"), sample(f"synthetic-{variant}")
        assert one.fingerprint == two.fingerprint
        assert one.truth.variant == variant
    assert len({sample_version(name) for name in samples()}) == len(samples())
    assert isinstance(SEED, int)


@pytest.mark.data
def test_the_command_makes_the_sample_again_byte_for_byte(tmp_path, capsys):
    target = tmp_path / "radhar.npz"
    assert main(["--from", str(Path(os.environ["ASSAY_DATA"]) / "radhar"), "--to", str(target)]) == 0
    assert "186 recordings" in capsys.readouterr().out
    assert target.read_bytes() == RADHAR_SAMPLE.read_bytes()
    for name in ("provenance.json", "LICENSE"):
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["LICENSE", "provenance.json", "radhar.npz"]


@pytest.mark.data
def test_the_sample_is_the_whole_set(radhar):
    whole = sample("radhar-full")
    np.testing.assert_array_equal(whole.X[:, :, :32], radhar.X[:, :, :32])
    np.testing.assert_allclose(whole.X[:, :, 32:], radhar.X[:, :, 32:], atol=1e-5)
    for name in ("y", "group", "is_test"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(radhar, name))
    assert (whole.group_names, whole.classes, whole.fs, whole.handled) == (
        radhar.group_names, radhar.classes, radhar.fs, radhar.handled
    )  # fmt: skip
    np.testing.assert_allclose(whole.clock.time_s, radhar.clock.time_s, atol=0.6e-4)


def test_the_command_says_what_is_wrong_and_leaves_nothing(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert main(["--from", str(tmp_path / "empty"), "--to", str(tmp_path / "out" / "a.npz")]) == 2
    assert capsys.readouterr().err == ("empty: holds no .txt log; expected folders of activities with RadHAR logs.\n")
    assert not (tmp_path / "out").exists()
