"""Controls: what a person can move in a study, with strict values.

A control turns whatever a face hands in (a number from a slider, text from a URL or the command line, a list from a
notebook) into one canonical value, or refuses it with a sentence that names the control, what came and what was
expected. Every face uses the same control, so every face says the same sentence.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import Any, ClassVar, TypeVar

from workbench.typed_values import ControlError, finite, from_json, numbers, plain, plain_exact, shown

__all__ = [
    "Alias", "Checkpoint", "Choice", "Control", "ControlError", "Data", "Flag", "Integer", "List", "Matrix", "Number",
    "Text",
]  # fmt: skip

MAX_TEXT = 10_000


@dataclass(frozen=True, kw_only=True)
class Control:
    """What all controls share.

    Attributes:
        name: how members and URLs call it; a Python identifier.
        default: its value when nothing is set (already canonical after construction).
        doc: one line for people.
        label: what stands beside the widget; made from the name when left out.
        symbol: its sign in the equations, such as `β`.
        unit: unit of the value, empty when dimensionless.
        group: heading that it stands under.
        effort: a preset may set it; it buys precision with time.
        rare: shown under "More".
    """

    kind: ClassVar[str] = "control"

    name: str
    default: Any = None
    doc: str = ""
    label: str = ""
    symbol: str = ""
    unit: str = ""
    group: str = "Controls"
    effort: bool = False
    rare: bool = False

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise ValueError(f"name: got {self.name!r}; expected a Python identifier.")
        if not self.doc:
            raise ValueError(f"{self.name}: a control needs one line of doc.")
        if not self.label:
            object.__setattr__(self, "label", self.name.replace("_", " ").capitalize())
        if self.source is None:
            object.__setattr__(self, "default", self.parse(self.default))

    @property
    def source(self) -> str | None:
        """Name of the prepared value that its choices or bounds come from, or None."""
        return None

    @property
    def expected(self) -> str:
        """What a good value looks like, in words."""
        raise NotImplementedError

    @property
    def beforehand(self) -> tuple[str, str]:
        """Its default and what is expected, as texts, before a prepared value gave it choices or bounds."""
        return ("", f"what {self.source} gives") if self.source else (self.text(self.default), self.expected)

    def parse(self, value: object) -> Any:
        """The canonical value.

        Raises:
            ControlError: one sentence that names the control, what came and what was expected.
        """
        raise NotImplementedError

    def text(self, value: Any) -> str:
        """The value as text for URLs and the command line; `parse` reads it back exactly."""
        return str(value)

    def bound(self, limits: Any) -> Control:
        """This control with the choices or bounds that its prepared value gave."""
        raise TypeError(f"{self.name}: its limits do not come from a prepared value.")

    def schema(self) -> dict[str, Any]:
        """What a face or another program needs to draw it, as JSON."""
        return {
            "name": self.name, "kind": self.kind, "default": self.default, "doc": self.doc, "label": self.label,
            "symbol": self.symbol, "unit": self.unit, "group": self.group, "effort": self.effort, "rare": self.rare,
            "expected": self.expected, "depends_on": self.source,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Number(Control):
    """A finite float between two bounds, both included.

    Attributes:
        bounds: `(low, high)`, or the name of a prepared value that gives them.
        step: distance of two slider positions; a hundredth of the range when left out.
        log: the slider is even in the logarithm; both bounds must be above 0.
    """

    kind: ClassVar[str] = "number"
    bounds: tuple[float, float] | str = (0.0, 1.0)
    step: float | None = None
    log: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.bounds, tuple):
            low, high = (finite(f"{self.name}.bounds", b, "a number") for b in self.bounds)
            if not low < high:
                raise ValueError(f"{self.name}: bounds {self.bounds} are not ascending.")
            if self.log and low <= 0:
                raise ValueError(f"{self.name}: a log scale needs bounds above 0; got {self.bounds}.")
        super().__post_init__()

    @property
    def source(self) -> str | None:
        return self.bounds if isinstance(self.bounds, str) else None

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds as numbers; a control whose bounds are prepared must be `bound` first."""
        if isinstance(self.bounds, str):
            raise TypeError(f"{self.name}: its bounds come from {self.bounds!r}, which is not prepared yet.")
        return self.bounds

    @property
    def expected(self) -> str:
        if isinstance(self.bounds, str):
            return "a number"
        unit = f" {self.unit}" if self.unit else ""
        return f"a number from {plain(self.bounds[0])} to {plain(self.bounds[1])}{unit}"

    def parse(self, value: object) -> float:
        number = finite(self.name, value, self.expected)
        if isinstance(self.bounds, tuple) and not self.bounds[0] <= number <= self.bounds[1]:
            raise ControlError(self.name, f"got {plain(number)}; expected {self.expected}")
        return number + 0.0  # no minus zero: it would be another key for the same value

    def text(self, value: float) -> str:
        return repr(float(value))

    def bound(self, limits: Any) -> Number:
        low, high = limits
        return replaced(self, bounds=(float(low), float(high)))

    def schema(self) -> dict[str, Any]:
        return super().schema() | {"bounds": self.bounds, "step": self.step, "log": self.log}


@dataclass(frozen=True, kw_only=True)
class Integer(Number):
    """A whole number between two bounds, both included."""

    kind: ClassVar[str] = "integer"

    @property
    def expected(self) -> str:
        return super().expected.replace("a number", "a whole number", 1)

    def parse(self, value: object) -> int:
        if isinstance(value, str) and re.fullmatch(r"\s*[-+]?\d+\s*", value):
            value = int(value)
        number = float(value) if isinstance(value, Integral) else finite(self.name, value, self.expected)
        if isinstance(value, bool) or number != math.floor(number):
            raise ControlError(self.name, f"got {shown(value)}; expected {self.expected}")
        super().parse(number)
        return int(value) if isinstance(value, Integral) else int(number)

    def text(self, value: float) -> str:
        return str(int(value))

    def bound(self, limits: Any) -> Integer:
        low, high = limits
        return replaced(self, bounds=(int(low), int(high)))


@dataclass(frozen=True, kw_only=True)
class Choice(Control):
    """One of several names.

    Attributes:
        choices: the names, or a mapping from names to what people read, or the name of a prepared value that gives
            either.
    """

    kind: ClassVar[str] = "choice"
    choices: Sequence[str] | Mapping[str, str] | str = ()

    def __post_init__(self) -> None:
        if not isinstance(self.choices, str):
            options = dict(self.choices) if isinstance(self.choices, Mapping) else {c: c for c in self.choices}
            if not options or any(not isinstance(c, str) for c in options):
                raise ValueError(f"{self.name}: choices must be at least one name; got {self.choices!r}.")
            object.__setattr__(self, "choices", options)
            if self.default is None:
                object.__setattr__(self, "default", next(iter(options)))
        super().__post_init__()

    @property
    def source(self) -> str | None:
        return self.choices if isinstance(self.choices, str) else None

    @property
    def options(self) -> dict[str, str]:
        """Names and what people read for them."""
        if not isinstance(self.choices, dict):
            raise TypeError(f"{self.name}: its choices come from {self.choices!r}, which is not prepared yet.")
        return self.choices

    @property
    def expected(self) -> str:
        return "a name" if isinstance(self.choices, str) else "one of " + ", ".join(self.choices)

    def parse(self, value: object) -> str:
        if not isinstance(value, str) or (not isinstance(self.choices, str) and value not in self.choices):
            raise ControlError(self.name, f"got {shown(value)}; expected {self.expected}")
        return value

    def bound(self, limits: Any) -> Choice:
        return replaced(self, choices=limits if isinstance(limits, Mapping) else [str(x) for x in limits])

    def schema(self) -> dict[str, Any]:
        return super().schema() | {"choices": self.choices}


@dataclass(frozen=True, kw_only=True)
class Flag(Control):
    """Yes or no."""

    kind: ClassVar[str] = "flag"
    default: bool = False
    words: ClassVar[dict[str, bool]] = {"true": True, "yes": True, "on": True, "1": True,
                                        "false": False, "no": False, "off": False, "0": False}  # fmt: skip

    @property
    def expected(self) -> str:
        return "true or false"

    def parse(self, value: object) -> bool:
        if isinstance(value, str):
            value = self.words.get(value.strip().lower(), value)
        if type(value).__name__ in ("bool", "bool_"):
            return bool(value)
        raise ControlError(self.name, f"got {shown(value)}; expected {self.expected}")

    def text(self, value: bool) -> str:
        return "true" if value else "false"


@dataclass(frozen=True, kw_only=True)
class Text(Control):
    """A line of text that matches a pattern from end to end.

    Attributes:
        pattern: regular expression.
        means: the pattern in words, for the sentence on bad input.
    """

    kind: ClassVar[str] = "text"
    default: str = ""
    pattern: str = r"[^\n]{0,200}"
    means: str = "up to 200 characters on one line"

    @property
    def expected(self) -> str:
        return self.means

    def parse(self, value: object) -> str:
        if not isinstance(value, str) or len(value) > MAX_TEXT or not re.fullmatch(self.pattern, value):
            raise ControlError(self.name, f"got {shown(value)}; expected {self.expected}")
        return value

    def schema(self) -> dict[str, Any]:
        return super().schema() | {"pattern": self.pattern}


@dataclass(frozen=True, kw_only=True)
class List(Control):
    """Several numbers between two bounds.

    Attributes:
        bounds: lowest and highest entry, both included.
        length: fewest and most entries.
    """

    kind: ClassVar[str] = "list"
    default: tuple[float, ...] = ()
    bounds: tuple[float, float] = (-1e12, 1e12)
    length: tuple[int, int] = (1, 64)

    @property
    def expected(self) -> str:
        return (
            f"{self.length[0]} to {self.length[1]} numbers from {plain(self.bounds[0])} to {plain(self.bounds[1])}, "
            "such as 0.1, 0.5"
        )

    def parse(self, value: object) -> tuple[float, ...]:
        entries = numbers(self.name, value, self.expected)
        if not self.length[0] <= len(entries) <= self.length[1]:
            raise ControlError(self.name, f"got {len(entries)} entries; expected {self.expected}")
        for i, entry in enumerate(entries):
            if not self.bounds[0] <= entry <= self.bounds[1]:
                raise ControlError(self.name, f"got {plain(entry)} at place {i + 1}; expected {self.expected}")
        return entries

    def text(self, value: tuple[float, ...]) -> str:
        return ",".join(plain_exact(x) for x in value)

    def schema(self) -> dict[str, Any]:
        return super().schema() | {"bounds": self.bounds, "length": self.length}


@dataclass(frozen=True, kw_only=True)
class Matrix(Control):
    """A rectangular table of numbers between two bounds.

    Attributes:
        bounds: lowest and highest entry, both included.
        rows: fewest and most rows.
        columns: fewest and most columns.
    """

    kind: ClassVar[str] = "matrix"
    default: tuple[tuple[float, ...], ...] = ()
    bounds: tuple[float, float] = (-1e12, 1e12)
    rows: tuple[int, int] = (1, 32)
    columns: tuple[int, int] = (1, 32)

    @property
    def expected(self) -> str:
        return (
            f"{self.rows[0]} to {self.rows[1]} rows of {self.columns[0]} to {self.columns[1]} numbers from "
            f"{plain(self.bounds[0])} to {plain(self.bounds[1])}, such as 1, 0; 0, 1"
        )

    def parse(self, value: object) -> tuple[tuple[float, ...], ...]:
        if isinstance(value, str):
            text = value.strip()
            if text.startswith("["):
                value = from_json(self.name, text, self.expected)
            else:
                value = [row for row in re.split(r"[;\n]", text) if row.strip()]
        if hasattr(value, "tolist"):
            value = value.tolist()  # type: ignore[union-attr]
        if not isinstance(value, Iterable) or isinstance(value, (str, bytes, Mapping)):
            raise ControlError(self.name, f"got {shown(value)}; expected {self.expected}")
        rows = tuple(numbers(self.name, row, self.expected) for row in value)
        widths = {len(row) for row in rows}
        if not self.rows[0] <= len(rows) <= self.rows[1] or len(widths) != 1:
            widths_text = "rows of unequal length" if len(widths) > 1 else f"{len(rows)} rows"
            raise ControlError(self.name, f"got {widths_text}; expected {self.expected}")
        if not self.columns[0] <= len(rows[0]) <= self.columns[1]:
            raise ControlError(self.name, f"got {len(rows[0])} columns; expected {self.expected}")
        for row in rows:
            for entry in row:
                if not self.bounds[0] <= entry <= self.bounds[1]:
                    raise ControlError(self.name, f"got {plain(entry)}; expected {self.expected}")
        return rows

    def text(self, value: tuple[tuple[float, ...], ...]) -> str:
        return ";".join(",".join(plain_exact(x) for x in row) for row in value)

    def schema(self) -> dict[str, Any]:
        return super().schema() | {"bounds": self.bounds, "rows": self.rows, "columns": self.columns}


REFERENCE = re.compile(r"(sample:[A-Za-z0-9][A-Za-z0-9._-]*|sha256:[0-9a-f]{64})")


@dataclass(frozen=True, kw_only=True)
class Data(Control):
    """A reference to data of the user's: `sample:NAME`, `sha256:HEX` or a path.

    Attributes:
        samples: names of the samples that suit it, the first one first.
        needs: what the data must hold, in words.
        suffixes: endings of files that can be read; `""` stands for a folder.
        many: several references instead of one.
        optional: may be left empty; members then get None.
    """

    kind: ClassVar[str] = "data"
    samples: tuple[str, ...] = ()
    needs: str = ""
    suffixes: tuple[str, ...] = ()
    many: bool = False
    optional: bool = False

    def __post_init__(self) -> None:
        if self.optional and self.many:
            raise ValueError(f"{self.name}: several references cannot be optional.")
        if self.default is None and self.optional:
            object.__setattr__(self, "default", "")
        if self.default is None and self.samples:
            first = f"sample:{self.samples[0]}"
            object.__setattr__(self, "default", (first,) if self.many else first)
        super().__post_init__()

    @property
    def expected(self) -> str:
        one = "sample:NAME, sha256:HEX or a path" + (f" to {self.needs}" if self.needs else "")
        return f"one or more of {one}" if self.many else f"{one}, or nothing" if self.optional else one

    def parse(self, value: object) -> str | tuple[str, ...]:
        if not self.many:
            return "" if self.optional and value in ("", None) else self.one(value)
        if isinstance(value, str):
            value = from_json(self.name, value, self.expected) if value.startswith("[") else value.split(",")
        if not isinstance(value, Iterable):
            raise ControlError(self.name, f"got {shown(value)}; expected {self.expected}")
        references = tuple(self.one(v) for v in value)
        if not references:
            raise ControlError(self.name, f"got nothing; expected {self.expected}")
        return references

    def one(self, value: object) -> str:
        """A single canonical reference."""
        text = str(value).strip() if isinstance(value, (str,)) or hasattr(value, "__fspath__") else ""
        if not text or len(text) > 4096 or "\0" in text or "\n" in text:
            raise ControlError(self.name, f"got {shown(value)}; expected {self.expected}")
        if text.startswith(("sample:", "sha256:")) and not REFERENCE.fullmatch(text):
            raise ControlError(self.name, f"got {shown(value)}; expected {self.expected}")
        return text

    def text(self, value: str | tuple[str, ...]) -> str:
        return value if isinstance(value, str) else json.dumps(list(value))

    def schema(self) -> dict[str, Any]:
        return super().schema() | {
            "samples": self.samples, "needs": self.needs, "suffixes": self.suffixes, "many": self.many,
            "optional": self.optional,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Checkpoint(Data):
    """A reference to model weights: `sample:NAME`, `sha256:HEX` or a path to a file or folder."""

    kind: ClassVar[str] = "checkpoint"


@dataclass(frozen=True)
class Alias:
    """Another handle of one control: `tau` for `beta`.

    Attributes:
        name: what the handle is called.
        to: from the control's value to the handle's; further arguments name controls or prepared values.
        back: from the handle's value to the control's.
        unit, symbol, doc: as for a control.
    """

    name: str
    to: Callable[..., float]
    back: Callable[..., float]
    unit: str = ""
    symbol: str = ""
    doc: str = ""
    control: str = field(default="", compare=False)


ControlT = TypeVar("ControlT", bound=Control)


def replaced(control: ControlT, **changes: Any) -> ControlT:
    """The control with other limits; a default outside them falls to the nearest bound or the first choice."""
    values = {f.name: getattr(control, f.name) for f in fields(control) if f.init} | changes
    if isinstance(control, Choice):
        names = list(changes["choices"])
        if values["default"] not in names:
            values["default"] = names[0] if names else None
    elif isinstance(control, Number):
        low, high = changes["bounds"]
        values["default"] = low if values["default"] is None else min(max(values["default"], low), high)
    return type(control)(**values)
