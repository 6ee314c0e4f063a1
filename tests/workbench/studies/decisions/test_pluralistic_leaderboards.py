"""The study of pluralistic leaderboards: its views say what the library counts, on every kind of votes."""

import numpy as np
import pytest

from assay.decisions import bradley_terry as strengths_of
from assay.decisions import stability_curve, stability_ratio
from workbench.claims import Verdict, judge
from workbench.registry import registry
from workbench.run_protocol import LocalRun
from workbench.snapshot import Snapshot, settle
from workbench.study import ControlError

SAMPLES = ("factions", "sixty-forty", "twin", "twin-fair", "arena", "arena-expert", "trust", "pandalm", "football")
METHODS = (
    "bradley-terry", "monotone", "checkpoints", "committee", "plurality", "alternative", "coverage", "phragmen",
    "groups",
)  # fmt: skip


@pytest.fixture(scope="module")
def study():
    return registry().get("pluralistic-leaderboards")


def at(study, preset="quick", results=None, **values):
    return Snapshot(study, settle(study, values, preset), results)


def stats(shown):
    return {s.label: s.value for s in shown.content}


@pytest.mark.parametrize("method", METHODS)
def test_the_line_names_whom_it_wrongs_most(study, method):
    snapshot = at(study, method=method, cut=4)
    crowd, line = snapshot.value("crowd"), snapshot.value("line")
    gamma, worst = stability_ratio(crowd.judges.orders, line.above)
    told = stats(snapshot.show("wronged"))
    assert told["γ̂, unstable above 1"] == f"{gamma:.2f}"
    if gamma:
        assert told["most wronged model"] == crowd.judges.models[worst]
        assert crowd.judges.models[worst] in snapshot.show("leaderboard").title
    curve = stability_curve(crowd.judges.orders, line.shown)[0]
    assert curve[3] == pytest.approx(gamma)
    assert float(line.swaps.mean()) == pytest.approx(gamma / 4)


def test_bars_above_the_line_are_all_users_and_below_it_those_who_would_swap(study):
    snapshot = at(study, cut=5)
    line, content = snapshot.value("line"), snapshot.show("leaderboard").content
    total = np.sum([trace["x"] for trace in content["data"]], 0)
    assert total[:5].sum() == pytest.approx(100)
    np.testing.assert_allclose(total[5:], 100 * line.support[line.shown[5:]], atol=1e-9)
    assert "▲" in str(content["layout"]["yaxis"]["ticktext"])
    assert {"dagger", "yours"} == {shape["name"] for shape in content["layout"]["shapes"]}


def test_the_sixty_forty_profile_tells_the_story(study):
    before = at(study, votes="sample:sixty-forty", cut=3)
    title = before.show("leaderboard").title
    assert title.endswith("would swap everything above the line for y; 1/3 is 33.3 %") and title.startswith(
        ("39", "40", "41")
    )
    after = at(study, votes="sample:sixty-forty", cut=3, method="monotone").show("leaderboard").title
    assert after.startswith(("At most", "Nobody"))
    twins = [at(study, votes=f"sample:{name}", cut=3).show("leaderboard").title for name in ("twin", "twin-fair")]
    assert "for y; 1/3 is 33.3 %" in twins[0] and twins[1] == "Nobody would swap the top 3 for any other model"
    jumped = at(study, votes="sample:sixty-forty", cut=3, method="monotone").show("jumps")
    assert jumped.title.startswith("1 of the top 3 change")


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_shows_every_view_and_says_whose_votes_it_holds(study, name):
    snapshot = at(study, votes=f"sample:{name}", cut=2)
    for view in study.views:
        assert snapshot.show(view).elapsed < 1
    said = snapshot.show("source").content
    kind = snapshot.value("crowd").kind
    assert {"trust": "ballots", "pandalm": "battles", "football": "battles"}.get(
        name, "arena" if "arena" in name else "made"
    ) == kind
    assert ("simulated users" in said) == (name == "football")
    assert len(snapshot.value("crowd").judges) > 20


def test_judges_built_nothing(study):
    crowd = at(study, votes="sample:trust").value("crowd")
    assert len(crowd.builders) + len(crowd.judges) == 2058 and crowd.found
    assert len(crowd.judges.factions) == 3, "groups are looked for where none are given"


def test_bradley_terry_of_battles_is_that_of_the_battles(study):
    snapshot = at(study, votes="sample:football")
    battles = snapshot.value("file")
    wins = np.zeros((34, 34))
    np.add.at(wins, (battles.a, battles.b), battles.won)
    np.add.at(wins, (battles.b, battles.a), 1 - battles.won)
    order = np.argsort(-strengths_of(wins).theta)
    assert snapshot.value("usual").ranking.tolist() == order.tolist()
    assert "logits" in snapshot.show("strengths").title


def test_another_pass_takes_a_run_when_there_are_many_models(study):
    values = {"method": "monotone", "rest": "again", "models": 60, "users": 300, "judges": 300}
    snapshot = at(study, **values)
    for view in ("leaderboard", "jumps", "every_cut", "user_map"):
        assert snapshot.show(view).title == "With 60 models this takes a run: “Build every leaderboard”"
    assert "takes a run" in snapshot.show("wronged").content
    result = snapshot.perform("boards", LocalRun(0, study.experiments["boards"].tables))
    after = snapshot.with_results({"boards": result}).show("all_cuts")
    rows = result["curves"]
    assert f"{rows.groupby('method')['gamma'].max().min():.2f}" in after.title
    assert after.content["data"][-1]["name"] == "Algorithm 3" and len(after.content["data"]) == 11
    small = at(study, **{**values, "models": 20})
    assert not small.show("leaderboard").title.startswith("With")


def test_many_models_show_the_rows_around_the_line(study):
    content = at(study, models=120, users=300, cut=60).show("leaderboard")
    assert len(content.content["layout"]["yaxis"]["tickvals"]) == 30 and "of 120" in content.subtitle
    assert 60 in content.content["layout"]["yaxis"]["tickvals"]


def test_clones_are_merged_in_both_halves(study):
    snapshot = at(study, phi=0.0, factions=2, models=6, clones=0.9)
    crowd = snapshot.value("crowd")
    assert crowd.builders.models == crowd.judges.models
    assert crowd.m <= 6 and (np.sort(crowd.judges.orders, 1) == np.arange(crowd.m)).all()


def test_a_cut_beyond_the_models_falls_back(study):
    snapshot = at(study, votes="sample:pandalm", cut=4)
    assert snapshot.value("cuts") == (1, 4)
    assert at(study, votes="sample:pandalm").settings.values["cut"] == 4, "6 models are never above 5"


def test_votes_of_ones_own(study, tmp_path):
    rng = np.random.default_rng(0)
    rows = ["user,model_a,model_b,winner,category"]
    for i in range(400):
        a, b = rng.choice(4, 2, replace=False)
        rows.append(f"u{i},m{a},m{b},{'a' if (a < b) ^ (i % 3 == 0) else 'b'},{'x' if i % 3 else 'y'}")
    (tmp_path / "mine.csv").write_text("\n".join(rows))
    snapshot = at(study, votes=str(tmp_path / "mine.csv"), cut=2, judges=400)
    assert snapshot.value("crowd").kind == "battles" and "simulated users" in snapshot.show("source").content
    result = snapshot.perform("boards", LocalRun(0, study.experiments["boards"].tables))
    verdict = snapshot.with_results({"boards": result}).judge("5b")
    assert verdict.verdict in (Verdict.HOLDS, Verdict.FAILS, Verdict.INCONCLUSIVE) and verdict.evidence.over == "users"
    made = at(study, judges=400)
    result = made.perform("boards", LocalRun(0, study.experiments["boards"].tables))
    assert made.with_results({"boards": result}).judge("5b").verdict == Verdict.NEEDS_SCALE
    (tmp_path / "orders.soi").write_text("30: 1,2\n30: 3\n20: 2,3,1\n")
    orders = at(study, votes=str(tmp_path / "orders.soi"), cut=1, factions=1)
    assert "rank only some" in orders.show("source").content and orders.value("crowd").m == 3


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("model_a,model_b,winner\nq,p,a\np,p,a\n", "p meets itself in row 2"),
        ("model_a,model_b,winner\np,q,won\n", "expected a, b or tie"),
        ("model_a,model_b,winner\np,q,a\nq,p,a\nr,s,a\ns,r,a\n", "no battles connect 2 groups"),
        ("rank1,rank2,rank3\na,b,c\na,a,b\n", "ranks a twice"),
        ("user,x,y\n1,2,\n", "no finite score in row 1"),
        ("user,x,y\n1,2,3\n", "users: got 1; expected at least 4"),
    ],
)
def test_bad_votes_are_refused_in_a_sentence(study, tmp_path, text, sentence):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(ControlError, match=sentence):
        at(study, votes=str(tmp_path / "bad.csv")).show("leaderboard")


def test_results_are_drawn_and_judged(study):
    snapshot = at(study)
    results = {}
    for name, experiment in study.experiments.items():
        results[name] = snapshot.perform(name, LocalRun(0, experiment.tables))
    after = snapshot.with_results(results)
    for view in study.views:
        shown = after.show(view)
        assert shown.elapsed < 1 and "Appears when" not in str(shown.subtitle), view
    verdicts = {id: str(after.judge(id).verdict) for id in study.claims}
    assert {verdicts[id] for id in ("1a", "1b", "3a", "3b", "3c", "4", "7a")} == {"holds"}
    assert verdicts["7b"] == verdicts["5b"] == "needs scale"
    worst = results["constructs"]["built"]
    assert (verdicts["2"] == "holds") == (worst["largest"].max() <= 1)
    kept = results["rerun"]["worlds"]
    assert kept.loc[(kept["method"] == "checkpoints") & (kept["phi"] == 0.9), "kept"].iloc[0] == pytest.approx(1.1403)


def test_the_slack_moves_the_guarantee(study):
    assert "39.2" in at(study, eps=0.05).show("guarantee").title
    assert "promises 19" in at(study, eps=0.01).show("every_cut").subtitle
    claim = study.claims["3b"]
    assert judge(claim, claim.function(printed_factors={0.01: 18.97, 0.05: 39.2})).verdict == Verdict.HOLDS
