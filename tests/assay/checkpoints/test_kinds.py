"""Every kind of file gives back what the library of that kind wrote into it."""

from __future__ import annotations

import io
import zipfile

import gguf
import numpy as np
import pytest
import safetensors
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.torch import save_file, save_model

from assay import checkpoints
from assay.checkpoints.stored import TORCH_TYPES

SHAPES = st.lists(st.integers(0, 7), max_size=4).map(tuple)
EVERY = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
IN_OLD_LAYOUT = ("BOOL", "U8", "I8", "I16", "I32", "I64", "F16", "BF16", "F32", "F64", "C64", "C128")
IN_SAFETENSORS = sorted(TORCH_TYPES.keys() - {"C128"})


def drawn(shape, dtype, seed=0):
    """Any bits that are no NaN, so that equality means equal."""
    count = int(np.prod(shape, dtype=int))
    source = torch.Generator().manual_seed(seed)
    if dtype is torch.bool:
        return torch.randint(0, 2, shape, generator=source).bool()
    if dtype.is_complex:
        return torch.randn(shape, generator=source, dtype=dtype)
    if dtype.is_floating_point:
        return (3 * torch.randn(count, generator=source, dtype=torch.float64)).abs().to(dtype).reshape(shape)
    return torch.randint(0, 100, (count,), generator=source).to(dtype).reshape(shape)


def same(a, b):
    """Equal in type, shape and every bit; NaN and 8-bit floats included."""
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    if a.numel():
        assert torch.equal(*(t.contiguous().reshape(-1).view(torch.uint8) for t in (a, b)))


@EVERY
@given(
    shapes=st.lists(SHAPES, min_size=1, max_size=5), kinds=st.lists(st.sampled_from(IN_SAFETENSORS), min_size=5),
    rows=st.integers(1, 8), seed=st.integers(0, 99),
)  # fmt: skip
def test_safetensors(tmp_path, shapes, kinds, rows, seed):
    written = {f"t.{i}": drawn(shape, TORCH_TYPES[kinds[i]], seed + i) for i, shape in enumerate(shapes)}
    save_file(written, tmp_path / "m.safetensors")
    opened = checkpoints.open(tmp_path / "m.safetensors")
    assert opened.kind == "safetensors" and set(opened.names()) == set(written)
    with safetensors.safe_open(tmp_path / "m.safetensors", "pt") as library:
        for name, tensor in written.items():
            stored = opened.stored(name)
            piece = library.get_slice(name)
            assert (list(stored.shape), stored.dtype) == (piece.get_shape(), piece.get_dtype())
            assert stored.nbytes == tensor.numel() * tensor.element_size()
            same(opened.tensor(name), tensor.to(stored.read_as))
            blocks = list(opened.blocks(name, rows=rows))
            if tensor.dim() and tensor.numel():
                assert all(len(block) == rows for block in blocks[:-1]) and 1 <= len(blocks[-1]) <= rows
                same(torch.cat(blocks), tensor.to(stored.read_as))


@EVERY
@given(
    shapes=st.lists(SHAPES, min_size=1, max_size=5), kinds=st.lists(st.sampled_from(sorted(TORCH_TYPES)), min_size=5),
    legacy=st.booleans(), turned=st.booleans(), rows=st.integers(1, 8),
)  # fmt: skip
def test_state_dicts(tmp_path, shapes, kinds, legacy, turned, rows):
    """Archives and the old layout, which has the older types only; transposed views."""
    if legacy:
        kinds = [kind if kind in IN_OLD_LAYOUT else "F32" for kind in kinds]
    written = {f"t.{i}": drawn(shape, TORCH_TYPES[kinds[i]], i) for i, shape in enumerate(shapes)}
    if turned:
        written = {name: tensor.permute(tuple(reversed(range(tensor.dim())))) for name, tensor in written.items()}
    torch.save(written, tmp_path / "m.pt", _use_new_zipfile_serialization=not legacy)
    opened = checkpoints.open(tmp_path / "m.pt")
    assert opened.kind == "PyTorch" and set(opened.names()) == set(written)
    assert bool(opened.notes) == legacy
    for name, tensor in written.items():
        stored = opened.stored(name)
        assert TORCH_TYPES[stored.dtype] == tensor.dtype and stored.shape == tensor.shape
        same(opened.tensor(name), tensor.to(stored.read_as))
        if tensor.dim() and tensor.numel():
            same(torch.cat(list(opened.blocks(name, rows=rows))), tensor.to(stored.read_as))


def test_views_of_one_storage(tmp_path):
    base = torch.arange(60.0).reshape(10, 6)
    written = {"all": base, "same": base, "middle": base[3:7], "columns": base[:, 2:4], "steps": base[::3, ::2]}
    torch.save(written, tmp_path / "m.pt")
    opened = checkpoints.open(tmp_path / "m.pt")
    for name, tensor in written.items():
        same(opened.tensor(name), tensor)
    assert opened.ties == {"same": "all"}
    assert opened.names() == ("all", "columns", "middle", "steps")


def test_a_view_that_repeats_its_storage_is_refused_before_memory_is_asked_for(tmp_path):
    torch.save({"w": torch.ones(1).expand(10**12), "v": torch.ones(3)}, tmp_path / "m.pt")
    opened = checkpoints.open(tmp_path / "m.pt")
    assert opened.names() == ("v",)
    with pytest.raises(ValueError, match=r"^w: asks for 4,000,000,000,000 bytes in m.pt; expected at most the 4 "):
        opened.tensor("w")


def test_of_a_training_state_only_the_weights_are_taken(tmp_path):
    weights = {"a.weight": torch.randn(3, 2), "b": torch.nn.Parameter(torch.ones(2))}
    torch.save({"step": 7, "model": weights, "optimizer": {"state": [torch.zeros(3)]}}, tmp_path / "m.ckpt")
    assert checkpoints.open(tmp_path / "m.ckpt").names() == ("a.weight", "b")
    torch.save({"encoder": weights, "heads": [{"w": torch.ones(1)}, torch.zeros(2)]}, tmp_path / "nested")
    assert checkpoints.open(tmp_path / "nested").names() == ("encoder.a.weight", "encoder.b", "heads.0.w", "heads.1")
    torch.save(torch.ones(2, 3), tmp_path / "one.pt")
    assert checkpoints.open(tmp_path / "one.pt").names() == ("one",)


def test_a_state_that_holds_itself_ends(tmp_path):
    state = {"w": torch.ones(2)}
    state["again"] = state
    torch.save(state, tmp_path / "m.pt")
    assert checkpoints.open(tmp_path / "m.pt").names() == ("w",)


@EVERY
@given(
    arrays=st.dictionaries(
        st.sampled_from(["a", "b.c", "layer.10.w"]),
        hnp.arrays(
            st.sampled_from(["<f2", "<f4", "<f8", ">f4", ">f8", "<i4", ">i8", "u1", "?", "<c8", "<u2"]),
            hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6),
        ),
        min_size=1,
    ),
    columns=st.booleans(), packed=st.booleans(), rows=st.integers(1, 7),
)  # fmt: skip
def test_arrays_of_numpy(tmp_path, arrays, columns, packed, rows):
    """Row-major and column-major, either byte order, packed or not."""
    if columns:
        arrays = {name: np.asfortranarray(array) for name, array in arrays.items()}
    (np.savez_compressed if packed else np.savez)(tmp_path / "m.npz", **arrays)
    array = next(iter(arrays.values()))
    np.save(tmp_path / "one.npy", array)
    opened, alone = checkpoints.open(tmp_path / "m.npz"), checkpoints.open(tmp_path / "one.npy")
    assert opened.kind == alone.kind == "NumPy" and alone.names() == ("one",)
    assert set(opened.names()) == set(arrays)
    for source, key, held in [(alone, "one", array), *((opened, name, array) for name, array in arrays.items())]:
        wanted = torch.from_numpy(np.array(held.astype(held.dtype.newbyteorder("=")), order="C"))
        stored = source.stored(key)
        assert TORCH_TYPES[stored.dtype] == wanted.dtype and stored.shape == wanted.shape
        same(source.tensor(key), wanted.to(stored.read_as))
        if held.ndim and held.size:
            same(torch.cat(list(source.blocks(key, rows=rows))), wanted.to(stored.read_as))


def test_arrays_that_are_no_plain_numbers_are_named_and_the_others_read(tmp_path):
    np.savez(
        tmp_path / "m.npz", w=np.ones((3, 2), "f4"), words=np.array(["a"]), objects=np.array([{}], dtype=object),
        long=np.ones(2, np.longdouble),
    )  # fmt: skip
    opened = checkpoints.open(tmp_path / "m.npz")
    assert opened.names() == ("w",)
    assert opened.damaged["objects"] == "objects: holds Python objects in m.npz; expected plain numbers."
    assert opened.damaged["words"] == "words: holds <U1 in m.npz; expected plain numbers."
    assert set(opened.damaged) == {"words", "objects", "long"}


WRITTEN = "Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 BF16 TQ1_0 TQ2_0"
DECODED = [gguf.GGMLQuantizationType[name] for name in WRITTEN.split()]


@pytest.mark.parametrize("kind", DECODED, ids=lambda kind: kind.name)
@pytest.mark.parametrize("rows", [1, 3, 100])
def test_gguf_blocks(gguf_file, kind, rows):
    """As the library's own reader and decoder give them; the stored type is shown."""
    values = np.random.default_rng(0).standard_normal((7, 512)).astype(np.float32)
    path = gguf_file({"w": (values, kind), "flat": (values[0], kind), "cube": (values[:6].reshape(2, 3, 512), kind)})
    opened = checkpoints.open(path)
    by_library = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
    for name in ("w", "flat", "cube"):
        stored = opened.stored(name)
        tensor = by_library[name]
        assert stored.dtype == kind.name and stored.shape == tuple(reversed(tensor.shape.tolist()))
        assert stored.quantised == (kind.name != "BF16") and stored.nbytes == tensor.n_bytes
        wanted = torch.from_numpy(gguf.dequantize(tensor.data, kind).reshape(stored.shape).copy())
        same(opened.tensor(name), wanted)
        same(torch.cat(list(opened.blocks(name, rows=rows))), wanted)


@pytest.mark.parametrize("kind", sorted(gguf.GGML_QUANT_SIZES), ids=lambda kind: kind.name)
def test_gguf_any_type(tmp_path, kind):
    """Random bytes of each type: what the library decodes is decoded the same, what it does not is refused by name."""
    entries, nbytes = gguf.GGML_QUANT_SIZES[kind]
    raw = np.random.default_rng(1).integers(0, 255, (3, 2 * nbytes), dtype=np.uint8)
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_tensor("w", raw, raw_dtype=kind, raw_shape=raw.shape if nbytes > 1 or entries > 1 else None)
    writer.add_tensor("v", np.ones(4, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    opened = checkpoints.open(tmp_path / "m.gguf")
    assert (opened.stored("w").dtype, opened.stored("w").shape) == (kind.name, (3, 2 * entries))
    try:
        with np.errstate(all="ignore"):
            wanted = gguf.dequantize(raw, kind)
    except NotImplementedError:
        if kind.name[0] in "IF" and not kind.name.startswith("IQ"):
            assert opened.tensor("w").numpy().tobytes() == raw.tobytes()
            return
        with pytest.raises(ValueError, match=rf"^w: is stored as {kind.name}, which gguf does not decode\.$"):
            opened.tensor("w")
        assert opened.tensor("v").tolist() == [1, 1, 1, 1]
        return
    np.testing.assert_array_equal(opened.tensor("w").numpy().reshape(-1), np.float32(wanted).reshape(-1))


def test_gguf_metadata(gguf_file):
    opened = checkpoints.open(gguf_file({"w": np.ones((2, 4), "f4")}, tokens=5, kinds=[3, 1, 1, 1, 5]))
    assert opened.config["general.architecture"] == "llama"
    assert opened.config["tokenizer.ggml.tokens"] == 5
    assert opened.config["tokenizer.ggml.token_type"].tolist() == [3, 1, 1, 1, 5]


def test_types_that_are_asked_for(tmp_path):
    written = {"b": torch.randn(5, 3).bfloat16(), "d": torch.randn(4, dtype=torch.float64), "i": torch.arange(6)}
    save_file(written | {"c": torch.randn(3, dtype=torch.complex64)}, tmp_path / "m.safetensors")
    opened = checkpoints.open(tmp_path / "m.safetensors")
    assert [opened.tensor(n).dtype for n in "bdic"] == [torch.float32, torch.float64, torch.int64, torch.complex64]
    for name, tensor in written.items():
        for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64):
            same(opened.tensor(name, dtype=dtype), tensor.to(dtype))
    for name, dtype, expected in (
        ("b", torch.int32, "a float type of 16 to 64 bits"),
        ("c", torch.float32, "None for"),
    ):
        with pytest.raises(ValueError, match=rf"^dtype: got {dtype} for {name}, stored as \w+; expected {expected}"):
            opened.tensor(name, dtype=dtype)
    with pytest.raises(ValueError, match=r"^rows: got 0; expected at least 1\.$"):
        next(opened.blocks("b", rows=0))


def test_types_narrower_than_a_byte_are_shown_and_not_read(tmp_path):
    header = (
        b'{"w":{"dtype":"F4","shape":[2,4],"data_offsets":[0,4]},"v":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}}'
    )
    (tmp_path / "m.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(6))
    opened = checkpoints.open(tmp_path / "m.safetensors")
    assert opened.stored("w").dtype == "F4" and opened.names() == ("v",)
    with pytest.raises(ValueError, match=r"^w: is stored as F4; expected a type of 8 bits or more\.$"):
        opened.tensor("w")


def test_ties_that_safetensors_writes_down(tmp_path):
    """`save_model` keeps one of several shared tensors and names the others in the header."""
    model = torch.nn.ModuleDict({"embed": torch.nn.Embedding(9, 4), "head": torch.nn.Linear(4, 9, bias=False)})
    model["head"].weight = model["embed"].weight
    save_model(model, str(tmp_path / "m.safetensors"))
    opened = checkpoints.open(tmp_path / "m.safetensors")
    assert opened.ties == {"head.weight": "embed.weight"} and opened.names() == ("embed.weight",)
    same(opened.tensor("head.weight"), model["embed"].weight.detach())


def test_the_first_bytes_decide_and_not_the_name(tmp_path):
    save_file({"w": torch.ones(2)}, tmp_path / "really.bin")
    buffer = io.BytesIO()
    np.save(buffer, np.ones(3))
    (tmp_path / "upload").write_bytes(buffer.getvalue())
    torch.save({"w": torch.ones(2)}, tmp_path / "checkpoint_12")
    kinds = [checkpoints.open(tmp_path / name).kind for name in ("really.bin", "upload", "checkpoint_12")]
    assert kinds == ["safetensors", "NumPy", "PyTorch"]


def test_nothing_is_held_open(tmp_path):
    """A file may be replaced or removed at any time; then the sentence says so."""
    save_file({"w": torch.ones(2000, 1000), "v": torch.ones(1)}, tmp_path / "m.safetensors")
    opened = checkpoints.open(tmp_path / "m.safetensors")
    blocks = opened.blocks("w", rows=10)
    next(blocks)
    with (tmp_path / "m.safetensors").open("r+b") as file:
        file.truncate(200_000)
    with pytest.raises(ValueError, match=r"^w: the file ends [\d,]+ bytes too early; expected a whole file\.$"):
        list(blocks)
    (tmp_path / "m.safetensors").unlink()
    with pytest.raises(ValueError, match=r"^w: m\.safetensors cannot be read \(No such file or directory\)"):
        opened.tensor("w")


def test_a_packed_archive_of_torch_is_refused(tmp_path):
    """Its bytes could not be read in place."""
    torch.save({"w": torch.ones(3)}, tmp_path / "plain.pt")
    with zipfile.ZipFile(tmp_path / "plain.pt") as plain, zipfile.ZipFile(
        tmp_path / "m.pt", "w", zipfile.ZIP_DEFLATED
    ) as packed:  # fmt: skip
        for name in plain.namelist():
            packed.writestr(name, plain.read(name))
    with pytest.raises(ValueError, match=r"^m\.pt: is a compressed archive; expected a whole file of torch\.save\.$"):
        checkpoints.open(tmp_path / "m.pt")
