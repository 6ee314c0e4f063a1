"""Long tables, `.csv` and `.parquet`: round trips, irregular clocks, gaps, and a sentence for whatever does not fit."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.data import InputError, open_sequences
from assay.data.long_table import read_long_table

KINDS = ("csv", "parquet")


def write(table, path):
    table.to_parquet(path) if path.suffix == ".parquet" else table.to_csv(path, index=False)
    return path


def long_table(X, y, fs, group=None, sample_names=None):
    """The rows of (N, L, F) sequences."""
    samples, length, features = X.shape
    names = np.arange(samples) if sample_names is None else np.asarray(sample_names)
    columns = {
        "sample_id": np.repeat(names, length),
        "t": np.tile(np.arange(length) / fs, samples),
        "label": np.repeat(y, length),
    }
    if group is not None:
        columns["group"] = np.repeat(group, length)
    return pd.DataFrame(columns | {f"x{f}": X[:, :, f].ravel() for f in range(features)})


def small(samples=4, length=8, features=1, fs=10.0, **options):
    X = np.arange(samples * length * features, dtype=float).reshape(samples, length, features)
    return long_table(X, np.arange(samples) % 2, fs, **options)


def sentence_of(table, path, **options):
    with pytest.raises(InputError) as caught:
        open_sequences(write(table, path), **options)
    return str(caught.value)


def by_rule(sequences):
    return {entry.rule: (entry.action, entry.what, entry.count, entry.of) for entry in sequences.handled}


@settings(max_examples=25)
@given(
    kind=st.sampled_from(KINDS),
    samples=st.integers(4, 7),
    length=st.integers(8, 20),
    features=st.integers(1, 3),
    fs=st.floats(0.05, 5000),
    grouped=st.booleans(),
    text=st.booleans(),
    seed=st.integers(0, 99),
)
def test_round_trip_whatever_the_order_of_rows(
    tmp_path_factory, kind, samples, length, features, fs, grouped, text, seed
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, length, features))
    y = rng.permutation(np.arange(samples) % 2)
    labels = np.array(["walk", "jump, high"])[y] if text else y + 5
    group = rng.integers(3, size=samples) if grouped else None
    names = [f"s{i:02d}" for i in range(samples)] if text else None
    table = long_table(X, labels, fs, group, names).sample(frac=1, random_state=seed)
    read = open_sequences(write(table, tmp_path_factory.mktemp("long") / f"mine.{kind}"))
    np.testing.assert_array_equal(read.X, X)
    assert [read.classes[code] for code in read.y] == [str(label) for label in labels.tolist()]
    assert read.fs == pytest.approx(fs, rel=1e-9)
    assert (read.feature_names, read.has_groups, read.handled) == (
        tuple(f"x{f}" for f in range(features)), grouped, ()
    )  # fmt: skip
    if group is not None:
        assert [read.group_names[code] for code in read.group] == [str(g) for g in group.tolist()]
    np.testing.assert_allclose(
        read.clock.time_s.reshape(samples, length), np.tile(np.arange(length) / fs, (samples, 1))
    )


@settings(max_examples=15)
@given(kind=st.sampled_from(KINDS), jitter=st.floats(0.05, 0.4), seed=st.integers(0, 99))
def test_irregular_frames_are_refused_without_a_rate_and_put_on_its_clock_with_one(
    tmp_path_factory, kind, jitter, seed
):
    rng = np.random.default_rng(seed)
    table = small(length=12)
    inner = (table["t"] > 0) & (table["t"] < table["t"].max())  # ends stay, so that each sample has as many ticks
    table["t"] += inner * rng.choice([-jitter, jitter], size=len(table)) / 10
    path = write(table, tmp_path_factory.mktemp("jitter") / f"a.{kind}")
    with pytest.raises(InputError, match=r"^fs: t steps by .* ms; expected a regular clock, or a rate in Hz"):
        open_sequences(path)
    read = open_sequences(path, 10.0)
    np.testing.assert_array_equal(read.X.ravel(), table["x0"])
    assert read.handled == ()


def test_a_gap_is_filled_by_the_nearest_frame_and_counted(tmp_path):
    table = small(length=10)
    path = write(table[~table["t"].isin([0.4, 0.5])], tmp_path / "a.csv")
    read = open_sequences(path, 10.0)
    np.testing.assert_array_equal(read.X[0, :, 0], [0, 1, 2, 3, 3, 6, 6, 7, 8, 9])
    assert by_rule(read) == {"resampled to 10 Hz by the nearest frame": ("repeated", "frames", 8, 40)}


def test_a_slower_clock_drops_frames_and_counts_them(tmp_path):
    read = open_sequences(write(small(length=15), tmp_path / "a.csv"), 5.0)
    assert read.fs == 5.0
    np.testing.assert_array_equal(read.X[1, :, 0], np.arange(15, 30)[::2])
    assert by_rule(read) == {"resampled to 5 Hz by the nearest frame": ("dropped", "frames", 28, 60)}


def test_two_rows_at_one_time_are_merged_and_counted(tmp_path):
    table = small()
    twice = pd.concat([table, table.iloc[[3, 9]].assign(x0=-1.0)])
    read = open_sequences(write(twice, tmp_path / "a.csv"))
    np.testing.assert_array_equal(read.X[:, :, 0].ravel(), table["x0"])
    assert by_rule(read) == {"same sample and time: the first row is kept": ("merged", "rows", 2, 34)}


def test_samples_of_unequal_length_need_a_length(tmp_path):
    table = small(samples=6, length=12)
    table = table[~((table["sample_id"] == 4) & (table["t"] > 0.85))]
    assert sentence_of(table, tmp_path / "a.csv") == (
        "sample_id: samples have 9 (4) to 12 frames; expected the same number in each, or a length to cut to."
    )
    read = open_sequences(tmp_path / "a.csv", length=10)
    assert read.X.shape == (5, 10, 1)
    assert by_rule(read) == {
        "shorter than 10 frames": ("dropped", "samples", 1, 6),
        "beyond frame 10 of a sample": ("dropped", "frames", 10, 60),
    }
    assert sentence_of(table, tmp_path / "a.csv", length=13) == (
        "length: got 13 frames; expected at most 12, the longest sample."
    )
    for length in (0, -3, 7, True, 9.0):
        assert sentence_of(table, tmp_path / "a.csv", length=length) == (
            f"length: got {length!r}; expected a whole number of frames, at least 8."
        )


def test_dates_are_seconds(tmp_path):
    table = small()
    table["t"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(table["t"], unit="s")
    assert open_sequences(write(table, tmp_path / "a.parquet")).fs == pytest.approx(10.0)


def nth(table, row, column, value):
    changed = table.astype({column: object})
    changed.iloc[row, changed.columns.get_loc(column)] = value
    return changed.infer_objects()


BAD = {
    "columns: got sample_id, label, x0; expected also t.": lambda t: t.drop(columns="t"),
    "columns: got sample_id, t, label; expected also at least one feature column.": lambda t: t.drop(columns="x0"),
    "t: got text; expected seconds.": lambda t: t.assign(t="now"),
    "t: got 1 non-finite value; expected seconds.": lambda t: nth(t, 3, "t", np.nan),
    "t: got no two different times in any segment; expected a running clock.": lambda t: t.assign(t=1.0),
    "x0: got values that are not numbers; expected a feature column of numbers.": lambda t: t.assign(x0="much"),
    "x0: 2 non-finite values in rows 3, 5; expected finite values.": lambda t: nth(
        nth(t, 2, "x0", np.nan), 4, "x0", np.inf
    ),
    "label: missing in 1 row; expected a value in each.": lambda t: nth(t, 0, "label", None),
    "label: differs within sample 0; expected one for each sample.": lambda t: nth(t, 1, "label", 1),
    "y: has one class (0); expected at least 2.": lambda t: t.assign(label=0),
    "X: sequences have 5 frames; expected at least 8.": lambda t: t[t["t"] < 0.45],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sentence", BAD)
def test_bad_tables_are_named_in_one_sentence(tmp_path, kind, sentence):
    assert sentence_of(BAD[sentence](small()), tmp_path / f"a.{kind}") == sentence


def test_a_file_must_be_a_table(tmp_path):
    path = tmp_path / "a.csv"
    with pytest.raises(InputError, match=r"^a\.csv: no such file; expected a file of labelled sequences\.$"):
        open_sequences(path)
    path.touch()
    with pytest.raises(InputError, match=r"^a\.csv: is empty; expected labelled sequences\.$"):
        open_sequences(path)
    path.write_text("sample_id,t,label,x\n")
    with pytest.raises(InputError, match=r"^a\.csv: has no rows; expected one row for each frame\.$"):
        open_sequences(path)
    path.write_bytes(b"sample_id,t,label,x\n\xff\xfe\xfa,1,2,3\n")
    with pytest.raises(InputError, match=r"^a\.csv: is not UTF-8 text"):
        open_sequences(path)
    path.write_text('a,b\n1,"2\n3')
    with pytest.raises(InputError, match=r"^a\.csv: cannot be read as csv; expected a long table"):
        open_sequences(path)
    whole = write(small(), tmp_path / "a.parquet").read_bytes()
    for cut in (1, 50, len(whole) // 2, len(whole) - 1):
        (tmp_path / "a.parquet").write_bytes(whole[:cut])
        with pytest.raises(InputError, match=r"^a\.parquet: cannot be read as parquet; expected a long table"):
            open_sequences(tmp_path / "a.parquet")


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_too_large_is_refused(tmp_path, kind):
    path = write(small(samples=200), tmp_path / f"a.{kind}")
    with pytest.raises(InputError, match=rf"^a\.{kind}: (has|unpacks to) [\d,]+ bytes; expected at most 1,000\.$"):
        read_long_table(path, max_bytes=1000)


def test_a_constant_column_of_a_million_rows_counts_by_its_rows_not_by_its_file(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"sample_id": 0, "t": 0.0, "label": 0, "x": np.zeros(1_000_000)}).to_parquet(path)
    assert path.stat().st_size < 10_000_000
    with pytest.raises(InputError, match=r"^a\.parquet: unpacks to 32,000,000 bytes; expected at most 10,000,000\.$"):
        read_long_table(path, max_bytes=10_000_000)


def test_progress_wraps_the_samples_and_stops_the_work(tmp_path):
    path = write(small(), tmp_path / "a.csv")
    seen = []

    def until_two(samples):
        for i in samples:
            if i == 2:
                raise KeyboardInterrupt
            seen.append(i)
            yield i

    with pytest.raises(KeyboardInterrupt):
        open_sequences(path, 20.0, progress=until_two)
    assert seen == [0, 1]
