"""Votes from files: battles, ballots, scores, and PrefLib's orders. What a file holds is told by its columns."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

from assay.data import InputError
from assay.decisions.ballots import Ballots, ballots_of, listed, orders_of_scores, sealed
from assay.decisions.battles import Battles
from assay.decisions.preflib_files import read_preflib

__all__ = ["WINNERS", "read_votes"]

MOST_BYTES = 512 * 1024**2
MOST_MODELS, MOST_VOTES = 200, 2_000_000
WINNERS = {
    "a": 1.0, "b": 0.0, "tie": 0.5, "model_a": 1.0, "model_b": 0.0, "tie (bothbad)": 0.5, "both_bad": 0.5,
}  # fmt: skip
BATTLE = ("model_a", "model_b", "winner")
USERS = ("user", "user_id", "voter", "judge", "persona", "prompt", "prompt_id", "question_id", "task", "id")
GROUPS = ("faction", "group", "category")
RANK = re.compile(r"(?:rank|place|choice|position)?[ _]?(\d+)", re.I)


def read_votes(path: Path, rng: np.random.Generator) -> Battles | Ballots:
    """Battles or ballots of a file.

    - Battles, `.csv` or `.parquet`: `model_a`, `model_b`, `winner` (a, b or tie, or LMArena's labels), and `user`,
      `category`, `weight` where there are such.
    - Ballots: a row a user, columns `rank1`, `rank2`, … with names of models, best first; empty after the last.
    - Scores: a row a user or prompt, a column a model, higher is better; ties are broken at random.
    - PrefLib: `.soc` (complete orders) and `.soi` (incomplete ones).

    Ballots and scores may have a first column of users (`user`, `prompt`, …) and one of groups (`faction`, `category`).

    Args:
        path: the file.
        rng: breaks ties among scores.

    Raises:
        InputError: one sentence that names the file or column, what came and what was expected.
    """
    if path.is_dir():
        raise InputError(f"{path.name}: is a folder; expected one file of battles, ballots or scores.")
    if path.stat().st_size > MOST_BYTES:
        raise InputError(f"{path.name}: has {path.stat().st_size:,} bytes; expected at most {MOST_BYTES:,}.")
    if path.suffix.lower() in (".soc", ".soi"):
        return read_preflib(path, most_models=MOST_MODELS, most_votes=MOST_VOTES)
    if path.suffix.lower() in (".toc", ".toi"):
        raise InputError(f"{path.name}: holds orders with ties; expected strict ones, .soc or .soi.")
    table = read_table(path)
    names = {str(name).strip().lower(): name for name in table.columns}
    if any(name in names for name in BATTLE[:2]) or "winner" in names:
        return battles_of_table(table.rename(columns={names[n]: n for n in names}), path.name)
    users = next((names[n] for n in USERS if n in names), None)
    groups = next((names[n] for n in GROUPS if n in names), None)
    rest = [name for name in table.columns if name not in (users, groups)]
    if rest and all(RANK.fullmatch(str(name).strip()) for name in rest) and not all_numbers(table, rest):
        return ballots_of_table(table, rest, groups, path.name)
    return ballots_of_scores(table, rest, groups, path.name, rng)


def read_table(path: Path) -> pd.DataFrame:
    try:
        if path.suffix.lower() == ".parquet":
            table = pd.read_parquet(path)
        else:
            table = pd.read_csv(path, encoding="utf-8-sig", sep="\t" if path.suffix.lower() == ".tsv" else ",",
                                low_memory=False)  # fmt: skip
    except UnicodeDecodeError:
        raise InputError(f"{path.name}: is not UTF-8 text; expected a table with commas between columns.") from None
    except (ValueError, OSError, NotImplementedError):  # what pandas and pyarrow raise for files that are no tables
        raise InputError(
            f"{path.name}: cannot be read as a table; expected battles, ballots or scores as CSV or Parquet."
        ) from None
    if not len(table):
        raise InputError(f"{path.name}: has no rows; expected one for each battle, ballot or user.")
    if len(table) > MOST_VOTES:
        raise InputError(f"{path.name}: has {len(table):,} rows; expected at most {MOST_VOTES:,}.")
    if not table.columns.is_unique:
        raise InputError(f"{path.name}: has two columns of the same name; expected different names.")
    return table


def all_numbers(table: pd.DataFrame, columns: list[str]) -> bool:
    """Rank columns that hold numbers other than whole ones are scores of models that are called by numbers."""
    values = [pd.to_numeric(table[c], errors="coerce") for c in columns]
    return all(v.notna().all() for v in values) and any((v % 1 != 0).any() for v in values)


def missing(column: pd.Series) -> np.ndarray:
    return (column.isna() | (column.astype(str).str.strip() == "")).to_numpy()


def codes_of(column: pd.Series, name: str, file: str, rows: int = MOST_VOTES) -> tuple[np.ndarray, tuple[str, ...]]:
    """Codes and names of a column, in order of their first appearance.

    Raises:
        InputError: an empty entry.
    """
    empty = missing(column)
    if empty.any():
        raise InputError(f"{file}: {name} is empty in row {int(empty.argmax()) % rows + 1}; expected a name in each.")
    codes, kinds = pd.factorize(column.astype(str).str.strip())
    return codes, tuple(str(kind) for kind in kinds)


def battles_of_table(table: pd.DataFrame, file: str) -> Battles:
    """Battles from rows."""
    absent = [name for name in BATTLE if name not in table.columns]
    if absent:
        raise InputError(f"{file}: has the columns {listed([str(c) for c in table.columns])}; expected also "
                         f"{', '.join(absent)}.")  # fmt: skip
    both, models = codes_of(
        pd.concat([table["model_a"], table["model_b"]], ignore_index=True), "model_a or model_b", file, len(table)
    )
    checked_models(models, file)
    a, b = both[: len(table)], both[len(table) :]
    if (a == b).any():
        row = int((a == b).argmax())
        raise InputError(f"{file}: {models[a[row]]} meets itself in row {row + 1}; expected two different models.")
    label = table["winner"].astype(str).str.strip().str.lower()
    won = label.map(WINNERS).to_numpy(float)
    if np.isnan(won).any():
        row = int(np.isnan(won).argmax())
        got = str(table["winner"].iloc[row])[:40]
        raise InputError(f"{file}: winner is {got!r} in row {row + 1}; expected a, b or tie.")
    weight = np.ones(len(table))
    if "weight" in table.columns:
        weight = pd.to_numeric(table["weight"], errors="coerce").to_numpy(float)
        bad = ~np.isfinite(weight) | (weight <= 0)
        if bad.any():
            row = int(bad.argmax())
            got = str(table["weight"].iloc[row])[:40]
            raise InputError(f"{file}: weight is {got!r} in row {row + 1}; expected a number above 0.")
    category, categories = np.zeros(len(table), np.int64), ("all",)
    if "category" in table.columns:
        category, categories = codes_of(table["category"], "category", file)
    user, users = None, ()
    if "user" in table.columns:
        user, users = codes_of(table["user"], "user", file)
    arrays = [sealed(x) for x in (a, b, won, weight, category)]
    return Battles(models, *arrays, categories, user, users)


def checked_models(models: tuple[str, ...], file: str) -> None:
    if not 2 <= len(models) <= MOST_MODELS:
        raise InputError(f"{file}: holds {len(models)} {'model' if len(models) == 1 else 'models'}; expected 2 to "
                         f"{MOST_MODELS}.")  # fmt: skip


def group_of(table: pd.DataFrame, groups: str | None, file: str) -> tuple[np.ndarray | None, tuple[str, ...]]:
    return (None, ("all",)) if groups is None else codes_of(table[groups], str(groups), file)


def ballots_of_table(table: pd.DataFrame, ranks: list[str], groups: str | None, file: str) -> Ballots:
    """Ballots from columns of ranks."""
    ranks = sorted(ranks, key=lambda name: int(RANK.fullmatch(str(name).strip())[1]))  # pyright: ignore[reportOptionalSubscript]
    cells = np.stack([table[name].astype(str).str.strip().to_numpy(object) for name in ranks], 1)
    empty = np.stack([missing(table[name]) for name in ranks], 1)
    if empty[:, 0].any():
        raise InputError(f"{file}: the ballot in row {int(empty[:, 0].argmax()) + 1} is empty; expected its best model "
                         f"under {ranks[0]}.")  # fmt: skip
    gap = empty[:, :-1] & ~empty[:, 1:]
    if gap.any():
        raise InputError(f"{file}: the ballot in row {int(gap.any(1).argmax()) + 1} has a gap; expected empty columns "
                         "after its last model only.")  # fmt: skip
    kinds = sorted({str(name).removesuffix(".0") for name in cells[~empty]})
    models = tuple(kinds)
    checked_models(models, file)
    place = {name: i for i, name in enumerate(models)}
    orders = np.full((len(table), max(len(models), len(ranks))), -1, np.int64)
    orders[:, : len(ranks)] = [
        [-1 if gone else place[str(name).removesuffix(".0")] for name, gone in zip(row, nothing, strict=True)]
        for row, nothing in zip(cells, empty, strict=True)
    ]
    for i, row in enumerate(orders):
        own = row[row >= 0]
        if len(np.unique(own)) < len(own):
            twice = next(models[x] for x in own if (own == x).sum() > 1)
            raise InputError(
                f"{file}: the ballot in row {i + 1} ranks {twice} twice; expected every model at most once."
            )
    faction, factions = group_of(table, groups, file)
    return ballots_of(models, orders[:, : len(models)], faction=faction, factions=factions, notes=partial_note(orders))


def partial_note(orders: np.ndarray) -> tuple[str, ...]:
    """A sentence on ballots that stop early."""
    short = float((orders < 0).any(1).mean())
    if not short:
        return ()
    return (f"{100 * short:.0f} % of ballots rank only some models; the others are tied below, and support nothing.",)


def ballots_of_scores(
    table: pd.DataFrame, columns: list[str], groups: str | None, file: str, rng: np.random.Generator
) -> Ballots:
    """Ballots from a column of scores for each model."""
    kinds = [name for name in columns if not pd.api.types.is_numeric_dtype(table[name])]
    if kinds == columns[:1] and len(columns) > 2 and not pd.to_numeric(table[kinds[0]], errors="coerce").notna().any():
        columns = columns[1:]  # a first column of text is the user
    elif kinds:
        values = pd.to_numeric(table[kinds[0]], errors="coerce")
        row = int(values.isna().to_numpy().argmax())
        got = str(table[kinds[0]].iloc[row])[:40]
        raise InputError(
            f"{file}: {kinds[0]} is {got!r} in row {row + 1}; expected battles (model_a, model_b, winner), ballots "
            "(rank1, rank2, …) or a number for each model."
        )
    models = tuple(str(name).strip() for name in columns)
    checked_models(models, file)
    scores = table[columns].to_numpy(float, na_value=np.nan)
    bad = ~np.isfinite(scores)
    if bad.any():
        row, column = (int(x) for x in np.argwhere(bad)[0])
        raise InputError(f"{file}: {models[column]} has no finite score in row {row + 1}; expected a number for each "
                         "model.")  # fmt: skip
    orders, tied = orders_of_scores(scores, rng)
    if tied == 1:
        raise InputError(f"{file}: every row gives all models the same score; expected scores that tell models apart.")
    faction, factions = group_of(table, groups, file)
    notes = (f"{100 * tied:.0f} % of all pairs of scores are tied; ties were broken at random.",) if tied else ()
    return ballots_of(models, orders, faction=faction, factions=factions, notes=notes)
