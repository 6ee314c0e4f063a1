"""Which form of each kernel serves: `cpu`, `gpu` or `reference`, told to whoever keeps a record of a run."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["back_ends", "serves"]

_listening: list[dict[str, set[str]]] = []


@contextmanager
def back_ends() -> Iterator[dict[str, set[str]]]:
    """Collect, from kernel to the forms that served in this process, on any thread, while the block runs."""
    found: dict[str, set[str]] = {}
    _listening.append(found)
    try:
        yield found
    finally:
        _listening[:] = [other for other in _listening if other is not found]


def serves(kernel: str, form: str) -> None:
    """A form of a kernel serves now."""
    for found in _listening:
        found.setdefault(kernel, set()).add(form)
