"""A study whose experiment reads a file of one's own."""

from typing import Any

from workbench.study import Below, Evidence, Paper, Result, Run, Study, exact

study = Study("weighing", paper=Paper("How heavy is a file?", "0000.00002", "A. Clerk"), question="How heavy is it?")
study.data("parcel", samples=("synthetic-low",), doc="Any file.", needs="a file")


@study.experiment("Weigh it", tables={"weights": {"bytes": exact("int")}}, cost={"quick": 0.1, "standard": 0.1})
def weigh(run: Run, parcel: Any) -> dict[str, Any]:
    """Its size in bytes."""
    return {"weights": [{"bytes": parcel.path.stat().st_size if parcel.path else 0}]}


@study.claim(1, "It is light", expects=Below(1e6, "weight", unit="B", at_least=1))
def light(weigh: Result) -> Evidence:
    return Evidence.exact(float(weigh["weights"].bytes.max()), n=1)
