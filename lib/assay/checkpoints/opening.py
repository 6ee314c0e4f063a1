"""Opening a checkpoint of any kind; what it is shows in its first bytes, not in its name."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

from assay.checkpoints.checkpoint import Checkpoint
from assay.checkpoints.folder import DECIDING, json_object, plan
from assay.checkpoints.gguf_file import GgufFile
from assay.checkpoints.numpy_file import NumpyFile
from assay.checkpoints.safetensors_file import SafetensorsFile
from assay.checkpoints.stored import BROKEN_ARCHIVE, WeightFile
from assay.checkpoints.torch_file import TorchFile

__all__ = ["open"]

KINDS: dict[type[WeightFile], str] = {
    SafetensorsFile: "safetensors", GgufFile: "GGUF", TorchFile: "PyTorch", NumpyFile: "NumPy",
}  # fmt: skip


def open(path: Path | str) -> Checkpoint:
    """Open a checkpoint; headers are read, weights are not.

    Args:
        path: a Hugging Face folder (`config.json` and safetensors or `pytorch_model.bin`, sharded or not), or a file:
            `.safetensors`, `.gguf`, a state dict of `torch.save`, `.npz` or `.npy`.

    Raises:
        ValueError: nothing there, of no known kind, or no tensor can be read. Tensors that cannot be read beside
            others that can are in `Checkpoint.damaged`.
    """
    text = os.fspath(path)
    if not text.strip() or "\0" in text:
        raise ValueError(f"path: got {text[:80]!r}; expected a file or folder.")
    place = Path(text).expanduser()
    try:
        opened = open_folder(place) if place.is_dir() else open_file(place)
    except FileNotFoundError:
        raise ValueError(f"{place.name}: is not there; expected a checkpoint.") from None
    except OSError as error:
        raise ValueError(unreadable(place, error)) from None
    if not opened.names():
        reasons = [*opened.damaged.values(), *opened.notes]
        raise ValueError(reasons[0] if reasons else f"{place.name}: holds no tensors; expected a checkpoint.")
    return opened


def open_file(path: Path) -> Checkpoint:
    file = weight_file(path)
    config = file.metadata if isinstance(file, GgufFile) else {}
    return Checkpoint(path.name, KINDS[type(file)], [file], root=path, config=config)


def open_folder(folder: Path) -> Checkpoint:
    chosen = plan(folder)
    notes, missing = chosen.notes, dict(chosen.missing)
    files = []
    for path in chosen.files:
        try:
            files.append(weight_file(path))
        except (ValueError, OSError) as error:
            notes.append(str(error) if isinstance(error, ValueError) else unreadable(path, error))
            missing[path.relative_to(folder).as_posix()] = "cannot be read"
    config = {}
    if (folder / "config.json").is_file():
        try:
            config = json_object(folder / "config.json")
        except ValueError as error:
            notes.append(str(error))
    index = chosen.index.name if chosen.index else ""
    lacking = {}
    for name, shard in chosen.owners.items():
        why = f"{shard[:120]} {missing[shard]}" if shard in missing else f"{shard} does not hold it"
        lacking[name] = f"{name}: is named in {index}, but {why}."
    gguf = len(files) == 1 and isinstance(files[0], GgufFile)
    others = [folder / name for name in DECIDING if (folder / name).is_file()]
    return Checkpoint(
        folder.resolve().name, "GGUF" if gguf else "Hugging Face folder", files, root=folder,
        deciding=[*others, *([chosen.index] if chosen.index else [])],
        owners={name: Path(shard).name for name, shard in chosen.owners.items()},
        config=files[0].metadata if gguf else config, damaged=lacking, notes=notes,
    )  # fmt: skip


def unreadable(path: Path, error: OSError) -> str:
    return f"{path.name[:80]}: cannot be read ({error.strerror}); expected a checkpoint."


def weight_file(path: Path) -> WeightFile:
    """The reader of a file, by its first bytes.

    Raises:
        ValueError: empty, cut off at once, or of no known kind.
        OSError: it cannot be read.
    """
    if not path.exists():
        raise FileNotFoundError
    if not path.is_file():
        raise ValueError(f"{path.name}: is neither file nor folder; expected a checkpoint.")
    with path.open("rb") as file:
        head = file.read(16)
    if not head:
        raise ValueError(f"{path.name}: is empty; expected a file of weights.")
    if head[:4] == b"GGUF":
        return GgufFile(path)
    if head[:6] == b"\x93NUMPY":
        return NumpyFile(path, archive=False)
    if head[8:9] == b"{":  # after a length, which may begin like an archive or a pickle
        return SafetensorsFile(path)
    if head[:4] == b"PK\x03\x04":
        try:
            with zipfile.ZipFile(path) as bundle:
                of_torch = any(name.endswith("/data.pkl") for name in bundle.namelist())
        except BROKEN_ARCHIVE:
            raise ValueError(f"{path.name}: is cut off; expected a whole file of torch.save or numpy.savez.") from None
        return (TorchFile if of_torch else NumpyFile)(path, archive=True)
    if head[:1] == b"\x80":
        return TorchFile(path, archive=False)
    raise ValueError(f"{path.name}: begins like no known kind; expected safetensors, GGUF, torch.save, .npz or .npy.")
