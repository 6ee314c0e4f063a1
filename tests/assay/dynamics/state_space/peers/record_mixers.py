"""What mixers of the transformers library give, kept so that tests need it not installed.

    .bench/transformers/bin/python tests/assay/dynamics/state_space/peers/record_mixers.py

(an environment with torch and transformers) writes `mixers.npz` beside this file. For each of Mamba, Mamba-2, Falcon
Mamba and Jamba, small and with random weights: the configuration as JSON, the weights under their names, float32, one
input `u` (1, 9, d) of its first selective mixer, after the norm, and what it gives, `y`.
"""

import json
from importlib import metadata
from pathlib import Path

import numpy as np
import torch
from transformers import (
    FalconMambaConfig,
    FalconMambaForCausalLM,
    JambaConfig,
    JambaForCausalLM,
    Mamba2Config,
    Mamba2ForCausalLM,
    MambaConfig,
    MambaForCausalLM,
)

torch.manual_seed(3)
SMALL = {"vocab_size": 11, "hidden_size": 16, "num_hidden_layers": 2}
MODELS = {
    "mamba": (MambaForCausalLM, MambaConfig(**SMALL, state_size=4, use_bias=True)),
    "mamba2": (
        Mamba2ForCausalLM,
        Mamba2Config(**SMALL, state_size=4, num_heads=8, head_dim=4, n_groups=2, expand=2, chunk_size=4,
                     time_step_limit=(0.01, 0.5)),
    ),
    "falcon": (FalconMambaForCausalLM, FalconMambaConfig(**SMALL, state_size=4)),
    "jamba": (
        JambaForCausalLM,
        JambaConfig(vocab_size=11, hidden_size=16, num_hidden_layers=4, attn_layer_period=4, attn_layer_offset=1,
                    num_attention_heads=2, num_key_value_heads=1, intermediate_size=16, num_experts=2, mamba_d_state=4,
                    mamba_dt_rank=2, use_mamba_kernels=False),
    ),
}  # fmt: skip
kept = {"version": np.array(metadata.version("transformers"))}
for name, (kind, config) in MODELS.items():
    model = kind(config).eval()
    with torch.no_grad():
        for key, weight in model.named_parameters():
            if key.endswith(("A_log", ".D", "dt_bias", "dt_proj.bias", "conv1d.bias", "norm.weight")):
                weight.add_(0.3 * torch.randn_like(weight))
    base = model.backbone if hasattr(model, "backbone") else model.model
    layer = base.layers[0]
    mixer = getattr(layer, "mixer", None) or layer.mamba
    u = 2 * torch.randn(1, 9, 16)
    with torch.no_grad():
        y = mixer(u)
    y = y[0] if isinstance(y, tuple) else y
    kept |= {f"{name}|config": np.array(json.dumps(config.to_dict())), f"{name}|u": u.numpy(), f"{name}|y": y.numpy()}
    kept |= {f"{name}|weight|{key}": value.numpy() for key, value in model.state_dict().items()}
np.savez_compressed(Path(__file__).parent / "mixers.npz", allow_pickle=False, **kept)
