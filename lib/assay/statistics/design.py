"""Columns of a table as regressors: numbers as they are, labels as indicators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.statistics.clusters import finite_array

__all__ = ["columns_of", "indicator_columns"]

Array = NDArray[np.float64]


def columns_of(table: Mapping[str, ArrayLike], rows: int) -> tuple[dict[str, Array], dict[str, NDArray[Any]]]:
    """Columns of numbers, and columns of labels (text, booleans, anything that is no number).

    Raises:
        ValueError: a column of another length, of values that are not finite, or constant; the message names it.
    """
    numeric: dict[str, Array] = {}
    labelled: dict[str, NDArray[Any]] = {}
    for name, given in table.items():
        values = np.asarray(given)
        if values.shape != (rows,):
            raise ValueError(f"{name}: got shape {values.shape}; expected ({rows},).")
        if values.dtype.kind in "iuf":
            numeric[name] = finite_array(name, values)
            constant = np.ptp(numeric[name]) == 0
        else:
            labelled[name] = values.astype(str)
            constant = (labelled[name] == labelled[name][0]).all()
        if constant:
            raise ValueError(f"{name}: got the same value in all rows; expected a column that varies.")
    return numeric, labelled


def indicator_columns(labelled: Mapping[str, NDArray[Any]], rows: int) -> Array:
    """(rows, k) with a column for each kind of each label but its first."""
    columns = [values == kind for values in labelled.values() for kind in np.unique(values)[1:]]
    return np.column_stack(columns).astype(np.float64) if columns else np.zeros((rows, 0))
