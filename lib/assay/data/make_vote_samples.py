"""Make the sets of votes that are shipped: `python -m assay.data.make_vote_samples --from DIR`.

DIR holds the folders `pandalm-votes`, `football-results`, `worldvalues-personas` and `pluralistic-leaderboards`; what
is in them, and where it is from, stands in the provenance.
"""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportReturnType=false

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pandas as pd

from assay.data.references import content_sha256
from assay.data.shipped_votes import VOTES

TEAM_MATCHES = 15  # in World Cup finals since 1990
INSTITUTIONS = {
    "Q64": "Church", "Q65": "Armed forces", "Q66": "Press", "Q67": "Television", "Q68": "Labor unions", "Q69": "Police",
    "Q70": "Courts", "Q71": "Government", "Q72": "Political parties", "Q73": "Parliament", "Q74": "Civil service",
    "Q75": "Universities", "Q76": "Elections", "Q77": "Major companies", "Q78": "Banks",
    "Q79": "Environmental organizations", "Q80": "Women’s organizations", "Q81": "Charities",
}  # fmt: skip
RERUN = "https://github.com/kvr06-ai/pluralistic-leaderboards, commit 67513d069a8e70eb30828b3f384d9e1dd9afe1a5"
SOURCES = {
    "pandalm.csv": {
        "source": "https://github.com/WeOpenML/PandaLM, commit 3871806e72b4832f815ecafd24d3503c73403f48",
        "licence": "Apache-2.0",
        "made": "votes.csv; user is judge and task, category the judge; 25 unreadable verdicts are left out",
    },
    "football.csv": {
        "source": "https://github.com/martj42/international_results, commit 65d212aac5deec5157071dcf6e9b05fce0223c84",
        "licence": "CC0-1.0",
        "made": f"matches among teams with {TEAM_MATCHES} or more matches in World Cup finals since 1990; category the "
        "decade, a draw is a tie",
    },
    "trust.csv": {
        "source": "https://github.com/yw3453/adaptive-query-ai-persona-priors, commit "
        "fbd8e19eed6af960b64e3afae13e3bcf4020b73f (GPT-5-mini's answers for personas, no survey)",
        "licence": "MIT",
        "made": "answers to Q64–Q81, confidence in institutions; 4 is a great deal, 1 none at all",
    },
    "arena.json": {
        "source": RERUN,
        "licence": "Apache-2.0",
        "made": "results.json without rankings of methods",
    },
    "arena-expert.json": {
        "source": RERUN,
        "licence": "Apache-2.0",
        "made": "results-expert-5k.json without rankings of methods",
    },
}


def pandalm(folder: Path) -> str:
    votes = pd.read_csv(folder / "votes.csv", dtype=str)
    votes = votes[votes["winner"] != "garbage"]
    made = pd.DataFrame({
        "user": votes["judge"] + ":" + votes["task_id"], "model_a": votes["model_a"], "model_b": votes["model_b"],
        "winner": votes["winner"], "category": votes["judge"],
    })  # fmt: skip
    return made.to_csv(index=False)


def football(folder: Path) -> str:
    matches = pd.read_csv(folder / "results.csv")
    finals = matches[matches["tournament"] == "FIFA World Cup"]
    counts = pd.concat([finals["home_team"], finals["away_team"]]).value_counts()
    teams = set(counts[counts >= TEAM_MATCHES].index)
    own = matches[matches["home_team"].isin(teams) & matches["away_team"].isin(teams)]
    ahead = own["home_score"] - own["away_score"]
    made = pd.DataFrame({
        "model_a": own["home_team"], "model_b": own["away_team"],
        "winner": ["a" if d > 0 else "b" if d < 0 else "tie" for d in ahead], "category": own["date"].str[:3] + "0s",
    })  # fmt: skip
    return made.to_csv(index=False)


def trust(folder: Path) -> str:
    answers = pd.read_csv(folder / "answers.csv")
    made = pd.DataFrame({"user": answers["persona"]} | {name: 5 - answers[q] for q, name in INSTITUTIONS.items()})
    return made.to_csv(index=False)


def arena(file: Path) -> str:
    found = json.loads(file.read_text(encoding="utf-8"))
    kept = ("config", "categories", "category_mixture_weights", "category_top_models", "bt_global_ranking")
    curves = [{"phi": run["phi"], "stability_curves": run["stability_curves"]} for run in found["phi_runs"]]
    return json.dumps({name: found[name] for name in kept} | {"phi_runs": curves}, indent=1) + "\n"


def make_samples(source: Path, target: Path = VOTES) -> dict[str, object]:
    """Write the sets and their provenance.

    Args:
        source: the folder of folders. target: where the sets go.

    Returns:
        The provenance by file.
    """
    made = {
        "pandalm.csv": pandalm(source / "pandalm-votes"),
        "football.csv": football(source / "football-results"),
        "trust.csv": trust(source / "worldvalues-personas"),
        "arena.json": arena(source / "pluralistic-leaderboards" / "results.json"),
        "arena-expert.json": arena(source / "pluralistic-leaderboards" / "results-expert-5k.json"),
    }
    target.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        (target / name).write_text(text, encoding="utf-8", newline="\n")
    provenance = {
        name: SOURCES[name] | {"sha256": content_sha256(target / name)} for name in made
    } | {"command": "python -m assay.data.make_vote_samples --from DIR"}  # fmt: skip
    (target / "provenance.json").write_text(
        json.dumps(provenance, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    return provenance


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="source", type=Path, required=True, help="the folder of folders")
    print(json.dumps(make_samples(parser.parse_args().source), indent=2, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
