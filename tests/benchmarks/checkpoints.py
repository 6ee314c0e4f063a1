"""One side of the checkpoint benchmark: reads a folder in a process of its own, answers with seconds and peak memory.

    python tests/benchmarks/checkpoints.py make FOLDER
    python tests/benchmarks/checkpoints.py assay|safetensors CASE FOLDER

The checkpoint is 6 GB of bfloat16 in five shards with an index, in the shapes of a Llama of 9 layers, 4,096 wide, with
128,256 tokens. Every byte of it is written.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import torch

WIDTH, INNER, KEYS, TOKENS, LAYERS = 4096, 14336, 1024, 128_256, 9
THREADS = 1  # as in every job


def shards() -> list[dict[str, tuple[int, ...]]]:
    """Shapes by name, file by file: embedding, three layers a file, unembedding with the norm."""
    layer = {
        "self_attn.q_proj": (WIDTH, WIDTH), "self_attn.k_proj": (KEYS, WIDTH), "self_attn.v_proj": (KEYS, WIDTH),
        "self_attn.o_proj": (WIDTH, WIDTH), "mlp.gate_proj": (INNER, WIDTH), "mlp.up_proj": (INNER, WIDTH),
        "mlp.down_proj": (WIDTH, INNER), "input_layernorm": (WIDTH,), "post_attention_layernorm": (WIDTH,),
    }  # fmt: skip
    layers = [
        {f"model.layers.{i}.{part}.weight": shape for i in range(first, first + 3) for part, shape in layer.items()}
        for first in range(0, LAYERS, 3)
    ]
    ends = {"lm_head.weight": (TOKENS, WIDTH), "model.norm.weight": (WIDTH,)}
    return [{"model.embed_tokens.weight": (TOKENS, WIDTH)}, *layers, ends]


def make(folder: Path) -> None:
    """Write the checkpoint with the safetensors library; normal numbers, repeated every 16 million."""
    from safetensors.torch import save_file

    numbers = (0.02 * torch.randn(2**24, generator=torch.Generator().manual_seed(0))).bfloat16()
    weight_map, size = {}, 0
    files = shards()
    for number, shapes in enumerate(files, 1):
        name = f"model-{number:05}-of-{len(files):05}.safetensors"
        tensors = {}
        own = numbers.roll(number)  # so that no two files hold the same
        for key, shape in shapes.items():
            count = torch.Size(shape).numel()
            tensors[key] = own.repeat(-(-count // len(own)))[:count].reshape(shape).contiguous()
        save_file(tensors, folder / name)
        weight_map |= dict.fromkeys(shapes, name)
        size += sum(tensor.nbytes for tensor in tensors.values())
    index = {"metadata": {"total_size": size}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    config = {"model_type": "llama", "vocab_size": TOKENS, "tie_word_embeddings": False}
    (folder / "config.json").write_text(json.dumps(config))
    print(size, flush=True)


Case = Callable[[Path], object]


def assay() -> dict[str, Case]:
    sys.path.insert(0, "lib")
    from assay import checkpoints

    def report(folder: Path) -> None:
        rows = checkpoints.open(folder).report()
        assert all(row.verdict == "finite" for row in rows)

    def upcast(folder: Path) -> None:
        opened = checkpoints.open(folder)
        for name in opened.names():
            opened.tensor(name)

    return {"report": report, "upcast": upcast, "unembedding": checkpoints.find_unembedding}


def safetensors() -> dict[str, Case]:
    from safetensors import safe_open
    from safetensors.torch import load_file

    def report(folder: Path) -> None:
        for file in sorted(folder.glob("*.safetensors")):
            with safe_open(file, "pt") as opened:
                for name in opened.keys():  # noqa: SIM118 - it is no mapping
                    assert torch.isfinite(opened.get_tensor(name)).all()

    def upcast(folder: Path) -> None:
        for file in sorted(folder.glob("*.safetensors")):
            with safe_open(file, "pt") as opened:
                for name in opened.keys():  # noqa: SIM118
                    opened.get_tensor(name).float()

    def unembedding(folder: Path) -> None:
        weight = load_file(folder / f"model-{len(shards()):05}-of-{len(shards()):05}.safetensors")["lm_head.weight"]
        assert torch.isfinite(weight.float()).all()

    return {"report": report, "upcast": upcast, "unembedding": unembedding}


def run(library: str, case: str, folder: Path) -> None:
    torch.set_num_threads(THREADS)
    act = {"assay": assay, "safetensors": safetensors}[library]()[case]
    began = time.perf_counter()
    act(folder)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    name = "torch" if library == "assay" else library
    version = f"{name} {metadata.version(name).partition('+')[0]}"
    print(json.dumps({"seconds": seconds, "peak": peak, "version": version}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]))
    else:
        run(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
