"""The API: studies, jobs with progress, sweeps, runs, and one sentence for what cannot be."""

import json
import re
import time

import httpx
import pytest

from workbench.registry import registry

CLIMB = {"study": "kitchen-sink", "experiment": "climb"}


@pytest.fixture(scope="module")
def api(start):
    with start() as address, httpx.Client(base_url=f"{address}/api", timeout=60) as client:
        yield client


def events(api, path):
    """Server-sent events of a path, with the seconds at which they came."""
    found = []
    with api.stream("GET", path) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for line in answer.iter_lines():
            if line.startswith("event:"):
                kind = line.partition(": ")[2]
            elif line.startswith("data:"):
                found.append((time.monotonic(), kind, json.loads(line.partition(": ")[2])))
    return found


def submit(api, experiment="climb", **asked):
    answer = api.post("/jobs", json={"study": "kitchen-sink", "experiment": experiment, "preset": "quick", **asked})
    assert answer.status_code == 202, answer.text
    return answer.json()


def test_studies_are_listed_and_described(api):
    cards = {card["slug"]: card for card in api.get("/studies").json()}
    assert cards["kitchen-sink"]["claims"] == list(registry().get("kitchen-sink").claims)
    assert api.get("/studies/kitchen_sink").json() == json.loads(json.dumps(registry().get("kitchen-sink").schema()))
    assert api.get("/me").json() == {"name": "", "role": "admin"}


def test_a_job_is_followed_to_its_result_and_its_run(api):
    job = submit(api, values={"amplitude": 1.5})
    assert job["state"] in ("queued", "running") and job["values"] == {"amplitude": "1.5"}
    told = events(api, f"/jobs/{job['id']}/events")
    kinds = [kind for _, kind, _ in told]
    assert kinds[-1] == "end" and set(kinds[:-1]) == {"progress"}
    last = told[-1][2]
    assert last["state"] == "done" and last["run"] and last["fraction"] == 1
    assert {seen["state"] for _, _, seen in told} >= {"running", "done"}
    result = api.get(f"/jobs/{job['id']}/result").json()
    assert result["complete"] and len(result["tables"]["heights"]["rows"]) == 5

    again = submit(api, values={"amplitude": "1.5"})
    assert again["kept"] and again["state"] == "done" and again["key"] == job["key"]

    run = api.get(f"/runs/{last['run']}").json()
    assert run["experiment"] == "climb" and run["values"] == {"amplitude": "1.5"} and run["provenance"]
    assert api.get(f"/runs/{last['run']}/result").json()["digest"] == result["digest"] == run["digest"]
    listed = api.get("/runs", params={"study": "kitchen_sink", "limit": 5}).json()
    assert last["run"] in [one["run"] for one in listed]
    assert api.get("/runs", params={"study": "lif-frequency-matching"}).json() == []


def test_a_job_is_cancelled_and_its_stream_ends(api):
    job = submit(api, preset="full", values={"amplitude": 1.25})
    began = time.monotonic()
    assert api.delete(f"/jobs/{job['id']}").json() == {"stopped": True}
    told = events(api, f"/jobs/{job['id']}/events")
    assert told[-1][1] == "end" and told[-1][2]["state"] == "cancelled"
    assert time.monotonic() - began < 10  # it may wait for the worker of the job before
    assert job["id"] in [one["id"] for one in api.get("/jobs").json()]


def test_a_sweep_is_followed_to_its_tables(api):
    asked = {"study": "kitchen-sink", "experiment": "climb", "preset": "quick", "axes": {"amplitude": "0.5:1.5:3"}}
    sweep = api.post("/sweeps", json=asked).json()
    assert len(sweep["points"]) == 3
    told = events(api, f"/sweeps/{sweep['id']}/events")
    assert told[-1][2]["state"] == "done"
    tables = api.get(f"/sweeps/{sweep['id']}/tables").json()
    at = tables["points"]["columns"].index("amplitude")
    assert [row[at] for row in tables["points"]["rows"]] == [0.5, 1.0, 1.5]
    assert api.delete(f"/sweeps/{sweep['id']}").json() == {"stopped": True}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("GET", "/studies/kitchen-snk", None, 404, r"study: got 'kitchen-snk'; .*nearest is kitchen-sink"),
        ("GET", "/jobs/nothing", None, 404, r"job: got 'nothing'"),
        ("GET", "/jobs/nothing/events", None, 404, r"job: got 'nothing'"),
        ("DELETE", "/jobs/nothing", None, 404, r"job: got 'nothing'"),
        ("GET", "/sweeps/nothing", None, 404, r"sweep: got 'nothing'"),
        ("GET", "/runs/" + "0" * 32, None, 404, r"run: got '0+'"),
        ("GET", "/runs?limit=0", None, 422, r"limit: "),
        ("POST", "/jobs", {"study": "kitchen-sink"}, 422, r"experiment: Field required"),
        ("POST", "/jobs", CLIMB | {"experiment": "dance"}, 422, r"experiment: got 'dance'; expected one of"),
        ("POST", "/jobs", CLIMB | {"amplitude": 2}, 422, r"amplitude: "),
        ("POST", "/jobs", CLIMB | {"values": {"amplitude": 9}}, 422, r"amplitude: got 9"),
        ("POST", "/jobs", CLIMB | {"values": {"what": 9}}, 422, r"control: got 'what'"),
        ("POST", "/sweeps", CLIMB, 422, r"sweep: got no axis"),
        ("POST", "/jobs", "no JSON", 422, r"body: JSON"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_sentence(api, method, path, body, status, says):
    content = (
        {"content": body, "headers": {"content-type": "application/json"}} if body == "no JSON" else {"json": body}
    )
    answer = api.request(method, path, **({} if body is None else content))
    assert answer.status_code == status
    problem = answer.json()
    assert re.search(says, problem["detail"]) and "\n" not in problem["detail"]


def test_the_description_names_every_route_and_the_page_shows_it_without_a_network(api):
    described = api.get("/openapi.json").json()
    assert {path for path in described["paths"] if not path.startswith("/api/")} == set()
    operations = {(path, method) for path, found in described["paths"].items() for method in found}
    assert ("/api/jobs", "post") in operations and ("/api/jobs/{id}/events", "get") in operations
    page = api.get("/").text
    for path, method in operations:
        assert f'data-method="{method}" data-path="{path}"' in page
    assert re.findall(r'(?:src|href)="(?:https?:)?//', page) == []


def test_a_file_that_a_run_wrote_is_downloaded(api):
    job = submit(api)
    events(api, f"/jobs/{job['id']}/events")
    run = api.get(f"/jobs/{job['id']}").json()["run"]
    assert api.get(f"/runs/{run}/result").json()["files"] == ["wave.csv"]
    answer = api.get(f"/runs/{run}/files/wave.csv")
    assert answer.status_code == 200 and answer.text.startswith("t,y\n")
    assert 'filename="wave.csv"' in answer.headers["content-disposition"]
    other = api.get(f"/runs/{run}/files/other.csv")
    assert other.status_code == 404 and "expected one of wave.csv" in other.text
    assert api.get(f"/runs/{run}/files/..%2Frecord.json").status_code == 404
