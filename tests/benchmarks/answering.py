"""How a side of a benchmark answers: its versions first, then a case's name a line in, its seconds a line out.

It lies beside the sides, which run in environments of their own, and needs Python alone.
"""

import sys
import time
from collections.abc import Callable, Mapping

Case = Callable[[], object]


def answer(cases: Mapping[str, Case], versions: str, *, in_a_row: int = 1) -> None:
    """Answer until standard input ends: the least seconds of a case, called so many times in a row."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # a library may print
    print(versions, flush=True, file=answers)
    for line in sys.stdin:
        case = cases[line.strip()]
        spent = []
        for _ in range(in_a_row):
            began = time.perf_counter()
            case()
            spent.append(time.perf_counter() - began)
        print(min(spent), flush=True, file=answers)
