"""Small runs for tests of the store."""

import time
from dataclasses import replace

from workbench.job import State
from workbench.record import Record
from workbench.result_files import files_folder, write_result
from workbench.results import Result, Table, exact, statistical

COLUMNS = {"step": exact("int"), "height": statistical("V")}


def result_in(folder, *heights):
    """A result of one table and one file, written into a folder."""
    place = files_folder(folder) / "note.txt"
    place.write_text("a note")
    rows = [{"step": i, "height": h} for i, h in enumerate(heights)]
    result = Result({"heights": Table(COLUMNS, rows)}, files={"note.txt": place}, complete=True)
    write_result(result, folder)
    return result


def record(key="k1", **fields):
    base = Record("a-study", "climb", key, {"amplitude": "1"}, {"amplitude": "1"}, "quick", seed=3, terms_hash="t1")
    return replace(base, started=time.time(), took=1.5, **fields)


def keep(store, folder, key="k1", *, verdict="holds", heights=(0.25, 0.5), **fields):
    folder.mkdir()
    result = result_in(folder, *heights)
    claims = {"1": {"verdict": verdict, "measured": 0.5}}
    begun = store.begin(record(key, **fields))
    ended = replace(begun, state=State.DONE, digest=result.digest, claims=claims, provenance={"peak_memory": 5})
    store.finish(ended, folder)
    return ended
