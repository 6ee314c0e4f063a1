"""Identity: keys that say when two results are the same computation, and where a result came from.

A key is SHA-256 over the controls that a member reaches, the bytes of its inputs, the syntax trees of the code it
reaches, the versions of the packages that this code imports, and the kind of device. Docstrings and comments are
dropped, so rewording an explanation does not invalidate a result.
"""

from __future__ import annotations

import ast
import builtins
import functools
import hashlib
import importlib.metadata
import importlib.util
import inspect
import pkgutil
import platform
import sys
import textwrap
import threading
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["Code", "code_of", "content_hash", "key", "source_of"]

OWN = ("assay",)


def content_hash(value: Any) -> str:
    """SHA-256 over plain data, arrays and tensors: all bytes, dtype and shape.

    Raises:
        TypeError: something whose content is not plain data.
    """
    digest = hashlib.sha256()
    feed(digest, value)
    return digest.hexdigest()


def feed(digest: Any, value: Any) -> None:
    """Feed a value into a hash so that different values give different bytes."""
    if value is None or isinstance(value, (bool, int, float, str)):
        digest.update(f"{type(value).__name__}\0{value!r}\0".encode())
    elif isinstance(value, bytes):
        digest.update(b"bytes\0" + len(value).to_bytes(8, "little") + value)
    elif isinstance(value, (list, tuple)):
        digest.update(f"sequence\0{len(value)}\0".encode())
        for entry in value:
            feed(digest, entry)
    elif isinstance(value, Mapping):
        digest.update(f"mapping\0{len(value)}\0".encode())
        for name in sorted(value):
            feed(digest, name)
            feed(digest, value[name])
    elif hasattr(value, "detach") and hasattr(value, "untyped_storage"):  # a torch tensor; numpy has no bfloat16
        import torch

        raw = value.detach().contiguous().cpu().reshape(-1).view(torch.uint8).numpy()
        digest.update(f"array\0torch.{value.dtype}\0{tuple(value.shape)}\0".encode())
        digest.update(memoryview(raw))
    elif hasattr(value, "__array_interface__") or hasattr(value, "dtype"):
        import numpy as np

        array = np.asarray(value)
        if array.dtype.hasobject:
            raise TypeError("an array of objects has no content hash")
        digest.update(f"array\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    else:
        raise TypeError(f"{type(value).__name__} has no content hash")


_parsing = threading.Lock()


class Code:
    """The code that a function reaches: its digest, the packages outside this project that it imports, and the modules
    of the library.
    """

    def __init__(self, digest: str, packages: tuple[str, ...], modules: tuple[str, ...]) -> None:
        self.digest = digest
        self.packages = packages
        self.modules = modules


class Stripped(ast.NodeTransformer):
    """Drops docstrings and decorators' arguments that only people see."""

    def visit(self, node: ast.AST) -> ast.AST:
        body = getattr(node, "body", None)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)) and body:
            first = body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = body[1:] or [ast.Pass()]
        return self.generic_visit(node)


def parsed(source: str) -> ast.Module:
    """The syntax tree of a source; one at a time, for CPython 3.11's parser counts its depth across threads."""
    with _parsing:
        return ast.parse(textwrap.dedent(source))


def source_of(function: Callable[..., Any]) -> str:
    """The source of a function or class as it stands; a class is found by parsing its module.

    Raises:
        OSError, TypeError: it has none.
    """
    with _parsing:
        return inspect.getsource(function)


@functools.cache
def tree_text(source: str, *, decorators: bool = True) -> str:
    """The syntax tree of a source without docstrings, comments and positions."""
    tree = parsed(source)
    Stripped().visit(tree)
    if not decorators:
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                node.decorator_list = []
    return ast.dump(tree, annotate_fields=False, include_attributes=False)


@functools.cache
def module_source(name: str) -> str | None:
    """The source text of a module of ours, without importing it."""
    module = sys.modules.get(name)
    origin = getattr(module, "__file__", None)
    if origin is None:
        try:
            found = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            return None
        origin = found.origin if found else None
    if not origin or not origin.endswith(".py"):
        return None
    return Path(origin).read_text(encoding="utf-8")


def is_own(name: str) -> bool:
    return name.partition(".")[0] in OWN


def imports_of(name: str, source: str) -> tuple[tuple[str, str | None], ...]:
    """`(module, imported name or None)` of every import in a module's source, absolute."""
    package = name if (spec := sys.modules.get(name)) and hasattr(spec, "__path__") else name.rpartition(".")[0]
    return imports_in(source, package)


@functools.cache
def imports_in(source: str, package: str) -> tuple[tuple[str, str | None], ...]:
    """The imports in a source, relative ones from a package."""
    return tuple(imported_names(source, package))


def imported_names(source: str, package: str) -> Iterator[tuple[str, str | None]]:
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, None
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parent = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
                base = f"{parent}.{base}" if base else parent
            for alias in node.names:
                yield base, alias.name


class Closure:
    """Collects what a function reaches: functions of a study one by one, modules of the library as a whole."""

    def __init__(self) -> None:
        self.parts: dict[str, str] = {}
        self.packages: set[str] = set()

    def function(self, function: Callable[..., Any]) -> None:
        function = inspect.unwrap(function)
        while isinstance(function, functools.partial):
            self.data(f"partial {function.func!r}", [repr(function.args), repr(sorted(function.keywords.items()))])
            function = inspect.unwrap(function.func)
        module = getattr(function, "__module__", "") or ""
        name = f"{module}:{getattr(function, '__qualname__', repr(function))}"
        if name in self.parts:
            return
        if is_own(module):
            self.module(module)
            return
        try:
            source = source_of(function)
        except (OSError, TypeError):
            self.packages.add(module.partition(".")[0])
            return
        self.parts[name] = tree_text(source, decorators=False)
        names = globals_of(function) if isinstance(function, types.FunctionType) else vars(sys.modules[module])
        tree = parsed(source)
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                node.decorator_list = []
        for node in ast.walk(tree):
            chain = attribute_chain(node)
            if chain and chain[0] in names:
                self.reached(names[chain[0]], chain[1:], f"{module}:{chain[0]}", module)
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for target, item in imports_of(module, ast.unparse(node)):
                    self.imported(target, item)

    def reached(self, value: Any, attributes: list[str], name: str, module: str) -> None:
        """Something that a function of a study names, followed along its attributes as far as they are modules."""
        while isinstance(value, types.ModuleType) and attributes and hasattr(value, attributes[0]):
            if not is_own(value.__name__):
                break
            value, attributes = getattr(value, attributes[0]), attributes[1:]
        if isinstance(value, types.ModuleType):
            self.imported(value.__name__, None)
        elif isinstance(value, (types.FunctionType, type, functools.partial)):
            origin = getattr(value, "__module__", "") or ""
            if is_own(origin):
                self.module(origin)
            elif origin == module or origin.startswith("workbench.studies") or isinstance(value, functools.partial):
                self.function(value)
            else:
                self.packages.add(origin.partition(".")[0])
        elif callable(value) and is_own(getattr(value, "__module__", "") or ""):
            self.module(value.__module__)
        else:
            self.data(name, value)

    def data(self, name: str, value: Any) -> None:
        """A constant that a function reads."""
        try:
            self.parts[f"data {name}"] = content_hash(value)
        except TypeError:
            kind = type(value)
            self.packages.add((kind.__module__ or "").partition(".")[0])

    def imported(self, module: str, item: str | None) -> None:
        if not is_own(module):
            self.packages.add(module.partition(".")[0])
            return
        if item is not None:
            value = getattr(sys.modules.get(module), item, None)
            if isinstance(value, types.ModuleType):
                module = value.__name__
            elif value is not None and is_own(getattr(value, "__module__", "") or ""):
                module = value.__module__
        self.module(module)

    def module(self, module: str) -> None:
        """A module of the library, with all that it imports of the library."""
        name = f"module {module}"
        if name in self.parts:
            return
        source = module_source(module)
        if source is None:
            return
        self.parts[name] = tree_text(source)
        for target, item in imports_of(module, source):
            self.imported(target, item)
        package = sys.modules.get(module)
        if module.rpartition(".")[2].startswith("_") and package is not None and hasattr(package, "__path__"):
            for found in pkgutil.iter_modules(package.__path__, f"{module}."):
                self.module(found.name)  # a kernel: which of its forms serves is chosen when it runs


def globals_of(function: types.FunctionType) -> dict[str, Any]:
    """What the names in a function's body stand for: module globals and closed-over variables."""
    inner = inspect.getclosurevars(function)
    return {**function.__globals__, **inner.nonlocals}


def attribute_chain(node: ast.AST) -> list[str]:
    """`a.b.c` as `["a", "b", "c"]`; empty for anything else."""
    chain: list[str] = []
    while isinstance(node, ast.Attribute):
        chain.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or hasattr(builtins, node.id):
        return []
    return [node.id, *reversed(chain)]


@functools.cache
def code_of(function: Callable[..., Any]) -> Code:
    """The code that a function reaches.

    Functions of the study are followed one by one; of the library, whole modules are taken with what they import.
    """
    closure = Closure()
    closure.function(function)
    digest = content_hash(closure.parts)
    packages = tuple(sorted(p for p in closure.packages if p and p not in (*OWN, "workbench")))
    modules = tuple(sorted(part.removeprefix("module ") for part in closure.parts if part.startswith("module ")))
    return Code(digest, packages, modules)


@functools.cache
def distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


@functools.cache
def version_of(package: str) -> str:
    """The installed version of the distribution that a top-level package comes from; empty for the standard library."""
    for distribution in distributions().get(package, []):
        return f"{distribution} {importlib.metadata.version(distribution).partition('+')[0]}"
    return ""


def key(member: str, controls: Mapping[str, Any], code: Code, device: str = "cpu") -> str:
    """The content key of a member under a setting of the controls that it reaches.

    Args:
        member: study and member, such as `lif-frequency-matching/sweep`.
        controls: canonical values; for inputs, the SHA-256 of their bytes.
        code: the code that the member reaches.
        device: kind of device.
    """
    versions = sorted(filter(None, map(version_of, code.packages)))
    python = ".".join(platform.python_version_tuple()[:2])
    return content_hash([member, dict(controls), code.digest, versions, f"python {python}", device])
