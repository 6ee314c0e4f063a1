"""Sign-in over everything: pages, sockets, notebooks, API, static files; and what each role may do."""

import asyncio
import contextlib
import time
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.routing import Mount, Route, WebSocketRoute
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from workbench.runner import default_runner
from workbench.server.settings import Settings
from workbench.server.sign_in import OPEN
from workbench.server.users import Users
from workbench.sources import uploads_folder
from workbench.uploads import keep_upload
from workbench.visitors import Role, visitor

PASSWORD = "correct horse"
PEOPLE = {"ann": Role.ADMIN, "rob": Role.RUNNER, "sue": Role.RUNNER, "vic": Role.VIEWER}
STUDY = "study?study=kitchen-sink"
WEIGH = {"study": "weighing", "experiment": "weigh", "preset": "quick"}
CLIMB = {"study": "kitchen-sink", "experiment": "climb", "preset": "quick"}


@pytest.fixture(scope="module")
def users(tmp_path_factory):
    found = Users(tmp_path_factory.mktemp("users") / "users.json")
    for name, role in PEOPLE.items():
        found.add(name, role, PASSWORD)
    return found


@pytest.fixture(scope="module")
def address(start, users):
    with start(settings=Settings(users=users.path)) as found:
        yield found


def sign_in(address, name, password=PASSWORD, client=None, **form):
    client = client or httpx.Client(base_url=address, timeout=30)
    client.headers["origin"] = "{0.scheme}://{0.netloc}".format(urlsplit(address))
    answer = client.post("login", data={"name": name, "password": password, **form})
    return client, answer


@pytest.fixture
def enter(address):
    """Gives clients that are signed in."""
    clients = []

    def signed(name):
        client, answer = sign_in(address, name)
        assert answer.status_code == 303, answer.text
        clients.append(client)
        return client

    yield signed
    for client in clients:
        client.close()


def cookie(client):
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items())}


# the walk


def walk(routes, above=""):
    """Every route and socket below an application: kind, path, methods."""
    for route in routes:
        path = above + getattr(route, "path", "")
        if hasattr(route, "original_router"):
            yield from walk(route.original_router.routes, above)
        elif isinstance(route, WebSocketRoute) or "WebSocket" in type(route).__name__:
            yield "socket", path, ()
        elif isinstance(route, Mount):
            yield "http", f"{path}/x", ("GET", "POST", "PUT", "DELETE")
            yield "socket", f"{path}/ws", ()
            yield from walk(inner_routes(route.app), path)
        elif isinstance(route, Route):
            yield "http", path, tuple(route.methods or ("GET",))
        elif hasattr(route, "routes"):
            yield from walk(route.routes, above)
        elif getattr(route, "methods", None):
            yield "http", path, tuple(route.methods)


def inner_routes(app):
    """The routes of an application below its layers."""
    while app is not None and not getattr(app, "routes", None):
        app = getattr(app, "app", None)
    return app.routes if app is not None else []


@pytest.fixture(scope="module")
def everything(users, tmp_path_factory):
    """Every route and socket that is served."""
    from workbench.server.site import application

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_HOME", str(tmp_path_factory.mktemp("walk")))
        found = set(walk(inner_routes(application(Settings(users=users.path)))))
    notebook = "/notebooks/dynamics/lif_frequency_matching"
    found |= {("http", f"{notebook}/{rest}", ("GET", "POST")) for rest in (
        "", "ws", "api/status", "api/kernel/instantiate", "api/kernel/set_ui_element_value", "@file/x",
        "assets/index.js", "api/kernel/run", "api/files/create", "auth/login")}  # fmt: skip
    found |= {("socket", f"{notebook}/{rest}", ()) for rest in ("ws", "ws_sync", "terminal/ws")}
    found |= {("http", f"/{rest}", ("GET",)) for rest in ("static/js/bokeh.min.js", "openapi.json", "docs", "redoc",
              "session_info", "liveness", "autoload.js", "rest/session_info", "no/such/page")}  # fmt: skip
    return sorted(found)


def filled(path):
    return path.replace("{", "").replace("}", "").replace(":path", "")


async def opens(address, path, headers=None, subprotocols=None):
    """Whether a socket is opened."""
    try:
        async with connect(
            f"ws{address.removeprefix('http')}{path}", origin=address, additional_headers=headers or {},
            subprotocols=subprotocols, proxy=None, open_timeout=10,
        ):  # fmt: skip
            return True
    except InvalidStatus as refused:
        return refused.response.status_code != 403


async def closed_with(page, seconds):
    """The code that the server closes a page's socket with."""
    try:
        while True:
            await asyncio.wait_for(page._next(), seconds)
    except ConnectionClosed as closed:
        return closed.rcvd.code


def test_nobody_who_is_not_signed_in_gets_beyond_the_sign_in_page(address, everything, run):
    kinds = {kind for kind, _, _ in everything}
    paths = {path for _, path, _ in everything}
    assert (
        kinds == {"http", "socket"}
        and {"/gallery", "/study", "/runs", "/api/jobs", "/metrics", "/login", "/gallery/ws", "/runs/ws"} <= paths
    )
    reached = set()
    with httpx.Client(base_url=address, headers={"origin": address}) as client:
        for _, path, methods in [one for one in everything if one[0] == "http"]:
            for method in methods:
                for accept in ("text/html", "*/*"):
                    answer = client.request(method, filled(path), headers={"accept": accept, "x-user": "ann"})
                    away = answer.status_code == 401 or (
                        answer.status_code == 303 and urlsplit(answer.headers["location"]).path == "/login"
                    )
                    if not away:
                        reached.add(path)
    assert reached == (OPEN & paths) | {"/metrics"}  # `/metrics` only from this machine

    async def sockets():
        for path in {path for kind, path, _ in everything if kind == "socket"}:
            assert not await opens(address, filled(path)), path

    run(sockets())


def test_metrics_are_for_this_machine_or_a_token(address, users, enter):
    outside = {"x-forwarded-for": "203.0.113.9", "origin": address}
    assert httpx.get(f"{address}/metrics").status_code == 200
    assert httpx.get(f"{address}/metrics", headers=outside).status_code == 401
    assert httpx.get(f"{address}/metrics", headers={"host": "team.example"}).status_code == 401
    token = users.issue("vic", 1)
    assert httpx.get(f"{address}/metrics", headers=outside | {"authorization": f"Bearer {token}"}).status_code == 200
    assert enter("ann").get("metrics").status_code == 200
    assert enter("rob").get("metrics").status_code == 403


# signing in and out


def test_a_person_is_sent_to_sign_in_and_back_to_where_they_wanted(address):
    client = httpx.Client(base_url=address)
    sent = client.get(STUDY, headers={"accept": "text/html"})
    assert sent.headers["location"] == "/login?next=%2Fstudy%3Fstudy%3Dkitchen-sink"
    page = client.get(sent.headers["location"])
    assert page.status_code == 200 and 'value="/study?study=kitchen-sink"' in page.text
    _, answer = sign_in(address, "rob", client=client, next="/study?study=kitchen-sink")
    assert answer.headers["location"] == "/study?study=kitchen-sink"
    kept = answer.headers["set-cookie"].lower()
    assert "httponly" in kept and "samesite=lax" in kept and "path=/" in kept and "max-age=43200" in kept
    assert client.get("api/me").json() == {"name": "rob", "role": "runner"}
    assert client.get("login").headers["location"] == "/gallery"


@pytest.mark.parametrize(
    "place", ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:x", "\t/x", "gallery"]
)
def test_signing_in_leads_to_no_other_server(address, place):
    _, answer = sign_in(address, "rob", next=place)
    assert answer.headers["location"] == "/gallery"


def test_a_wrong_name_and_a_wrong_password_look_alike(address):
    pages = [sign_in(address, *pair)[1] for pair in (("rob", "wrong password"), ("nobody", "wrong password"))]
    assert [page.status_code for page in pages] == [401, 401]
    first, second = (page.text.replace("rob", "").replace("nobody", "") for page in pages)
    assert first == second and "Name or password is wrong." in first
    assert "assay-session" not in pages[0].headers.get("set-cookie", "")


def test_too_many_tries_wait(start, users):
    with start(settings=Settings(users=users.path)) as address:
        answers = [sign_in(address, "rob", "wrong password")[1].status_code for _ in range(11)]
        assert answers == [401] * 10 + [429]
        _, refused = sign_in(address, "rob")
        assert refused.status_code == 429 and 0 < int(refused.headers["retry-after"]) <= 300
        assert sign_in(address, "sue")[1].status_code == 303, "another name may come in"
        text = httpx.get(f"{address}/metrics").text
        assert 'assay_sign_in_failures_total{reason="wrong"} 10.0' in text


def test_a_form_of_another_site_signs_nobody_in_or_out(address, enter):
    rob = enter("rob")
    form = {"name": "rob", "password": PASSWORD}
    for origin in ({"origin": "https://evil.example"}, {"origin": "null"}, {"origin": ""}):
        answer = httpx.post(f"{address}/login", data=form, headers=origin)
        assert answer.status_code == 403 and "set-cookie" not in answer.headers
        for path, body in (("logout", {}), ("api/jobs", CLIMB)):
            assert rob.post(path, json=body, headers=origin).status_code == 403
    without = httpx.Client(base_url=address, cookies=rob.cookies)
    assert without.post("api/jobs", json=CLIMB).status_code == 403, "a cookie without an origin"
    assert rob.get("api/me").status_code == 200
    assert default_runner().jobs() == []


def test_signing_out_ends_the_cookie_and_closes_what_is_open(address, enter, pages, run):
    rob = enter("rob")
    other = enter("rob")
    held = cookie(rob)

    async def watched():
        page = await pages.open(f"{address}/{STUDY}", held)
        beside = await pages.open(f"{address}/{STUDY}", cookie(other))
        for one in (page, beside):
            await one.say({"kind": "hello", "theme": "light"})
            await one.hear("controls")
        began = time.monotonic()
        assert (await asyncio.to_thread(rob.post, "logout")).headers["location"] == "/login?out=1"
        assert await closed_with(page, 5) == 4401 and time.monotonic() - began < 2
        await beside.say({"kind": "set", "values": {"amplitude": 2}, "at": "amplitude"})
        await beside.hear("taken")
        await beside.close()

    run(watched())
    assert httpx.get(f"{address}/api/me", headers=held).status_code == 401, "a copy of the cookie is worth nothing"
    assert other.get("api/me").status_code == 200


def test_a_new_password_ends_what_was_signed_in_with_the_old_one(address, users, enter, pages, run):
    users.add("tom", Role.RUNNER, PASSWORD)
    tom = enter("tom")

    async def watched():
        page = await pages.open(f"{address}/{STUDY}", cookie(tom))
        users.set_password("tom", "battery staple")
        assert (await asyncio.to_thread(tom.get, "api/me")).status_code == 401
        assert await closed_with(page, 6) == 4401

    run(watched())
    assert sign_in(address, "tom")[1].status_code == 401
    assert sign_in(address, "tom", "battery staple")[1].status_code == 303


# sockets


def test_a_page_is_for_whom_it_was_made(address, enter, pages, run):
    rob, sue = enter("rob"), enter("sue")
    from bokeh.util.token import generate_jwt_token, get_token_payload

    html = rob.get(STUDY).text
    token = html.split('"token":"')[1].split('"')[0]
    payload = get_token_payload(token)
    assert cookie(rob)["Cookie"].split("=")[1] not in str(payload), "no cookie in what a page's script can read"
    headers = {k.lower(): v for k, v in payload["headers"].items()}
    assert headers["x-user"] == "rob"
    forged = generate_jwt_token("session", extra_payload={**payload, "headers": {"X-User": "sue"}}, expiration=300)

    async def tried():
        place = "/study/ws"
        assert not await opens(address, place, cookie(sue), ["bokeh", token]), "sue, with rob's token"
        assert not await opens(address, place, cookie(rob), ["bokeh", "nonsense"])
        with pytest.raises((AssertionError, InvalidStatus, ConnectionClosed)):
            await pages.connect(f"{address}/{STUDY}", forged, address, cookie(sue))
        with pytest.raises(InvalidStatus):
            await pages.connect(f"{address}/{STUDY}", token, "http://evil.example", cookie(rob))
        page = await pages.connect(f"{address}/{STUDY}", token, address, cookie(rob))
        await page.close()

    run(tried())


# roles


def submit(client, **asked):
    answer = client.post("api/jobs", json={**CLIMB, **asked})
    assert answer.status_code == 202, answer.text
    return answer.json()


def ended(client, id):
    until = time.monotonic() + 60
    while (job := client.get(f"api/jobs/{id}").json())["state"] in ("queued", "running"):
        assert time.monotonic() < until
        time.sleep(0.1)
    return job


def test_runners_see_and_cancel_their_own_and_admins_all(enter):
    ann, rob, sue, vic = map(enter, PEOPLE)
    job = submit(rob, preset="full", values={"amplitude": 1.75})
    assert job["owner"] == "rob"
    assert job["id"] in [one["id"] for one in rob.get("api/jobs").json()]
    assert job["id"] in [one["id"] for one in ann.get("api/jobs").json()]
    for other in (sue, vic):
        assert other.get("api/jobs").json() == []
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/events"), ("GET", "/result")):
            assert other.request(method, f"api/jobs/{job['id']}{path}").status_code in (403, 404)
    assert rob.get(f"api/jobs/{job['id']}").json()["state"] in ("queued", "running")

    shared = submit(sue, preset="full", values={"amplitude": 1.75})
    assert shared["id"] == job["id"]
    assert rob.delete(f"api/jobs/{job['id']}").json() == {"stopped": False}, "sue waits for it too"
    assert sue.get(f"api/jobs/{job['id']}").json()["state"] in ("queued", "running")
    assert ann.delete(f"api/jobs/{job['id']}").json() == {"stopped": True}
    assert ended(ann, job["id"])["state"] == "cancelled"


def test_a_result_of_private_data_is_its_owners_and_the_admins(enter):
    ann, rob, sue, vic = map(enter, PEOPLE)
    reference = keep_upload("mine.csv", b"a,b\n1,2\n", "rob").reference
    for other in (sue, vic):
        asked = {**WEIGH, "values": {"parcel": reference}}
        assert other.post("api/jobs", json=asked).status_code in (403, 422), "the data of others are not there for them"
    private = ended(rob, submit(rob, **WEIGH, values={"parcel": reference})["id"])
    public = ended(rob, submit(rob, values={"amplitude": 0.7})["id"])
    assert private["state"] == public["state"] == "done"
    seen = {client: {run["run"] for run in client.get("api/runs").json()} for client in (ann, rob, sue, vic)}
    assert public["run"] in seen[ann] & seen[rob] & seen[sue] & seen[vic]
    assert ann.get(f"api/runs/{private['run']}").json()["controls"]["parcel"] == reference
    assert private["run"] in seen[ann] & seen[rob] and private["run"] not in seen[sue] | seen[vic]
    for path in ("", "/result"):
        assert rob.get(f"api/runs/{private['run']}{path}").status_code == 200
        assert sue.get(f"api/runs/{private['run']}{path}").status_code == 404


def test_a_viewer_finds_nothing_that_submits_or_uploads(address, everything, enter, pages, run):
    vic = enter("vic")
    before = {job.id for job in default_runner().jobs()}
    assert vic.get(STUDY).status_code == vic.get("gallery").status_code == vic.get("api/runs").status_code == 200
    for path, body in (("api/jobs", CLIMB), ("api/sweeps", {**CLIMB, "axes": {"amplitude": [1, 2]}})):
        refused = vic.post(path, json=body)
        assert refused.status_code == 403 and "role of runner" in refused.json()["detail"]
    for refused in (
        vic.post("api/uploads", params={"name": "a.csv"}, content=b"a\n"),
        vic.post("api/uploads/folder", json={"name": "a", "files": {}}),
    ):
        assert refused.status_code == 403 and "role of runner" in refused.json()["detail"]
    for kind, path, methods in everything:
        for method in methods:
            if kind == "http" and method not in ("GET", "HEAD") and path not in ("/login", "/logout"):
                with contextlib.suppress(httpx.TransportError):  # marimo gives up on what it cannot read
                    answer = vic.request(method, filled(path), json=CLIMB)
                    assert answer.status_code >= 400 or "notebooks" in path, (method, path, answer.status_code)

    async def page():
        found = await pages.open(f"{address}/{STUDY}", cookie(vic))
        await found.say({"kind": "hello", "theme": "light"})
        facts, _ = await found.hear("study")
        assert (facts["may"]["run"], facts["may"]["why"]) == (False, visitor_sentence())
        for message in (
            {"kind": "run", "experiment": "climb"},
            {"kind": "sweep", "experiment": "climb", "control": "amplitude", "values": "1:2:2", "seeds": 1},
        ):
            await found.say(message)
            refused, _ = await found.hear("refused")
            assert "role of runner" in refused["sentence"]
        await found.say({"kind": "set", "values": {"amplitude": 2}, "at": "amplitude"})
        await found.hear("taken")
        await found.close()

    run(page())
    assert {job.id for job in default_runner().jobs()} == before
    assert not uploads_folder("vic").exists()


def visitor_sentence():
    from workbench.visitors import Visitor

    return Visitor("vic", Role.VIEWER).why_not


def test_what_nobody_is_answered_for_may_do_nothing(address):
    assert visitor().role is Role.VIEWER and visitor().roots == ()


def test_a_path_is_read_only_below_the_roots_that_are_listed(start, users, tmp_path):
    inside, outside = tmp_path / "shared", tmp_path / "secret"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "x.csv").write_text(f"a,b\n{folder.name},2\n")
    (inside / "link.csv").symlink_to(outside / "x.csv")
    with start(settings=Settings(users=users.path, roots=(inside.resolve(),))) as address:
        rob, _ = sign_in(address, "rob")
        good = rob.post("api/jobs", json={**WEIGH, "values": {"parcel": str(inside / "x.csv")}})
        assert good.status_code == 202, good.text
        assert good.json()["values"]["parcel"].startswith("sha256:"), "what is kept names no path"
        for path in (outside / "x.csv", inside / ".." / "secret" / "x.csv", inside / "link.csv"):
            bad = rob.post("api/jobs", json={**WEIGH, "values": {"parcel": str(path)}})
            assert bad.status_code == 422 and "may be read" in bad.json()["detail"], path
            assert str(tmp_path) not in bad.json()["detail"]
        rob.close()
