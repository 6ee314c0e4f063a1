"""Kinds of files that may be uploaded, told by what they hold; nothing in them is run, and nothing is unpacked."""

from __future__ import annotations

import codecs
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from assay.data import InputError
from assay.data.archive import array_header, open_archive

__all__ = ["check_kind", "expected_kinds"]

UNPACKED = 8 * 1024**3  # bytes that the arrays of an archive may come to
MEMBERS = 100_000
HEADER = 100 * 1024**2  # bytes of a safetensors header that its readers take
SUFFIXES = {
    "a NumPy archive": (".npz",), "a NumPy array": (".npy",), "PyTorch weights": (".pt", ".pth", ".bin"),
    "safetensors": (".safetensors",), "GGUF": (".gguf",), "Parquet": (".parquet",),
    "text": (".csv", ".tsv", ".txt", ".json"),
}  # fmt: skip
OTHERS = {suffix for kind, suffixes in SUFFIXES.items() if kind != "text" for suffix in suffixes}
PACKED = {
    b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd", b"7z\xbc\xaf": "7-zip",
}  # fmt: skip


def expected_kinds() -> str:
    """The endings of all kinds, in words."""
    *most, last = (suffix for suffixes in SUFFIXES.values() for suffix in suffixes)
    return f"{', '.join(most)} or {last}"


def check_kind(path: Path, name: str) -> str:
    """What a file is, by its content.

    Args:
        path: where it lies.
        name: what it is called.

    Returns:
        `a NumPy archive`, `a NumPy array`, `PyTorch weights`, `safetensors`, `GGUF`, `Parquet` or `text`.

    Raises:
        ValueError: one sentence: it is of another kind, is not what its name says, is not whole, holds Python objects,
            or would unpack to more than can be meant. Text may be called as its field has it: .swc, .soc, .jsonl.
    """
    kind, suffix = kind_of(path, name), Path(name).suffix.lower()
    if suffix in OTHERS if kind == "text" else suffix not in SUFFIXES[kind]:  # each field has its own kinds of text
        raise ValueError(f"{name} holds {kind}; expected a name that ends in {' or '.join(SUFFIXES[kind])}")
    return kind


def kind_of(path: Path, name: str) -> str:
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(16)
        file.seek(max(0, size - 4))
        tail = file.read(4)
    if head.startswith(b"PK\x03\x04"):
        return archive_kind(path, name, size)
    if head.startswith(b"\x93NUMPY"):
        check_array(path, name)
        return "a NumPy array"
    if head.startswith(b"GGUF"):
        return "GGUF"
    if head.startswith(b"PAR1") and tail == b"PAR1" and size > 12:
        return "Parquet"
    length = int.from_bytes(head[:8], "little")
    if head[8:9] == b"{" and 0 < length <= min(HEADER, size - 8):
        return "safetensors"
    if head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05":
        raise ValueError(f"{name} is a pickle, which can hold code; expected the same numbers as safetensors or .npz")
    for mark, packed in PACKED.items():
        if head.startswith(mark):
            raise ValueError(f"{name} is packed with {packed}; expected what is in it")
    if is_text(path):
        return "text"
    raise ValueError(f"{name} is of no kind that is read here; expected {expected_kinds()}")


def archive_kind(path: Path, name: str, size: int) -> str:
    """A zip archive of arrays, or of PyTorch's weights; looked at by its index and headers."""
    try:
        with zipfile.ZipFile(path) as bundle:
            members = bundle.infolist()
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError):
        raise ValueError(f"{name} is an archive that is not whole; expected it as it was saved") from None
    if len(members) > MEMBERS:
        raise ValueError(f"{name} holds {len(members):,} files; expected at most {MEMBERS:,}")
    for member in members:
        place = PurePosixPath(member.filename.replace("\\", "/"))
        if place.is_absolute() or ".." in place.parts or ":" in place.parts[:1]:
            raise ValueError(f"{name} names the file {member.filename[:60]!r}; expected files inside the archive only")
    if any(PurePosixPath(member.filename).name == "data.pkl" for member in members):
        if sum(member.file_size for member in members) > 2 * size:  # weights are stored, not packed
            raise ValueError(f"{name} would unpack to far more than it holds; expected what torch.save wrote")
        return "PyTorch weights"
    if not members or any(not member.filename.endswith(".npy") for member in members if not member.is_dir()):
        raise ValueError(f"{name} is a zip archive of other files; expected arrays (.npz), or the files themselves")
    try:
        open_archive(path, UNPACKED)
    except InputError as error:
        raise ValueError(str(error).replace(f"{path.name}:", name, 1).rstrip(".")) from None
    return "a NumPy archive"


def check_array(path: Path, name: str) -> None:
    with path.open("rb") as file:
        try:
            _, _, dtype = array_header(file)
        except ValueError:
            raise ValueError(f"{name} is not whole; expected an array that numpy.save wrote") from None
    if dtype.hasobject:
        raise ValueError(f"{name} holds Python objects; expected numbers or text")


def is_text(path: Path) -> bool:
    """UTF-8 without control characters that no text has."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        try:
            while piece := file.read(1024**2):
                if b"\x00" in decoder.decode(piece).encode():
                    return False
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True
