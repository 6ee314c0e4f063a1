"""Decays read from state dicts in the shapes that each community writes."""

import math

import numpy as np
import pytest
import torch

from assay.dynamics import SpikingMLP, find_stored_neurons, lif_cutoff, read_stored_neurons


def one(state, **options):
    (neuron,) = find_stored_neurons(state, **options)
    return neuron


def test_snntorch():
    state = {
        "fc1.weight": torch.zeros(4, 3),
        "lif1.threshold": torch.tensor(1.0),
        "lif1.beta": torch.tensor([0.9, 1.3, 0.1]),
        "lif1.reset_mechanism_val": torch.tensor(0),
        "lif1.graded_spikes_factor": torch.tensor(1.0),
    }
    neuron = one(state, fs=30.0)
    assert (neuron.layer, neuron.entry) == ("lif1", "beta")
    assert np.allclose(neuron.beta, [0.9, 1.0, 0.1])
    assert np.isclose(neuron.cutoff[0], lif_cutoff(0.9))
    assert neuron.cutoff[1] == 0.0
    assert np.isnan(neuron.cutoff[2])
    assert np.isclose(neuron.cutoff_hz[0], lif_cutoff(0.9, fs=30.0))
    assert one({"lif1.beta": 0.5}).cutoff_hz is None


def test_normalisation_layers_are_no_neurons():
    state = {"norm.gamma": torch.ones(3), "norm.beta": torch.zeros(3), "lif.beta": torch.tensor(0.5)}
    assert one(state).layer == "lif"


@pytest.mark.parametrize(
    ("entry", "value", "fs", "beta"),
    [
        ("tau", 2.0, None, 0.5),  # SpikingJelly, Soul: steps
        ("tau", 0.01, 1000.0, math.exp(-0.1)),  # NIR: seconds
        ("tau_mem", 10.0, None, math.exp(-0.1)),  # sinabs: steps
        ("tau_mem", 0.01, 1000.0, math.exp(-0.1)),  # Rockpool: seconds
        ("tau_mem_inv", 100.0, 1000.0, 0.9),  # norse: 1/s
        ("w", -math.log(4 - 1), None, 0.75),  # parametric LIF with tau 4
    ],
)
def test_conventions(entry, value, fs, beta):
    neuron = one({f"net.3.{entry}": torch.tensor(value, dtype=torch.float64)}, fs=fs)
    assert np.allclose(neuron.beta, beta)
    assert neuron.layer == "net.3"


def test_a_weight_called_w_is_no_neuron():
    assert [n.layer for n in find_stored_neurons({"a.w": torch.zeros(3, 3), "b.w": torch.zeros(())})] == ["b"]


def test_our_own_networks_from_a_file(tmp_path):
    model = SpikingMLP(4, 2, beta=0.75, generator=torch.Generator().manual_seed(0))
    path = tmp_path / "net.pt"
    torch.save({"epoch": 3, "model": model.state_dict()}, path)
    neurons = read_stored_neurons(path, fs=30.0)
    assert [neuron.layer for neuron in neurons] == ["model.lif1", "model.lif2"]
    assert all(np.allclose(neuron.beta, 0.75) for neuron in neurons)


class Evil:
    def __reduce__(self):
        return (pytest.fail, ("the file was executed",))


def test_files_that_are_not_state_dicts_are_named(tmp_path):
    path = tmp_path / "net.pt"
    torch.save({"lif.beta": Evil()}, path)
    with pytest.raises(ValueError, match=r"path must hold tensors only; net\.pt holds other objects"):
        read_stored_neurons(path)
    torch.save(torch.ones(3), path)
    with pytest.raises(ValueError, match=r"path must hold a state dict; net\.pt holds Tensor"):
        read_stored_neurons(path)
    whole = tmp_path / "whole.pt"
    torch.save({"lif.beta": torch.full((1000,), 0.5)}, whole)
    with pytest.raises(ValueError, match=r"path must name a file of at most 100 bytes; whole\.pt has"):
        read_stored_neurons(whole, max_bytes=100)
    data = whole.read_bytes()
    for broken in (data[: len(data) // 2], b"", b"not a network"):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=r"path must .*net\.pt"):
            read_stored_neurons(path)
    with pytest.raises(ValueError, match=r"path must name a file; missing\.pt is none"):
        read_stored_neurons(tmp_path / "missing.pt")


@pytest.mark.parametrize(
    ("state", "fs", "named"),
    [
        ({"fc.weight": torch.zeros(2)}, None, "none of its 1 entries is one"),
        ({}, None, "none of its 0 entries"),
        ({"l.tau": torch.tensor([0.5, 2.0])}, None, r"l.tau must be all steps .* got 0.5 to 2"),
        ({"l.tau": torch.tensor(-1.0)}, None, "l.tau must be all steps"),
        ({"l.tau": torch.tensor(0.5)}, None, "fs must be given in Hz to read l.tau"),
        ({"l.tau_mem_inv": torch.tensor(2000.0)}, 1000.0, "l.tau_mem_inv must lie between 0 and fs"),
        ({"l.beta": torch.tensor(float("nan"))}, None, "l.beta must be finite"),
        ({"l.beta": 0.5}, -1.0, "fs must be above 0 Hz; got -1"),
    ],
)
def test_bad_input_is_named(state, fs, named):
    with pytest.raises(ValueError, match=named):
        find_stored_neurons(state, fs=fs)
