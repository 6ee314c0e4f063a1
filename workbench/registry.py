"""The registry: finds studies by folder and imports one on demand.

A study is a file `studies/<family>/<slug with _>.py`, or a folder of that name, with a module-level `study`. Cards are
kept in an index by source hash, so that a list of all studies imports none of them. Folders named in the environment
variable `ASSAY_STUDIES` are searched too.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.util
import json
import os
import sys
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from workbench.controls import Data
from workbench.places import cache_folder
from workbench.study import Study, StudyError

__all__ = ["Card", "Registry", "UnknownStudy", "registry"]

INDEX_FORMAT = 2


class UnknownStudy(ValueError):
    """There is no study of that name: one sentence, with the nearest names."""


@dataclass(frozen=True)
class Card:
    """What a list of studies shows of one.

    Attributes:
        slug, family, question, summary, paper, arxiv: as in the study.
        claims: the ids of its claims, in order.
        scale: the ids of those that need another scale.
        symbols: signs and names of its controls, for the search.
        cost: seconds that all its experiments take at `standard`.
        own_input: it takes data or a checkpoint of the user's.
        terms: hash of its expectations and presets.
        broken: why it could not be imported; empty when it could.
    """

    slug: str
    family: str
    question: str = ""
    summary: str = ""
    paper: str = ""
    arxiv: str = ""
    claims: tuple[str, ...] = ()
    scale: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    cost: float = 0.0
    own_input: bool = False
    terms: str = ""
    broken: str = field(default="")


@dataclass(frozen=True)
class Place:
    """Where a study's source is."""

    slug: str
    family: str
    path: Path
    package: str

    @property
    def sources(self) -> list[Path]:
        """The files of the study."""
        return [self.path] if self.path.is_file() else sorted(self.path.rglob("*.py"))

    @property
    def hash(self) -> str:
        """SHA-256 over the study's own source."""
        digest = hashlib.sha256()
        for source in self.sources:
            digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
        return digest.hexdigest()


def card_of(study: Study) -> Card:
    """The card of a loaded study."""
    return Card(
        slug=study.slug, family=study.family, question=study.question, summary=study.summary,
        paper=study.paper.title, arxiv=study.paper.arxiv, claims=tuple(study.claims),
        scale=tuple(id for id, c in study.claims.items() if c.function is None),
        symbols=tuple(text for c in study.moving.values() for text in (c.symbol, c.label) if text),
        cost=sum(e.cost.get("standard", 0.0) for e in study.experiments.values()),
        own_input=any(isinstance(c, Data) for c in study.moving.values()), terms=study.terms_hash,
    )  # fmt: skip


class Registry:
    """Studies under some folders.

    Args:
        folders: each holds one folder a family.
        index: file that cards are kept in; none are kept when left out.
    """

    def __init__(self, folders: list[Path], index: Path | None = None) -> None:
        self._folders = folders
        self._index = index
        self._lock = threading.RLock()
        self._loaded: dict[str, Study] = {}
        self._cards: dict[str, tuple[str, Card]] | None = None

    @property
    def places(self) -> dict[str, Place]:
        """Where every study is, by slug, in the order of family and name."""
        found: dict[str, Place] = {}
        own = Path(__file__).parent / "studies"
        for folder in self._folders:
            families = sorted(p for p in folder.iterdir() if p.is_dir()) if folder.is_dir() else []
            for family in families:
                for path in sorted(family.iterdir()):
                    module = path.suffix == ".py" or (path / "__init__.py").exists()
                    if not module or path.name.startswith(("_", ".")):
                        continue
                    package = f"workbench.studies.{family.name}" if folder == own else ""
                    slug = path.stem.replace("_", "-")
                    found.setdefault(slug, Place(slug, family.name, path, package))
        return found

    def slug(self, name: str) -> str:
        """The slug that a name means; `_` and `-` are the same.

        Raises:
            UnknownStudy: there is none.
        """
        slug = str(name).strip().lower().replace("_", "-")
        places = self.places
        if slug in places:
            return slug
        near = difflib.get_close_matches(slug, places, n=1)
        hint = f"; the nearest is {near[0]}" if near else ""
        raise UnknownStudy(f"study: got {str(name)[:80]!r}; expected a name from `assay list`{hint}")

    def get(self, name: str) -> Study:
        """The study of a name, imported when first asked for.

        Raises:
            UnknownStudy: there is none.
            StudyError: it cannot be imported; the sentence says why.
        """
        slug = self.slug(name)
        with self._lock:
            if slug not in self._loaded:
                self._loaded[slug] = self._load(self.places[slug])
            return self._loaded[slug]

    def _load(self, place: Place) -> Study:
        try:
            if place.package:
                module = importlib.import_module(f"{place.package}.{place.path.stem}")
            else:
                name = f"assay_studies.{place.family}.{place.path.stem}"
                source = place.path if place.path.is_file() else place.path / "__init__.py"
                spec = importlib.util.spec_from_file_location(name, source)
                assert spec is not None and spec.loader is not None
                module = importlib.util.module_from_spec(spec)
                sys.modules[name] = module
                try:
                    spec.loader.exec_module(module)
                except BaseException:
                    del sys.modules[name]
                    raise
            study = getattr(module, "study", None)
            if not isinstance(study, Study):
                raise StudyError(f"{place.path.name} has no `study`.")
            if study.slug != place.slug:
                raise StudyError(f"{place.path.name} holds the study {study.slug!r}; expected {place.slug!r}.")
            study.family = place.family
            study.check()
        except Exception as error:
            raise StudyError(f"{place.slug} could not be imported: {type(error).__name__}: {error}") from error
        return study

    def cards(self) -> list[Card]:
        """The cards of all studies; only studies whose source changed are imported."""
        with self._lock:
            if self._cards is None:
                self._cards = self._read_index()
            fresh: dict[str, tuple[str, Card]] = {}
            for slug, place in self.places.items():
                source = place.hash
                kept = self._cards.get(slug)
                if kept is None or kept[0] != source or kept[1].broken:
                    try:
                        kept = (source, card_of(self.get(slug)))
                    except StudyError as error:
                        kept = (source, Card(slug, place.family, broken=str(error)))
                fresh[slug] = kept
            if fresh != self._cards:
                self._write_index(fresh)
            self._cards = fresh
            return [card for _, card in fresh.values()]

    def _read_index(self) -> dict[str, tuple[str, Card]]:
        if self._index is None or not self._index.exists():
            return {}
        try:
            data = json.loads(self._index.read_text(encoding="utf-8"))
            if data["format"] != INDEX_FORMAT:
                return {}
            return {slug: (source, as_card(card)) for slug, (source, card) in data["cards"].items()}
        except (OSError, ValueError, KeyError, TypeError):
            return {}  # an index that cannot be read is made anew

    def _write_index(self, cards: dict[str, tuple[str, Card]]) -> None:
        if self._index is None:
            return
        data = {
            "format": INDEX_FORMAT,
            "cards": {slug: [source, asdict(card)] for slug, (source, card) in cards.items()},
        }
        self._index.parent.mkdir(parents=True, exist_ok=True)
        draft = self._index.with_suffix(f".{os.getpid()}.part")
        draft.write_text(json.dumps(data), encoding="utf-8")
        draft.replace(self._index)


def as_card(data: dict[str, Any]) -> Card:
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
    return Card(**values)


def study_folders() -> list[Path]:
    """The folders that studies are looked for in: our own, then those of `ASSAY_STUDIES`."""
    own = Path(__file__).parent / "studies"
    return [own, *(Path(p).expanduser() for p in os.environ.get("ASSAY_STUDIES", "").split(os.pathsep) if p)]


_registries: dict[Path, Registry] = {}


def registry() -> Registry:
    """The registry of this process."""
    folders = study_folders()
    digest = hashlib.sha256(repr([str(folder) for folder in folders]).encode()).hexdigest()[:12]
    index = cache_folder() / f"studies-{digest}.json"
    if index not in _registries:
        _registries[index] = Registry(folders, index)
    return _registries[index]
