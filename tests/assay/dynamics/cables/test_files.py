"""Files of one's own: read, or refused in a sentence."""

from pathlib import Path

import numpy as np
import pytest

from assay.data import NEURONS, data_folder
from assay.dynamics.cables import (
    discretise,
    make_circuit,
    neuron_place,
    read_cells,
    read_channels,
    read_swc,
    read_system,
    read_targets,
    read_wiring,
    sections_of,
)

LEGAL = {
    "Neuron_zero_radius": 9, "morph_interrupted_soma": 6, "morph_single_branch": 4, "sample_disordered": 53,
}  # fmt: skip
REFUSED = {
    "repeated_id": "id 4 is there more than once",
    "Neuron_missing_ids": "parent 7 is not in the file",
    "multiple_somata": "2 roots, ids 1, 10; expected one",
    "morph_multiple_roots": "id 3 is there more than once",
    "root_node_jump": "radius of id 4, 5, 8, 9 is not above 0 µm",
    "dangling_dendrite": "radius of id 4, 5, 8, 9 is not above 0 µm",
}


@pytest.mark.data
def test_edge_cases_of_swc_are_read_or_refused():
    folder = Path(data_folder() or "") / "neuron-swc" / "edge-cases"
    names = {p.stem for p in folder.glob("*.swc")}
    assert names == LEGAL.keys() | REFUSED.keys()
    for name, points in LEGAL.items():
        morphology = read_swc(folder / f"{name}.swc")
        assert len(morphology.ids) == points
        tree = discretise(morphology, 5.0)
        assert (tree.area[tree.compartments] > 0).all() and np.isfinite(tree.resistance).all()
    for name, sentence in REFUSED.items():
        with pytest.raises(ValueError, match=sentence):
            read_swc(folder / f"{name}.swc")


def test_a_reconstruction_keeps_its_length_and_membrane_whatever_the_cut():
    morphology = read_swc(NEURONS / "ca1_n120.swc")
    sections, _ = sections_of(morphology)
    whole = sum(s.length for s in sections)
    assert whole == pytest.approx(11_872.5, abs=1), "11.9 mm, as its description says"
    for longest in (5.0, 40.0, 200.0):
        tree = discretise(morphology, longest)
        assert tree.length.sum() == pytest.approx(whole, rel=1e-12)
        assert tree.area.sum() == pytest.approx(discretise(morphology, 80.0).area.sum(), rel=1e-9)
        assert tree.length.max() <= longest * (1 + 1e-9)
        assert (tree.parent < np.arange(len(tree))).all() and (tree.parent[1:] >= 0).all()


def test_a_soma_of_one_point_has_a_spheres_area_and_neurites_hang_on_its_middle(tmp_path):
    (tmp_path / "one.swc").write_text("1 1 0 0 0 6 -1\n2 3 6 0 0 1 1\n3 3 50 0 0 1 2\n4 2 0 9 0 0.5 1\n")
    tree = discretise(read_swc(tmp_path / "one.swc"), 1000.0)
    assert tree.area[0] == pytest.approx(4 * np.pi * 36) and tree.parent.tolist() == [-1, 0, 0]
    assert tree.length[1] == pytest.approx(44), "it begins at its own first point"
    assert tree.length[2] == pytest.approx(9) and tree.radius[2] == pytest.approx(0.5)


def test_children_before_their_parents_are_sorted(tmp_path):
    (tmp_path / "late.swc").write_text("3 3 0 30 0 1 2\n2 3 0 20 0 1 1\n1 1 0 0 0 8 -1\n")
    morphology = read_swc(tmp_path / "late.swc")
    assert morphology.ids.tolist() == [1, 2, 3] and morphology.parent.tolist() == [-1, 0, 1]
    assert "sorted for you" in morphology.notes[0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "got no points"),
        ("# only words\n", "got no points"),
        ("1 1 0 0 0 1\n", "line 1 has 6 columns"),
        ("1 1 0 0 zero 1 -1\n", "line 1 says"),
        ("1.5 1 0 0 0 1 -1\n", "expected whole numbers"),
        ("1 1 0 0 nan 1 -1\n", "finite places"),
        ("1 1 0 0 0 8 -1\n2 3 0 9 0 1 3\n3 3 0 12 0 1 2\n", "ids 2, 3 are their own ancestors|ids 3, 2 are their own"),
        ("1 1 0 0 0 8 -1\n2 3 0 9 0 1 2\n", "ids 2 are their own ancestors"),
        ("1 1 0 0 0 8000 -1\n", "largest radius is 8000 µm; expected at most 100: is the unit nm"),
        ("1 1 0 0 0 0.008 -1\n2 3 0 1 0 0.001 1\n", "is the unit mm"),
        ("1 1 0 0 0 -2 -1\n", "radius of id 1 is not above 0"),
        ("1 3 0 0 0 1 -1\n", "one point that is no soma"),
        ("1 3 0 0 0 1 -1\n2 3 0 0 0 1 1\n", "ends at id 2 has no length"),
    ],
)
def test_what_is_no_neuron_is_refused(tmp_path, text, sentence):
    (tmp_path / "bad.swc").write_text(text)
    with pytest.raises(ValueError, match=sentence):
        discretise(read_swc(tmp_path / "bad.swc"), 40.0)


def test_bytes_are_no_swc(tmp_path):
    (tmp_path / "bad.swc").write_bytes(b"\xff\xfe\x00\x80" * 20)
    with pytest.raises(ValueError, match="the file is no text"):
        read_swc(tmp_path / "bad.swc")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("region,channel\nsoma,na\n", "expected gbar too"),
        ("region,channel,gbar\n", "got no rows"),
        ("region,channel,gbar\nhead,na,0.1\n", "row 2 has region 'head'"),
        ("region,channel,gbar\nsoma,ca,0.1\n", "row 2 has channel 'ca'"),
        ("region,channel,gbar\nsoma,na,-0.1\n", "row 2 has a density of -0.1 S/cm²; expected 0 to 10"),
        ("region,channel,gbar\nsoma,na,much\n", "row 2 has a density of much"),
        ("region,channel,gbar\nsoma,na,0.1\nSoma,NA,0.2\n", "row 3 names na of soma again"),
    ],
)
def test_what_is_no_table_of_channels_is_refused(tmp_path, text, sentence):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(ValueError, match=sentence):
        read_channels(tmp_path / "bad.csv")


def test_channels_are_read(tmp_path):
    (tmp_path / "good.csv").write_text("region, channel, gbar\nsoma, na, 0.12\nall, leak, 0.0001\n")
    assert read_channels(tmp_path / "good.csv") == {("soma", "na"): 0.12, ("all", "leak"): 1e-4}


def test_the_worms_wiring_is_read_and_made_symmetric_where_it_is_electrical():
    wiring = read_wiring(NEURONS / "worm_wiring.csv")
    assert len(wiring.names) == 300 and "47 connections of a neuron with itself" in wiring.notes[0]
    gaps = {(p, q): w for p, q, w, k in zip(wiring.pre, wiring.post, wiring.weight, wiring.kind, strict=True) if k == 3}
    assert all(gaps[q, p] == w for (p, q), w in gaps.items())
    a, b = (wiring.names.index(n) for n in ("AVAL", "VA5"))
    assert gaps[a, b] == 4.5, "4 one way and 5 the other"
    circuit = make_circuit(wiring, read_cells(NEURONS / "worm_cells.csv"))
    assert len(circuit.cable) == 1500 and (circuit.cable.parent[circuit.soma] == -1).all()
    assert set(circuit.synapses.reversal.tolist()) == {30.0, -70.0}


def test_wiring_as_npz_and_names_that_are_nearly_right(tmp_path):
    np.savez(tmp_path / "w.npz", pre=np.array(["a1", "b2"]), post=np.array(["b2", "a1"]), weight=np.array([1.0, 2.0]),
             kind=np.array(["excitatory", "gap"]))  # fmt: skip
    wiring = read_wiring(tmp_path / "w.npz")
    assert wiring.names == ("a1", "b2") and sorted(wiring.kind.tolist()) == [1, 3, 3]
    assert neuron_place("B2", wiring.names) == 1
    with pytest.raises(ValueError, match="neuron: 'AVLL' is not in the wiring; nearest are AVAL"):
        neuron_place("AVLL", ("AVAL", "DD1", "PVDR"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b\n1,2\n", "expected pre, post, weight too"),
        ("pre,post,weight\n", "got 0 connections"),
        ("pre,post,weight\na,,1\n", "row 2 has no name"),
        ("pre,post,weight\na,b,-1\n", "row 2 has a weight of -1; expected a number from 0 on"),
        ("pre,post,weight\na,b,x\n", "row 2 has a weight of x"),
        ("pre,post,weight,kind\na,b,1,magic\n", "row 2 has kind 'magic'"),
        ("pre,post,weight,delay\na,b,1,2.5\n", "row 2 has a delay of 2.5 ms; expected 0"),
    ],
)
def test_what_is_no_wiring_is_refused(tmp_path, text, sentence):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(ValueError, match=sentence):
        read_wiring(tmp_path / "bad.csv")


T = np.arange(5.0)


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"t": T}, "expected v too"),
        ({"t": T, "v": np.full(5, np.nan)}, "not finite"),
        ({"t": T, "v": np.zeros(4)}, "expected t"),
        ({"t": T[::-1], "v": np.zeros(5)}, "t falls or stands still after sample 1, at 4 ms"),
        ({"t": T, "v": np.full(5, 9e3)}, "v reaches 9000 mV; expected at most 300: is the unit mV"),
        ({"t": T / 100, "v": np.zeros(5)}, "it lasts 0.04 ms; expected at least the window, 2 ms"),
    ],
)
def test_what_is_no_target_is_refused(tmp_path, arrays, sentence):
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(ValueError, match=sentence):
        read_targets(tmp_path / "bad.npz", 0.1, 20)


def test_targets_are_read_at_the_steps_of_a_simulation(tmp_path):
    np.savez(tmp_path / "good.npz", t=T + 10, v=10 * T)
    np.testing.assert_allclose(read_targets(tmp_path / "good.npz", 0.5, 4)[:, 0], [0, 5, 10, 15, 20])
    (tmp_path / "text.npz").write_text("no zip")
    with pytest.raises(ValueError, match="the npz cannot be read"):
        read_targets(tmp_path / "text.npz", 0.5, 4)


def test_a_system_of_ones_own_is_solved_or_refused(tmp_path):
    good = {"parent": np.array([-1, 0, 0]), "a": -np.ones(3), "b": -np.ones(3), "d": np.full(3, 4.0), "rhs": np.ones(3)}
    np.savez(tmp_path / "good.npz", **good)
    found = read_system(tmp_path / "good.npz")
    matrix = np.array([[4.0, -1, -1], [-1, 4, 0], [-1, 0, 4]])
    np.testing.assert_allclose(matrix @ found["x"], 1, rtol=1e-14)
    for change, sentence in (
        ({"d": np.zeros(3)}, "system: d: elimination met a pivot of 0"),
        ({"parent": np.array([-1, 2, 0])}, "system: parent: node 1 has parent 2"),
        ({"a": np.ones(2)}, r"system: a has shape \(2,\); expected \(3,\)"),
    ):
        np.savez(tmp_path / "bad.npz", **good | change)
        with pytest.raises(ValueError, match=sentence):
            read_system(tmp_path / "bad.npz")
