"""Small layers with random weights, for tests of certificates."""

import torch

from assay.checkpoints.safetensors_writing import write_safetensors
from assay.dynamics.state_space import Mamba, MambaShape, load_ssm


def written(folder, model):
    """The model's weights in a file of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(folder / "model.safetensors", model.state_dict())
    return folder


def random_model(seed=0, *, width=16, layers=1, states=4):
    """An untrained Mamba with gains, rates and biases moved away from their first values."""
    generator = torch.Generator().manual_seed(seed)
    model = Mamba(MambaShape(vocabulary=8, width=width, layers=layers, states=states), generator)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(("A_log", "norm.weight", "dt_proj.bias", ".D")):
                weight.add_(0.5 * torch.randn(weight.shape, generator=generator))
    return model


def random_layer(tmp_path, seed=0, **shape):
    """The first layer of a random model, as it is read from a file."""
    return load_ssm(written(tmp_path / f"m{seed}", random_model(seed, **shape)))[0]
