"""Text that is on every machine with this library: what installed packages and Python itself say about themselves.

- `prose`: docstrings of SciPy, English with formulas and examples;
- `reference`: the reference manual of the Python language;
- `code`: sources of Python's standard library.

Files are read and parsed, never imported. Texts change with the versions of the packages: `sha256` tells.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import platform
import sysconfig
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, get_args

__all__ = ["Corpus", "Text", "installed_text", "split_documents"]

Corpus = Literal["prose", "reference", "code"]
Progress = Callable[[Iterable[Any]], Iterable[Any]]

SUBPACKAGES = ("stats", "signal", "optimize")
SHORTEST = 200  # characters of a docstring: shorter ones say little


@dataclass(frozen=True)
class Text:
    """Documents of one kind.

    Attributes:
        corpus: which.
        documents: texts, in a fixed order, each once.
        source: package and version.
        sha256: over the documents.
    """

    corpus: str
    documents: tuple[str, ...]
    source: str
    sha256: str


def installed_text(corpus: Corpus, *, progress: Progress | None = None) -> Text:
    """The documents of a corpus.

    Args:
        corpus: `prose`, `reference` or `code`.
        progress: wraps the files; raising in it stops the work.

    Raises:
        ValueError: an unknown corpus, or nothing of it is on this machine.
    """
    if corpus not in get_args(Corpus):
        raise ValueError(f"corpus: got {corpus!r}; expected one of {', '.join(get_args(Corpus))}.")
    if corpus == "prose":
        found, source = docstrings(scipy_files(), progress), f"SciPy {version('scipy')}"
    elif corpus == "reference":
        found, source = topics(), f"Python {platform.python_version()}"
    else:
        files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
        each: Iterable[Path] = files if progress is None else progress(files)
        found, source = [read(path) for path in each], f"Python {platform.python_version()}"
    documents = tuple(dict.fromkeys(text for text in found if text.strip()))
    if not documents:
        raise ValueError(f"corpus: {source} holds no {corpus} on this machine; expected its sources.")
    digest = hashlib.sha256("\0".join(documents).encode())
    return Text(corpus, documents, source, digest.hexdigest())


def split_documents(text: Text, *, held_out: float = 0.1) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Documents to train on, and others that are held out; by the hash of each, so that a longer corpus moves none.

    Raises:
        ValueError: a share outside (0, 1).
    """
    if not 0 < held_out < 1:
        raise ValueError(f"held_out: got {held_out}; expected a share above 0 and below 1.")
    places = [int.from_bytes(hashlib.sha256(one.encode()).digest()[:4]) / 2**32 for one in text.documents]
    both = list(zip(text.documents, places, strict=True))
    return tuple(d for d, p in both if p >= held_out), tuple(d for d, p in both if p < held_out)


def scipy_files() -> list[Path]:
    """Sources of three large subpackages, without their tests."""
    spec = importlib.util.find_spec("scipy")
    folders = [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
    files = [path for folder in folders for name in SUBPACKAGES for path in (folder / name).rglob("*.py")]
    return sorted(path for path in files if "tests" not in path.parts)


def docstrings(files: list[Path], progress: Progress | None) -> list[str]:
    """Docstrings of modules, classes and functions, long enough to say something."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found: list[str] = []
    each: Iterable[Path] = files if progress is None else progress(files)
    for path in each:
        nodes = [node for node in ast.walk(ast.parse(read(path))) if isinstance(node, kinds)]
        found += [text for node in nodes if (text := ast.get_docstring(node)) and len(text) >= SHORTEST]
    return found


def topics() -> list[str]:
    """The topics of the language reference, from the table that `help()` reads."""
    spec = importlib.util.find_spec("pydoc_data.topics")
    if spec is None or spec.origin is None:
        return []
    tables = [node.value for node in ast.parse(read(Path(spec.origin))).body if isinstance(node, ast.Assign)]
    return [text for table in tables for _, text in sorted(ast.literal_eval(table).items())]


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
