"""Signing in with an OpenID provider: a small one of our own, which can be made to err in every way that matters."""

import base64
import hashlib
import time
from types import SimpleNamespace
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Route

from workbench.controls import ControlError
from workbench.server.provider import Provider, read_provider
from workbench.server.settings import Settings
from workbench.server.users import Users
from workbench.visitors import Role

SECRET = "s3cret"


class Authority:
    """A provider that knows one person.

    Attributes:
        claims: of the person.
        wrong: how it errs: a claim of the token that is replaced, `key`, `verifier`, or nothing.
    """

    def __init__(self):
        self.claims = {"sub": "1", "preferred_username": "Eve", "groups": ["researchers"]}
        self.wrong = {}
        self.address = ""
        self.asked = {}
        self.key, self.other = (RSAKey.generate_key(2048, {"kid": "1", "use": "sig", "alg": "RS256"}) for _ in "12")
        self.app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self.metadata),
                Route("/authorize", self.authorize),
                Route("/token", self.token, methods=["POST"]),
                Route("/keys", self.keys),
            ]
        )

    async def metadata(self, request: Request):
        here = self.address
        return JSONResponse(
            {
                "issuer": here, "authorization_endpoint": f"{here}/authorize", "token_endpoint": f"{here}/token",
                "jwks_uri": f"{here}/keys", "response_types_supported": ["code"], "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"], "code_challenge_methods_supported": ["S256"],
            }
        )  # fmt: skip

    async def keys(self, request: Request):
        return JSONResponse(KeySet([self.key]).as_dict(private=False))

    async def authorize(self, request: Request):
        self.asked = asked = dict(request.query_params)
        assert asked["response_type"] == "code" and "openid" in asked["scope"] and asked["client_id"] == "assay"
        assert asked["code_challenge_method"] == "S256" and asked["nonce"] and asked["state"]
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode({'code': 'c0de', 'state': asked['state']})}", 302)

    async def token(self, request: Request):
        form = {k: v[0] for k, v in parse_qs((await request.body()).decode()).items()}
        kind, _, given = request.headers["authorization"].partition(" ")
        assert kind == "Basic" and base64.b64decode(given).decode() == f"assay:{SECRET}"
        challenge = (
            base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        )
        assert form["code"] == "c0de" and form["redirect_uri"] == self.asked["redirect_uri"]
        assert challenge == self.asked["code_challenge"]
        now = int(time.time())
        claims = {
            "iss": self.address, "aud": "assay", "iat": now, "exp": now + 300, "nonce": self.asked["nonce"],
            **self.claims, **{k: v for k, v in self.wrong.items() if k != "key"},
        }  # fmt: skip
        signed = jwt.encode({"alg": "RS256", "kid": "1"}, claims, self.other if "key" in self.wrong else self.key)
        return JSONResponse({"access_token": "x", "token_type": "Bearer", "expires_in": 300, "id_token": signed})


@pytest.fixture(scope="module")
def served_authority(serving):
    authority = Authority()
    with serving(authority.app) as address:
        authority.address = address
        yield authority


@pytest.fixture
def authority(served_authority):
    served_authority.wrong = {}
    served_authority.claims = {"sub": "1", "preferred_username": "Eve", "groups": ["researchers"]}
    return served_authority


@pytest.fixture(scope="module")
def address(start, served_authority, tmp_path_factory):
    users = Users(tmp_path_factory.mktemp("users") / "users.json")
    users.add("ann", Role.ADMIN, "correct horse")
    provider = Provider(
        served_authority.address,
        "assay",
        SECRET,
        roles={"researchers": Role.RUNNER, "admins": Role.ADMIN},
        label="Sign in with Uni",
    )
    with start(settings=Settings(users=users.path, provider=provider, prefix="/a/b")) as found:
        yield f"{found}/a/b"


def travel(address, start="login/provider", jar=None):
    """A browser's way to the provider and back; the last answer, the places on the way, and the browser."""
    client = jar or httpx.Client(timeout=30)
    place, way = f"{address}/{start}", []
    for _ in range(4):
        answer = client.get(place)
        way.append(place)
        if "location" not in answer.headers or "login/back" in place:
            break
        place = answer.headers["location"]
    return SimpleNamespace(answer=answer, way=way, client=client)


def test_a_person_comes_in_with_the_role_of_their_group(address, authority):
    page = httpx.get(f"{address}/login").text
    assert "Sign in with Uni" in page and 'href="login/provider"' in page
    found = travel(address, "login/provider?next=%2Fstudy%3Fstudy%3Dkitchen-sink")
    assert found.answer.status_code == 303
    assert found.answer.headers["location"] == "/a/b/study?study=kitchen-sink"
    assert found.client.get(f"{address}/api/me").json() == {"name": "eve", "role": "runner"}
    back = urlsplit(authority.asked["redirect_uri"])
    assert (back.netloc, back.path) == (urlsplit(address).netloc, "/a/b/login/back")
    authority.claims["groups"] = ["researchers", "admins"]
    assert travel(address).client.get(f"{address}/api/me").json()["role"] == "admin"
    out = found.client.post(f"{address}/logout", headers={"origin": address.removesuffix("/a/b")})
    assert out.status_code == 303 and found.client.get(f"{address}/api/me").status_code == 401


@pytest.mark.parametrize(
    "wrong",
    [{"nonce": "another"}, {"aud": "another"}, {"iss": "https://evil.example"}, {"exp": 1000}, {"key": "another"}],
    ids=str,
)
def test_a_token_that_is_not_for_us_signs_nobody_in(address, authority, wrong):
    authority.wrong = wrong
    found = travel(address)
    assert found.answer.status_code == 403 and "did not sign you in" in found.answer.text
    assert found.client.get(f"{address}/api/me").status_code == 401


def test_a_way_that_another_browser_began_ends_nowhere(address, authority):
    began = travel(address)
    last = began.way[-1]
    assert "login/back" in last
    other = httpx.Client(timeout=30)
    assert other.get(last).status_code == 403, "no cookie of the way"
    assert other.get(f"{address}/api/me").status_code == 401
    other.get(f"{address}/login/provider")
    assert other.get(last).status_code == 403, "the state of another way"
    assert httpx.get(f"{address}/login/back").status_code == 403


@pytest.mark.parametrize(
    "claims",
    [
        {"groups": ["guests"]},
        {"groups": []},
        {"preferred_username": "../x"},
        {"preferred_username": ""},
        {"preferred_username": "ann"},
    ],
    ids=str,
)
def test_who_has_no_role_or_no_name_that_can_be_stays_out(address, authority, claims):
    authority.claims |= claims
    found = travel(address)
    assert found.answer.status_code == 403 and "You have no role here" in found.answer.text
    assert found.client.get(f"{address}/api/me").status_code == 401


def test_a_provider_that_is_away_is_said(start):
    provider = Provider("http://localhost:9", "assay", SECRET, default_role=Role.VIEWER)
    with start(settings=Settings(provider=provider)) as address:
        answer = httpx.get(f"{address}/login/provider", timeout=30)
        assert answer.status_code == 502 and "does not answer" in answer.text
        page = httpx.get(f"{address}/login").text
        assert "password" not in page.lower() and "Sign in with your organisation" in page


GOOD = 'issuer = "https://id.example.org"\nclient_id = "assay"\nclient_secret = "x"\n'


def test_the_file_of_a_provider_is_read(tmp_path, monkeypatch):
    path = tmp_path / "oidc.toml"
    path.write_text(GOOD + 'default_role = "viewer"\n[roles]\nadmins = "admin"\n')
    found = read_provider(path)
    assert found.roles == {"admins": Role.ADMIN} and found.default_role is Role.VIEWER
    assert found.role_of({"groups": "admins"}) is Role.ADMIN and found.role_of({}) is Role.VIEWER
    assert "x" not in repr(found).partition("client_secret")[2][:3]
    monkeypatch.setenv("ASSAY_OIDC_SECRET", "from the environment")
    path.write_text(GOOD.replace('client_secret = "x"\n', "") + 'default_role = "viewer"\n')
    assert read_provider(path).client_secret == "from the environment"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[", "is no TOML"),
        ('issuer = "https://x.org"\n', "has no client_id"),
        (GOOD.replace("https", "http") + 'default_role = "viewer"', "issuer: got 'http://id.example.org'"),
        (GOOD, "lets nobody in"),
        (GOOD + 'default_role = "king"', "expected viewer, runner or admin"),
        (GOOD + 'rolle = "viewer"', "says 'rolle'; expected some of"),
    ],
)
def test_a_file_that_cannot_be_is_one_sentence(tmp_path, text, says):
    path = tmp_path / "oidc.toml"
    path.write_text(text)
    with pytest.raises(ControlError, match=r"^oidc: ") as refused:
        read_provider(path)
    assert says in str(refused.value) and "\n" not in str(refused.value)
