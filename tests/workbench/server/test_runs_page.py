"""The page of runs behind sign-in: who sees, pins and forgets what, with real runs and without a browser."""

import time
from dataclasses import replace

import pytest

from workbench.job import State
from workbench.runner import default_runner
from workbench.server.settings import Settings
from workbench.server.users import Users
from workbench.uploads import keep_upload
from workbench.visitors import Role

PASSWORD = "correct horse"
PEOPLE = {"ann": Role.ADMIN, "rob": Role.RUNNER, "sue": Role.RUNNER, "vic": Role.VIEWER}


@pytest.fixture(scope="module")
def address(start, tmp_path_factory):
    users = Users(tmp_path_factory.mktemp("users") / "users.json")
    for name, role in PEOPLE.items():
        users.add(name, role, PASSWORD)
    with start(settings=Settings(users=users.path)) as found:
        yield found


@pytest.fixture(scope="module")
def cookies(address):
    """The cookie of everybody."""
    import httpx

    found = {}
    for name in PEOPLE:
        with httpx.Client(base_url=address, timeout=30, headers={"origin": address}) as client:
            assert client.post("login", data={"name": name, "password": PASSWORD}).status_code == 303
            found[name] = {"Cookie": "; ".join(f"{k}={v}" for k, v in client.cookies.items())}
    return found


@pytest.fixture(scope="module")
def kept(address, small_runs, tmp_path_factory):
    """One run of rob's own data, one of a sample, and one that another page's job computes."""
    place, store = tmp_path_factory.mktemp("runs"), default_runner().store
    private = keep_upload("mine.csv", b"a,b\n1,2\n", "rob").reference
    return {
        "private": small_runs.keep(store, place / "one", "k1", owner="rob", controls={"recording": private}).run,
        "public": small_runs.keep(store, place / "two", "k2", owner="rob", heights=(0.25, 0.75)).run,
        "sues": small_runs.keep(store, place / "three", "k3", owner="sue").run,
    }


async def opened(pages, address, cookies, name, query=""):
    page = await pages.open(f"{address}/runs{query}", cookies[name])
    await page.say({"kind": "hello", "theme": "light"})
    told, size = await page.hear("list")
    return page, told, size


async def changed(page, is_so):
    """The first list in which something is so; those before it are passed over."""
    while True:
        told, _ = await page.hear("list")
        if is_so(told):
            return told


SEES = {"ann": {"private", "public", "sues"}, "rob": {"private", "public", "sues"}, "sue": {"public", "sues"},
        "vic": {"public", "sues"}}  # fmt: skip


@pytest.mark.parametrize("name", PEOPLE)
def test_everybody_sees_what_they_may_and_nothing_of_the_rest(address, cookies, kept, pages, run, name):
    async def looked():
        page, told, _ = await opened(pages, address, cookies, name)
        assert set(told["order"]) == {kept[which] for which in SEES[name]} and told["all"] == len(SEES[name])
        text = str(told)
        assert (kept["private"] in text) == ("private" in SEES[name])
        await page.say({"kind": "compare", "runs": list(kept.values())})
        compared, _ = await page.hear("comparison")
        assert compared["runs"] == [kept[which] for which in kept if which in SEES[name]]
        assert (kept["private"][:8] in compared["html"]) == ("private" in SEES[name])
        await page.close()

    run(looked())


def test_an_address_does_not_tell_whether_a_run_of_another_is_there(address, cookies, kept, pages, run):
    async def looked():
        said = []
        for id in (kept["private"], "f" * 32):
            page, _, _ = await opened(pages, address, cookies, "sue", f"?runs={id}")
            told, _ = await page.hear("ticked")
            assert told["runs"] == []
            said.append(told["notices"][0].replace(id, ""))
            await page.close()
        assert said[0] == said[1] and "expected ids of runs that are here" in said[0]

    run(looked())


def test_only_the_owner_and_admins_pin_and_forget(address, cookies, kept, pages, run):
    async def tried():
        for name, which, said in (
            ("vic", "public", "needs the role of runner"), ("sue", "public", "This run is rob’s"),
            ("sue", "private", "expected the id of a run that you may see"),
        ):  # fmt: skip
            page, told, _ = await opened(pages, address, cookies, name)
            row = told["rows"].get(kept[which], "")
            assert "disabled" in row or not row
            assert "data-do" in row or not row
            for kind in ("pin", "forget"):
                await page.say({"kind": kind, "run": kept[which]})
                refused, _ = await page.hear("refused")
                assert said in refused["sentence"]
            await page.close()
        assert {r.run for r in default_runner().store.runs()} == set(kept.values())
        page, _, _ = await opened(pages, address, cookies, "ann")
        await page.say({"kind": "pin", "run": kept["sues"]})
        told = await changed(page, lambda told: kept["sues"] in told["rows"])
        assert "Pinned by ann" in told["rows"][kept["sues"]]
        await page.say({"kind": "forget", "run": kept["sues"]})
        refused, _ = await page.hear("refused")
        assert refused["sentence"] == "Pinned by ann; unpin it first."
        await page.close()
        page, _, _ = await opened(pages, address, cookies, "sue")
        await page.say({"kind": "pin", "run": kept["sues"]})
        told = await changed(page, lambda told: kept["sues"] in told["rows"])
        assert "Pinned" not in told["rows"][kept["sues"]]
        await page.say({"kind": "forget", "run": kept["sues"]})
        told, _ = await page.hear("forgotten")
        assert told["run"] == kept["sues"]
        await page.close()

    run(tried())
    assert kept["sues"] not in {r.run for r in default_runner().store.runs()}


def test_a_run_of_another_process_shows_and_goes_by_itself(address, cookies, kept, pages, run, small_runs):
    """What is written into the store elsewhere is told to an open page."""

    async def watched():
        page, told, _ = await opened(pages, address, cookies, "rob")
        store = default_runner().store
        begun = store.begin(small_runs.record("k9", owner="rob", state=State.RUNNING))
        told = await changed(page, lambda told: begun.run in told["rows"])
        assert told["order"][0] == begun.run and 'data-state="running"' in told["rows"][begun.run]
        store.finish(replace(begun, state=State.FAILED, error="It broke."))
        told = await changed(page, lambda told: begun.run in told["rows"])
        assert "It broke." in told["rows"][begun.run]
        store.forget(begun.run)
        told = await changed(page, lambda told: begun.run not in told["order"])
        assert told["rows"] == {}
        await page.close()

    run(watched())


def test_a_job_shows_how_far_it_is_to_who_asked_for_it_and_no_other(address, cookies, kept, pages, run):
    from workbench.runner import Request

    async def watched():
        page, _, _ = await opened(pages, address, cookies, "rob")
        other, _, _ = await opened(pages, address, cookies, "sue")
        job = default_runner().submit(
            Request("kitchen-sink", "climb", {"steps": "5000", "pause": "0.02"}, owner="rob"), "rob/test"
        )
        until = time.monotonic() + 60
        while True:
            told, _ = await page.hear("list", 60)
            now = [p for p in told["progress"].values() if p["percent"] > 0]
            if now:
                break
            assert time.monotonic() < until
        assert now[0]["words"] == "climbing"
        run_id = next(iter(told["progress"]))
        while True:
            told, _ = await other.hear("list")
            assert told["progress"] == {}
            if run_id in told["order"]:
                break
        job.cancel()
        while True:
            told, _ = await page.hear("list", 30)
            if "cancelled" in told["rows"].get(run_id, ""):
                break
        assert told["progress"] == {}
        await page.close()
        await other.close()

    run(watched())


def test_filters_come_from_the_address_and_what_is_wrong_there_is_said(address, cookies, kept, pages, run):
    async def looked():
        page, told, _ = await opened(pages, address, cookies, "rob", "?find=recording&state=done&sort=took&who=me")
        assert told["query"] == {"find": "recording", "state": "done", "sort": "took", "who": "me"}
        assert told["order"] == [kept["private"]]
        await page.say({"kind": "list", "find": "nothing of it"})
        told = await changed(page, lambda told: told["query"] == {"find": "nothing of it"})
        assert told["order"] == [] and told["empty"] == "No run fits."
        await page.close()
        page, told, _ = await opened(pages, address, cookies, "rob", "?state=odd")
        notices, _ = await page.hear("ticked")
        assert notices["notices"] == [
            "The address says state: got 'odd'; expected one of queued, running, done, failed, cancelled, lost."
        ]
        await page.close()

    run(looked())
