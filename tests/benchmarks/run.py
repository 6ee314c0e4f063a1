"""Benchmarks beside other libraries: `python tests/benchmarks/run.py [NAME …]`, all of them when none is named.

A benchmark measures every side in one run, in turns, each in a process and an environment of its own under `.bench/`,
and writes its table beside this file: the least time of all turns, and the load under which it was measured.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
PEERS = {
    "snntorch": ["snntorch==1.0.0"],
    "spikingjelly": ["spikingjelly==2.0.0"],
    "norse": ["norse==1.1.0"],
    "mambapy": ["mambapy==1.2.0", "numpy"],
    "weightwatcher": ["weightwatcher==0.7.7", "setuptools<81"],
}
TURNS = 30


def interpreter(peer: str) -> str:
    """The interpreter of a library's environment, which is made where there is none."""
    if peer in ("assay", "neuron"):  # NEURON is among the tests' own packages
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


CALLED = {
    "forward of a tenth": "their way forward",
    "memory": "copy_ of the state at every step",
    "rates": "NEURON, rates computed",
    "tables": "NEURON, rates from tables",
    "copy": "copy_",
    "direct": "one cut after the other",
    "exp": "torch.exp",
    "hooked long": "full passes with hooks",
    "hooked short": "full passes with hooks",
    "plain": "PyTorch",
    "rtn": "our round-to-nearest",
    **{f"bytes {bits}": "its bytes" for bits in (2, 3, 4, 8)},
    "svdvals": "torch.linalg.svdvals, float64",
}  # cases of our own side that ours are compared with


def measured(script: str, rows: tuple[Row, ...], turns: int) -> tuple[dict[tuple[str, str], float], str]:
    """The least seconds of each side's case, and the versions of all sides."""
    wanted = dict.fromkeys(pair for r in rows for pair in (("assay", r.case), (r.beside, r.with_case)))
    sides = {library: Side(script, library) for library in dict.fromkeys(library for library, _ in wanted)}
    least = dict.fromkeys(wanted, float("inf"))
    for library, case in wanted:  # the first call compiles
        sides[library].seconds(case)
    for _ in range(turns):
        for library, case in wanted:
            least[library, case] = min(least[library, case], sides[library].seconds(case))
    for side in sides.values():
        side.close()
    return least, "; ".join(side.versions for side in sides.values())


def peak(script: str, library: str, length: int) -> float:
    """MiB that a side adds to its process's memory at most, in a process of its own."""
    command = [interpreter(library), str(HERE / script), library, str(length)]
    return float(subprocess.run(command, capture_output=True, text=True, cwd=PROJECT, check=True).stdout)


def table(heading: list[str], rows: tuple[Row, ...], least: dict[tuple[str, str], float], versions: str) -> str:
    lines = [
        *heading,
        "",
        "| case | ours, ms | beside it | its, ms | ratio | aim | |",
        "|---|---:|---|---:|---:|---|---|",
    ]
    for row in rows:
        mine, other = least["assay", row.case], least[row.beside, row.with_case]
        if row.most is not None:
            ratio, aim, met = mine / other, f"at most {row.most:g}×", mine / other <= row.most
        else:
            assert row.least is not None
            ratio, aim, met = other / mine, f"at least {row.least:g}× faster", other / mine >= row.least
        lines.append(
            f"| {row.title} | {mine * 1e3:.1f} | {CALLED.get(row.with_case, row.beside)} | {other * 1e3:.1f} "
            f"| {ratio:.2f}× | {aim} | {'met' if met else 'missed'} |"
        )
    return ended(lines, versions)


def ended(lines: list[str], versions: str) -> str:
    """A table's text, with the machine and the versions that it was measured with."""
    load = ", ".join(f"{v:.2f}" for v in os.getloadavg())
    return "\n".join([*lines, "", f"{processor()}; load {load} (the benchmark's own included). {versions}.", ""])


def lif() -> str:
    """The LIF scan: float32, 128 steps, 61,440 neurons."""
    least, versions = measured("lif.py", LIF, TURNS)
    heading = [
        "# LIF scan", "",
        "`make bench` writes this: float32, 128 steps of 61,440 neurons (30 MiB), 2 threads, least of "
        f"{TURNS} turns. The limit is memory: `copy_` of the input, one read and one write, takes "
        f"{least['assay', 'copy'] * 1e3:.1f} ms.",
    ]  # fmt: skip
    return table(heading, LIF, least, versions)


SELECTIVE_SCAN = (
    Row("forward, beside its exponentials alone", "forward", "assay", "exp", most=1.7),
    Row("forward, beside mambapy's parallel scan", "forward", "mambapy", "forward", least=5.0),
    Row("forward and backward, beside mambapy's parallel scan", "both ways", "mambapy", "both ways", least=3.0),
)


def selective_scan() -> str:
    """The selective scan: float32, batch 2, 1024 steps, 256 channels, 16 states."""
    least, versions = measured("selective_scan.py", SELECTIVE_SCAN, TURNS // 3)
    peaks = []
    for length in (1024, 2048, 4096):
        ours, theirs = (peak("selective_scan.py", library, length) for library in ("assay", "mambapy"))
        peaks.append(f"{length} steps {ours:.0f} MiB (mambapy {theirs:.0f})")
    heading = [
        "# Selective scan", "",
        "`make bench` writes this: float32, batch 2, 1024 steps of 256 channels with 16 states each, 2 threads, least "
        f"of {TURNS // 3} turns. The exponentials alone are `torch.exp` of as many values, 32 MiB, into a tensor that "
        "is there: they go through memory, which the scan's own never do.", "",
        f"What both ways add to the process's memory at most: {', '.join(peaks)}; an input has 1 MiB for 512 steps.",
    ]  # fmt: skip
    return table(heading, SELECTIVE_SCAN, least, versions)


SPECTRA = (
    Row("singular values in float64", "spectrum", "assay", "svdvals", least=3.0),
    Row("all metrics", "metrics", "weightwatcher", "metrics", least=10.0),
    Row("metrics of the spectrum alone, as WeightWatcher's", "of the spectrum", "weightwatcher", "metrics", least=10.0),
)


def spectra() -> str:
    """Singular values and metrics of a matrix in the shape of SmolLM2's unembedding."""
    turns = 3
    least, versions = measured("spectra.py", SPECTRA, turns)
    heading = [
        "# Spectra", "",
        "`make bench` writes this: a float32 matrix of 49,152 × 576, the shape of SmolLM2's unembedding, 2 threads, "
        f"least of {turns} turns. All metrics are what `measure_matrix` gives: spectra raw and centred, "
        "with two power laws each, cosine, IsoScore and the partition function's isotropy, beside WeightWatcher's "
        "`analyze`, which has those of one spectrum.",
    ]  # fmt: skip
    return table(heading, SPECTRA, least, versions)


PREFIX_SUPPORT = (
    Row("users of three factions", "factions", "assay", "direct", least=50.0),
    Row("users of three factions, beside a copy of their orders", "factions", "assay", "copy", most=10.0),
    Row("uniform orders, beside a copy", "uniform", "assay", "copy", most=10.0),
    Row("every order upside down, beside a copy", "longest", "assay", "copy", most=10.0),
)


def prefix_support() -> str:
    """Supporters of every model against every prefix: a million users, 100 models."""
    turns = 5
    least, versions = measured("prefix_support.py", PREFIX_SUPPORT, turns)
    size = 2 * 1_000_000 * 100
    rates = {name: size / least["assay", name] / 1e9 for name in ("factions", "uniform", "longest")}
    copy = 2 * size / least["assay", "copy"] / 1e9
    slowest = max(least["assay", name] for name in rates)
    heading = [
        "# Prefix support", "",
        "`make bench` writes this: how many of 1,000,000 users prefer each of 100 models to each prefix of a "
        f"leaderboard, orders as int16 (200 MB), 2 threads, least of {turns} turns. The direct count goes from cut to "
        "cut; both give the same counts, which is checked first.", "",
        f"Bytes of orders a second: {rates['factions']:.1f} GB/s for factions, {rates['uniform']:.1f} GB/s for uniform "
        f"orders, {rates['longest']:.1f} GB/s where no walk ends early; `copy_` moves {copy:.1f} GB/s, read and "
        f"written. The longest takes {slowest:.2f} s; the aim is 3 s, {'met' if slowest <= 3 else 'missed'}.",
    ]  # fmt: skip
    return table(heading, PREFIX_SUPPORT, least, versions)


SINQ = (
    Row("quantise with SINQ, beside round-to-nearest in PyTorch", "sinq", "assay", "plain", most=1.2),
    Row("quantise with SINQ, beside our own round-to-nearest", "sinq", "assay", "rtn", most=1.2),
    *(
        Row(f"packed product, {bits} bits, beside the time that its bytes take", f"product {bits}", "assay",
            f"bytes {bits}", most=1.5)
        for bits in (2, 3, 4, 8)
    ),
)  # fmt: skip


def sinq() -> str:
    """SINQ: quantising a matrix, and the product with packed weights at batch 1."""
    turns = 20
    least, versions = measured("sinq.py", SINQ, turns)
    rate = 16_384 * 4096 / least["assay", "product 4"] / 1e9
    heading = [
        "# SINQ", "",
        "`make bench` writes this: 4,096 × 4,096 weights quantised to 4 bits in groups of 64, and the product of one "
        f"input with 16,384 × 4,096 packed weights; float32, 2 threads, least of {turns} turns. The time that bytes "
        "take is that of `copy_` of half of them, read and written.", "",
        f"The 4-bit product goes through {rate:.1f} thousand million weights a second.",
    ]  # fmt: skip
    return table(heading, SINQ, least, versions)


INTERVENTIONS = (
    Row("words of permutations", "forked short", "assay", "hooked short", least=10.0),
    Row("prompts of 96 tokens", "forked long", "assay", "hooked long", least=10.0),
)


def interventions() -> str:
    """Interventions on latents: forks of one cache beside a loop of full passes with hooks."""
    turns = 5
    least, versions = measured("interventions.py", INTERVENTIONS, turns)
    heading = [
        "# Interventions on latents", "",
        "`make bench` writes this: every zeroing, mean and swap of each latent read at the answer, and total and "
        "direct influence of swaps, as forks of one cache, reading the prompts included; beside a loop of full passes "
        f"of the same decoder with a hook on its embedding, all prompts in a batch. 1 thread, least of {turns} turns.",
    ]  # fmt: skip
    return table(heading, INTERVENTIONS, least, versions)


def serving() -> str:
    """The server: a team at the LIF page."""
    done = subprocess.run(
        [sys.executable, str(HERE / "serving.py")], capture_output=True, text=True, cwd=PROJECT, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    job = "one job running" if found["job runs"] else "THE JOB HAD ENDED"
    rows = (
        (f"50 people, a move every 2 s each, {job}: message to figure, p95", 1e3 * found["p95"], 300, "ms"),
        ("a page until its figure is drawn, warm, in Chromium, median of 7", 1e3 * found["paints"][3], 1500, "ms"),
        ("100 times a page with three views opened and closed: memory grown by", found["grown"], 30, "MB"),
        ("pages that live on after that", found["live"], 0, ""),
        ("one update of a figure", found["update"] / 1e3, 300, "kB"),
    )  # fmt: skip
    lines = [
        "# Serving", "",
        "`make bench` writes this. Server, worker and the load that is put on them share the machine.", "",
        "| what | measured | aim | |", "|---|---:|---:|---|",
        *(
            f"| {what} | {value:.0f} {unit} | at most {most} {unit} | {'met' if value <= most else 'missed'} |"
            for what, value, most, unit in rows
        ),
        "", f"Moves: {found['moves']}, median {1e3 * found['median']:.0f} ms, longest {1e3 * found['most']:.0f} ms. "
        f"All 50 without a pause: {found['saturated']:.0f} updates a second; "
        f"more than 45 is the aim, {'met' if found['saturated'] > 45 else 'missed'}.",
        "", f"{processor()}.", "",
    ]  # fmt: skip
    return "\n".join(lines)


LARGEST = 2 * 128_256 * 4096  # bytes of the largest tensor of the checkpoint, as it is stored
READS = {
    "report": "a verdict on every tensor",
    "upcast": "every tensor in float32, one after the other",
    "unembedding": "the unembedding in float32",
}


def checkpoints() -> str:
    """A checkpoint of 6 GB: seconds and peak memory of reading it, each in a process of its own."""
    script = str(HERE / "checkpoints.py")

    def answer(*arguments: str) -> str:
        command = [sys.executable, script, *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=PROJECT, check=True).stdout

    with tempfile.TemporaryDirectory() as folder:
        size = int(answer("make", folder))
        found = {
            (library, case): json.loads(answer(library, case, folder))
            for case in READS
            for library in ("assay", "safetensors")
        }
    limit = 3 * LARGEST + 500e6
    lines = [
        "# Checkpoints", "",
        f"`make bench` writes this: {size / 1e9:.2f} GB of bfloat16 in five shards with an index, as a Llama of 9 "
        f"layers, 1 thread, once. The largest tensor takes {LARGEST / 1e9:.2f} GB as it is stored; the limit is three "
        "times that and 500 MB, the process itself included.", "",
        "| what is read | ours, s | safetensors, s | our peak, GB | its peak, GB | limit, GB | |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]  # fmt: skip
    for case, words in READS.items():
        ours, theirs = found["assay", case], found["safetensors", case]
        met = "met" if ours["peak"] <= limit else "missed"
        lines.append(
            f"| {words} | {ours['seconds']:.1f} | {theirs['seconds']:.1f} | {ours['peak'] / 1e9:.2f} "
            f"| {theirs['peak'] / 1e9:.2f} | {limit / 1e9:.2f} | {met} |"
        )
    versions = "; ".join(found[library, "report"]["version"] for library in ("assay", "safetensors"))
    return ended(lines, versions)


CABLES = (
    Row("1,000 cells, beside NEURON with its tables", "cells", "neuron", "tables", least=10.0),
    Row("1,000 cells, beside NEURON with rates computed", "cells", "neuron", "rates", least=10.0),
    Row("1,000 cells, beside their state going through memory", "cells", "assay", "memory", most=10.0),
    Row("the adjoint of 100 cells", "adjoint", "assay", "forward of a tenth", most=4.0),
)


def cables() -> str:
    """Hodgkin–Huxley cables: identical cells side by side, and NEURON."""
    turns = 5
    least, versions = measured("cables.py", CABLES, turns)
    work = 1000 * 52 * 400
    rates = {"ours": work / least["assay", "cells"] / 1e6, "NEURON": work / least["neuron", "tables"] / 1e6}
    limit = "arithmetic" if least["assay", "memory"] < 0.5 * least["assay", "cells"] else "memory"
    heading = [
        "# Cables", "",
        "`make bench` writes this: 1,000 ball-and-sticks of 52 compartments with sodium, potassium and leak, 400 steps "
        f"of 0.025 ms, float64, 2 threads, least of {turns} turns, set-up left out. Voltages of both agree, which the "
        "tests show.", "",
        f"Compartment-steps: {rates['ours']:.0f} million a second, NEURON {rates['NEURON']:.0f}. Reading and writing "
        f"the state of all cells once a step would take {least['assay', 'memory'] / least['assay', 'cells']:.2f} of "
        f"our time, and a block's state stays in its cache: the limit is {limit}, five exponentials and two divisions "
        "a compartment.",
    ]  # fmt: skip
    return table(heading, CABLES, least, versions)


BENCHMARKS: dict[str, Callable[[], str]] = {
    "cables": cables,
    "checkpoints": checkpoints,
    "interventions": interventions,
    "lif": lif,
    "prefix_support": prefix_support,
    "selective_scan": selective_scan,
    "serving": serving,
    "sinq": sinq,
    "spectra": spectra,
}


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
