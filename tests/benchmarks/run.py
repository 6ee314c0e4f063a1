"""Benchmarks beside other libraries: `python tests/benchmarks/run.py [NAME …]`, all of them when none is named.

A benchmark measures every side in one run, in turns, each in a process and an environment of its own under `.bench/`,
and writes its table beside this file: the least time of all turns, and the load under which it was measured.
"""

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
PEERS = {"snntorch": ["snntorch==1.0.0"], "spikingjelly": ["spikingjelly==2.0.0"], "norse": ["norse==1.1.0"]}
TURNS = 30


def interpreter(peer: str) -> str:
    """The interpreter of a library's environment, which is made where there is none."""
    if peer == "assay":
        return sys.executable
    python = PROJECT / ".bench" / peer / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "torch==2.13.0", *PEERS[peer]], check=True)
    return str(python)


class Side:
    """A library in a process of its own."""

    def __init__(self, script: str, library: str) -> None:
        threads = {"OMP_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2"}
        self.process = subprocess.Popen(
            [interpreter(library), str(HERE / script), library], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, cwd=PROJECT, env={**os.environ, **threads}, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.versions = self.answer()

    def answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            raise RuntimeError(f"{self.process.args}: it ended without an answer.")
        return line

    def seconds(self, case: str) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(case + "\n")
        self.process.stdin.flush()
        return float(self.answer())

    def close(self) -> None:
        self.process.communicate()


class Row(NamedTuple):
    """What is compared: a case of ours with a case of another side, and the ratio that is aimed at."""

    title: str
    case: str
    beside: str
    with_case: str
    most: float | None = None  # ours takes at most so many times as long
    least: float | None = None  # ours is at least so many times as fast


LIF = (
    Row("spikes only, preallocated", "spikes", "assay", "copy", most=2.0),
    Row("spikes and membrane, preallocated", "membrane", "assay", "copy", most=3.0),
    Row("forward, beside snnTorch's Leaky", "delayed", "snntorch", "delayed", least=12.0),
    Row("forward and backward, beside SpikingJelly's LIFNode", "both ways", "spikingjelly", "both ways", least=8.0),
)


def processor() -> str:
    names = [v for v in Path("/proc/cpuinfo").read_text().splitlines() if v.startswith("model name")]
    return f"{names[0].split(':')[1].strip()}, {os.cpu_count()} cores" if names else platform.processor()


def lif() -> str:
    """The LIF scan: float32, 128 steps, 61,440 neurons."""
    sides = {library: Side("lif.py", library) for library in ("assay", "snntorch", "spikingjelly")}
    wanted = dict.fromkeys(pair for r in LIF for pair in (("assay", r.case), (r.beside, r.with_case)))
    least = dict.fromkeys(wanted, float("inf"))
    for library, case in wanted:  # the first call compiles
        sides[library].seconds(case)
    for _ in range(TURNS):
        for library, case in wanted:
            least[library, case] = min(least[library, case], sides[library].seconds(case))
    for side in sides.values():
        side.close()
    copy = least["assay", "copy"]
    lines = [
        "# LIF scan", "",
        "`make bench` writes this: float32, 128 steps of 61,440 neurons (30 MiB), 2 threads, least of "
        f"{TURNS} turns. The limit is memory: `copy_` of the input, one read and one write, takes {copy * 1e3:.1f} ms.",
        "", "| case | ours, ms | beside it | its, ms | ratio | aim | |", "|---|---:|---|---:|---:|---|---|",
    ]  # fmt: skip
    for row in LIF:
        mine, other = least["assay", row.case], least[row.beside, row.with_case]
        if row.most is not None:
            ratio, aim, met = mine / other, f"at most {row.most:g}×", mine / other <= row.most
        else:
            assert row.least is not None
            ratio, aim, met = other / mine, f"at least {row.least:g}× faster", other / mine >= row.least
        beside = "copy_" if row.with_case == "copy" else row.beside
        lines.append(
            f"| {row.title} | {mine * 1e3:.1f} | {beside} | {other * 1e3:.1f} | {ratio:.2f}× | {aim} "
            f"| {'met' if met else 'missed'} |"
        )
    load = ", ".join(f"{v:.2f}" for v in os.getloadavg())
    versions = "; ".join(side.versions for side in sides.values())
    lines += ["", f"{processor()}; load {load} (the benchmark's own included). {versions}.", ""]
    return "\n".join(lines)


BENCHMARKS: dict[str, Callable[[], str]] = {"lif": lif}


def main(names: list[str]) -> int:
    if unknown := [n for n in names if n not in BENCHMARKS]:
        print(f"benchmark: got {unknown[0]!r}; expected one of {', '.join(BENCHMARKS)}.", file=sys.stderr)
        return 2
    for name in names or BENCHMARKS:
        table = BENCHMARKS[name]()
        (HERE / f"{name}.md").write_text(table)
        print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
