"""How kernels for processors are compiled: Numba, machine code kept in a folder of the user's, the lock released."""

import hashlib
import os
from pathlib import Path

import numba
from numba.core import config

__all__ = ["compiled", "fused", "inlined", "summing"]


def _cache() -> str:
    """Never beside the sources, and named after them: Numba notices a change of the file that a function stands in,
    but not of the files that it calls into.
    """
    here = Path(__file__).parent
    sources = hashlib.sha256()
    for source in sorted(here.rglob("*.py")):
        sources.update(source.read_bytes())
    kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return str(kept / "assay" / "numba" / sources.hexdigest()[:16])


os.environ.setdefault("NUMBA_CACHE_DIR", _cache())
# whoever imported Numba first; it makes its settings from names of the environment
config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]  # pyright: ignore[reportAttributeAccessIssue]

compiled = numba.njit(nogil=True, cache=True, error_model="numpy")
inlined = numba.njit(error_model="numpy", forceinline=True)
# a product and the sum that it goes into are rounded once, where the processor can
fused = numba.njit(error_model="numpy", forceinline=True, fastmath={"contract"})
# and a sum is made in any order, without which a loop that makes one stays scalar
summing = numba.njit(error_model="numpy", forceinline=True, fastmath={"contract", "reassoc", "nsz"})
