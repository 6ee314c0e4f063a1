"""Signing in and out: the page, the password, and the way to an OpenID provider and back."""

from __future__ import annotations

import logging
import math
from html import escape
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from authlib.integrations.base_client import OAuthError
from authlib.integrations.starlette_client import OAuth
from authlib.oauth2.rfc6749 import OAuth2Error
from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from httpx import HTTPError
from joserfc.errors import JoseError

from workbench.faces.panel.page import LOGO, plain_page
from workbench.server.gate import Gate, Signed
from workbench.server.metrics import Metrics
from workbench.server.provider import Provider
from workbench.server.seals import COOKIE, Seal, parse_cookies
from workbench.server.sign_in import Sockets

__all__ = ["login_routes"]

TRIP = "assay-provider"  # what is carried to the provider and back
TRIP_SECONDS = 600
MAX_FORM = 8192
WRONG = "Name or password is wrong."

STYLE = """
body{display:grid;place-items:center;min-height:100vh}
.lg{width:min(19rem,100vw - 2*var(--as-4));padding:var(--as-6);display:grid;gap:var(--as-4)}
.lg .as-brand{justify-self:start}
.lg form{display:grid;gap:var(--as-4)}
.lg label{display:block;font-size:var(--as-t-s);margin-bottom:var(--as-1)}
.lg .as-btn{width:100%}
.lg .lg-said{font-size:var(--as-t-s);color:var(--as-ink-2)}
.lg .lg-err{font-size:var(--as-t-s);color:var(--as-fails)}
.st{padding:0;margin:0}.as-skip{display:none}
"""


def login_page(settings: Any, *, name: str = "", place: str = "", wrong: str = "", said: str = "") -> str:
    """The sign-in page.

    Args:
        settings: what may be signed in with.
        name: what was typed.
        place: where to go then.
        wrong: why it was refused.
        said: another sentence.
    """
    parts = [f'<div class="as-brand">{LOGO}Assay</div><h1 class="as-sr">Sign in</h1>']
    parts.append(f'<p class="lg-said" role="status">{escape(said)}</p>' if said else "")
    parts.append(f'<p class="lg-err" id="lg-err" role="alert">{escape(wrong)}</p>' if wrong else "")
    if settings.users is not None:
        told = ' aria-describedby="lg-err" aria-invalid="true"' if wrong else ""
        parts.append(
            '<form method="post" action="login">'
            f'<input type="hidden" name="next" value="{escape(place)}">'
            f'<div><label for="lg-n">Name</label><input class="as-field" id="lg-n" name="name" value="{escape(name)}" '
            f'autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="63"{told}'
            f"{'' if name else ' autofocus'}></div>"
            '<div><label for="lg-p">Password</label><input class="as-field" id="lg-p" name="password" type="password" '
            f'autocomplete="current-password" required{told}{" autofocus" if name else ""}></div>'
            '<button class="as-btn as-btn--main">Sign in</button></form>'
        )
    if settings.provider is not None:
        query = f"?next={quote(place, safe='')}" if place else ""
        parts.append(f'<a class="as-btn" href="login/provider{query}">{escape(settings.provider.label)}</a>')
    main = f'<div class="as-panel lg">{"".join(parts)}</div><style>{STYLE}</style>'
    return plain_page("Sign in – Assay", main, top="")


def inside(place: str) -> str:
    """A place of this server to go to; none where the text names another server."""
    parts = urlsplit(place)
    plain = place.startswith("/") and not place.startswith(("//", "/\\")) and place.isprintable()
    return place if plain and not parts.scheme and not parts.netloc else ""


def login_routes(gate: Gate, sockets: Sockets, metrics: Metrics) -> APIRouter:
    """`/login`, `/logout`, and the two steps of a provider."""
    routes = APIRouter(include_in_schema=False)
    settings = gate.settings

    def shown(status: int = 200, headers: dict[str, str] | None = None, **said: str) -> HTMLResponse:
        return HTMLResponse(
            login_page(settings, **said), status, headers={"cache-control": "no-store", **(headers or {})}
        )

    def root(request: Request) -> str:
        return request.scope.get("root_path", "")

    def entered(request: Request, cookie: str, place: str) -> Response:
        answer = RedirectResponse(root(request) + (inside(place) or "/gallery"), 303)
        answer.set_cookie(
            COOKIE, cookie, max_age=int(gate.seals.lifetime), path=root(request) or "/", httponly=True, samesite="lax",
            secure=request.url.scheme == "https",
        )  # fmt: skip
        return answer

    @routes.get("/login")
    async def ask(request: Request, next: str = "", out: bool = False) -> Response:
        if "assay.signed" in request.scope:
            return RedirectResponse(f"{root(request)}/gallery", 303)
        return shown(place=inside(next), said="You have signed out." if out else "")

    @routes.post("/login")
    async def enter(request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MAX_FORM:
                return shown(413, wrong=WRONG)
        form = {k: v[-1] for k, v in parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True).items()}
        name, place = form.get("name", "").strip().lower()[:63], inside(form.get("next", ""))
        if "origin" not in request.headers:
            return shown(403, wrong="This form was not sent by the sign-in page.", place=place)
        address = request.client.host if request.client else ""
        if wait := gate.wait(name, address):
            metrics.refused.labels("too often").inc()
            seconds = math.ceil(wait)
            said = f"Too many tries; try again in {max(1, round(seconds / 60))} min."
            return shown(429, {"retry-after": str(seconds)}, name=name, place=place, wrong=said)
        account = await run_in_threadpool(gate.check, name, form.get("password", ""), address)
        if account is None:
            metrics.refused.labels("wrong").inc()
            return shown(401, name=name, place=place, wrong=WRONG)
        _, cookie = gate.seals.make(account.name, account.generation)
        return entered(request, cookie, place)

    @routes.post("/logout")
    async def leave(request: Request) -> Response:
        signed: Signed | None = request.scope.get("assay.signed")
        seal: Seal | None = signed.seal if signed else None
        if seal is not None:
            gate.seals.sign_out(seal)
            sockets.close(lambda other: other.seal is not None and other.seal.id == seal.id)
        answer = RedirectResponse(f"{root(request)}/login?out=1", 303)
        answer.delete_cookie(COOKIE, path=root(request) or "/")
        return answer

    if settings.provider is not None:
        add_provider(routes, gate, settings.provider, shown, entered, metrics)
    return routes


def add_provider(routes: APIRouter, gate: Gate, provider: Provider, shown: Any, entered: Any, metrics: Metrics) -> None:
    """The way to an OpenID provider and back: authorization code, with PKCE, state and nonce in a signed cookie."""
    client: Any = OAuth().register(
        "provider", client_id=provider.client_id, client_secret=provider.client_secret,
        server_metadata_url=f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={"scope": "openid profile email", "code_challenge_method": "S256", "timeout": 10},
    )  # fmt: skip
    trip = {"httponly": True, "samesite": "lax", "max_age": TRIP_SECONDS}

    def back(request: Request) -> str:
        return f"{request.url.scheme}://{request.url.netloc}{request.scope.get('root_path', '')}/login/back"

    def refused(reason: str, sentence: str, status: int = 403) -> Response:
        metrics.refused.labels(reason).inc()
        answer = shown(status, wrong=sentence)
        answer.delete_cookie(TRIP)
        return answer

    @routes.get("/login/provider")
    async def away(request: Request, next: str = "") -> Response:
        request.scope["session"] = {}
        try:
            answer = await client.authorize_redirect(request, back(request))
        except (HTTPError, OAuthError, OAuth2Error, ValueError):
            logging.getLogger(__name__).exception("the provider at %s", provider.issuer)
            return refused("provider", "The provider does not answer.", 502)
        carried = gate.seals.wrap({"session": request.scope["session"], "next": inside(next)})
        answer.set_cookie(
            TRIP,
            carried,
            path=f"{request.scope.get('root_path', '')}/login",
            secure=request.url.scheme == "https",
            **trip,
        )
        return answer

    @routes.get("/login/back")
    async def returned(request: Request) -> Response:
        cookie = parse_cookies(request.headers.get("cookie", "")).get(TRIP, "")
        carried = gate.seals.unwrap(cookie, TRIP_SECONDS)
        request.scope["session"] = carried.get("session", {})
        try:
            token = await client.authorize_access_token(request)
            claims = token["userinfo"]
        except (HTTPError, OAuthError, OAuth2Error, JoseError, KeyError, ValueError) as error:
            logging.getLogger(__name__).warning("the provider at %s: %s", provider.issuer, error)
            return refused("provider", "The provider did not sign you in.")
        name, role = provider.name_of(claims), provider.role_of(claims)
        if name is None or role is None or gate.is_local(name):
            return refused("no role", "You have no role here; an admin of this server can give you one.")
        _, sealed = gate.seals.make(name, "", role)
        answer = entered(request, sealed, str(carried.get("next", "")))
        answer.delete_cookie(TRIP, path=f"{request.scope.get('root_path', '')}/login")
        return answer
