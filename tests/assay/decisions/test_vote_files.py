"""Files of votes: every kind is read, and every bad one is refused in one sentence."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from assay.data import InputError
from assay.decisions import Ballots, Battles, read_votes

PEERS = Path(__file__).parent / "peers"
BATTLES = "user,model_a,model_b,winner,category,weight\nu1,p,q,a,x,1\nu1,q,r,tie,x,2\nu2,r,p,b,y,0.5\n"


def read(tmp_path, text, name="votes.csv"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return read_votes(tmp_path / name, np.random.default_rng(0))


def test_battles(tmp_path):
    found = read(tmp_path, BATTLES)
    assert isinstance(found, Battles) and found.models == ("p", "q", "r")
    assert found.won.tolist() == [1, 0.5, 0] and found.weight.tolist() == [1, 2, 0.5]
    assert found.categories == ("x", "y") and found.users == ("u1", "u2") and found.ties == pytest.approx(1 / 3)
    arena = read(tmp_path, "Model_A,model_b,winner\np,q,model_a\nq,p,tie (bothbad)\n")
    assert arena.won.tolist() == [1, 0.5] and arena.user is None
    frame = pd.DataFrame({"model_a": ["p"], "model_b": ["q"], "winner": ["b"]})
    frame.to_parquet(tmp_path / "votes.parquet")
    assert read_votes(tmp_path / "votes.parquet", np.random.default_rng(0)).won.tolist() == [0]


def test_ballots(tmp_path):
    found = read(tmp_path, "voter,faction,rank2,rank1,rank3\n1,n,beta,alpha,gamma\n2,s,alpha,gamma,\n")
    assert isinstance(found, Ballots) and found.models == ("alpha", "beta", "gamma")
    assert found.orders.tolist() == [[0, 1, 2], [2, 0, -1]] and found.factions == ("n", "s")
    assert not found.complete and "50 % of ballots rank only some" in found.notes[0]


def test_scores(tmp_path):
    found = read(tmp_path, "prompt,m1,m2,m3\na,0.1,0.9,0.5\nb,3,2,1\n")
    assert found.models == ("m1", "m2", "m3") and found.orders.tolist() == [[1, 2, 0], [0, 1, 2]]
    tied = read(tmp_path, "who,m1,m2\na,1,1\nb,2,1\n")
    assert tied.models == ("m1", "m2") and "50 % of all pairs of scores are tied" in tied.notes[0]
    tabs = read(tmp_path, "m1\tm2\n1\t2\n", "votes.tsv")
    assert tabs.orders.tolist() == [[1, 0]]


@pytest.mark.parametrize("kind", ["soc", "soi"])
def test_what_preflibtools_wrote(kind):
    path = PEERS / f"preflib.{kind}"
    found = read_votes(path, np.random.default_rng(0))
    wanted = []
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            count, _, order = line.partition(":")
            wanted += [[int(a) for a in order.split(",")]] * int(count)
    assert len(found) == 30 and found.models == tuple(f"Alt {i}" for i in range(1, 6))
    assert [[a + 1 for a in order if a >= 0] for order in found.orders.tolist()] == wanted
    assert found.complete == (kind == "soc")


BAD = {
    "model_a,model_b\np,q\n": r"has the columns model_a, model_b; expected also winner",
    "winner,x\na,1\n": "expected also model_a, model_b",
    "model_a,model_b,winner\np,q,a\nq,q,b\n": "q meets itself in row 2; expected two different",
    "model_a,model_b,winner\np,q,left\n": "winner is 'left' in row 1; expected a, b or tie",
    "model_a,model_b,winner\np,q,\n": "winner is 'nan' in row 1",
    "model_a,model_b,winner\np,,a\n": "model_a or model_b is empty in row 1",
    "model_a,model_b,winner,weight\np,q,a,-1\n": "weight is '-1' in row 1; expected a number above 0",
    "model_a,model_b,winner,weight\np,q,a,much\n": "weight is 'much' in row 1",
    "model_a,model_b,winner,category\np,q,a,\n": "category is empty in row 1",
    "model_a,model_b,winner,user\np,q,a,x\nq,p,a,\n": "user is empty in row 2",
    "rank1,rank2\nb,a\na,a\n": "the ballot in row 2 ranks a twice; expected every model at most once",
    "rank1,rank2,rank3\na,b,c\nb,,a\n": "the ballot in row 2 has a gap",
    "rank1,rank2\n,a\n": "the ballot in row 1 is empty",
    "rank1\na\n": "holds 1 model; expected 2 to 200",
    "user,m1,m2\na,1,x\n": r"m2 is 'x' in row 1; expected battles .*, ballots .* or a number for each model",
    "user,m1,m2\na,1,\n": "m2 has no finite score in row 1",
    "user,m1,m2\na,1,inf\n": "m2 has no finite score in row 1",
    "user,m1\na,1\n": "holds 1 model; expected 2 to 200",
    "user,m1,m2\na,1,1\n": "every row gives all models the same score",
    "user,m1,m2\n": "has no rows; expected one for each battle",
    "\n": "cannot be read as a table",
}


@pytest.mark.parametrize("text", BAD, ids=[t.splitlines()[-1] + str(i) for i, t in enumerate(BAD)])
def test_bad_tables_are_refused(tmp_path, text):
    with pytest.raises(InputError, match=BAD[text]) as found:
        read(tmp_path, text)
    assert str(found.value).startswith("votes.csv: ") and str(found.value).endswith(".")


PREFLIB = {
    ("soc", "# NUMBER ALTERNATIVES: 3\n1: 1,2\n"): "line 2 ranks 2 of 3 alternatives; expected all in a .soc",
    ("soi", "1: 1,{2,3}\n"): "line 1 holds a tie in braces; expected strict orders",
    ("soi", "# NUMBER ALTERNATIVES: 2\n1: 1,3\n"): "line 2 names alternative 3; expected 1 to 2",
    ("soi", "1: 2,1,0\n"): "line 1 names alternative 0",
    ("soc", "1: 1,1\n"): "holds 1 alternatives; expected 2 to",
    ("soi", "# NUMBER ALTERNATIVES: 2\n1: 2,2\n"): "line 2 ranks 2 twice; expected each at most once",
    ("soc", "hello\n"): "line 1 is 'hello'; expected a count and an order",
    ("soc", "1: one,two\n"): "line 1 holds 'one'; expected numbers of alternatives",
    ("soc", "# NUMBER ALTERNATIVES: 3\n"): "has no orders",
    ("soc", "0: 1,2\n"): "every order has the count 0",
    ("soc", "9999999: 1,2\n"): "holds 9,999,999 votes; expected at most 2,000,000",
    ("soc", "# ALTERNATIVE NAME 1: x\n# ALTERNATIVE NAME 2: x\n1: 1,2\n"): "two alternatives are called x",
    ("toc", "1: 1,2\n"): "holds orders with ties; expected strict ones",
}


@pytest.mark.parametrize("given", PREFLIB, ids=[f"{kind}-{i}" for i, (kind, _) in enumerate(PREFLIB)])
def test_bad_orders_of_preflib_are_refused(tmp_path, given):
    with pytest.raises(InputError, match=PREFLIB[given]):
        read(tmp_path, given[1], f"votes.{given[0]}")


def test_what_is_no_text_is_refused(tmp_path):
    for name in ("votes.csv", "votes.soc"):
        (tmp_path / name).write_bytes(b"\xff\xfe\x00a\xff\xff\xff")
        with pytest.raises(InputError, match="is not UTF-8 text"):
            read_votes(tmp_path / name, np.random.default_rng(0))
    (tmp_path / "votes.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="cannot be read as a table"):
        read_votes(tmp_path / "votes.parquet", np.random.default_rng(0))
    with pytest.raises(InputError, match="is a folder"):
        read_votes(tmp_path, np.random.default_rng(0))
