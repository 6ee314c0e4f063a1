"""Below a path of a proxy: nginx takes the path away or leaves it, and everything is found either way."""

import re
from urllib.parse import urljoin, urlsplit

import httpx
import pytest

from workbench.controls import ControlError
from workbench.server.prefix import clean_prefix
from workbench.server.settings import Settings


@pytest.mark.parametrize(
    ("typed", "used"), [("", ""), ("/", ""), ("/a", "/a"), ("/a/b/", "/a/b"), ("/x-1_~.y", "/x-1_~.y")]
)
def test_a_prefix_is_a_plain_path(typed, used):
    assert clean_prefix(typed) == used


@pytest.mark.parametrize(
    "typed", ["a/b", "/a//b", "/a b", "/../x", "/a/./b", "https://x.org/a", "/ä", "/a?b", "/study", "/api/x"]
)
def test_what_is_no_path_or_begins_like_a_page_is_refused(typed):
    with pytest.raises(ControlError, match=r"^prefix: got"):
        clean_prefix(typed, ["study", "api", "static"])


@pytest.mark.parametrize("taken", ["/study", "/api/x", "/static/y", "/metrics", "/notebooks"])
def test_the_pages_and_routes_that_are_served_are_all_known(taken, kitchen):
    from workbench.server.site import application

    with pytest.raises(ControlError, match="does not begin like a page of ours"):
        application(Settings(prefix=taken))


@pytest.fixture(scope="module")
def address(start):
    with start(settings=Settings(prefix="/a/b")) as found:
        yield found


@pytest.mark.parametrize("stripped", [True, False])
def test_pages_sockets_files_notebooks_and_api_are_found(address, nginx, pages, run, stripped):
    with nginx(address, "/a/b", stripped=stripped) as outside:
        home = httpx.get(f"{outside}/", follow_redirects=True)
        assert home.status_code == 200 and urlsplit(str(home.url)).path == "/a/b/gallery"
        for page in ("gallery", "runs", "study?study=kitchen-sink", "lif_frequency_matching", "api/"):
            html = httpx.get(f"{outside}/{page}").text
            links = re.findall(r'(?:src|href)="([^"#]+)"', html)
            assert links
            for link in {
                urljoin(f"{outside}/{page}", link) for link in links if not link.startswith(("data:", "http"))
            }:
                assert urlsplit(link).path.startswith("/a/b/"), (page, link)
                assert httpx.get(link, follow_redirects=True).status_code == 200, (page, link)
        slash = httpx.get(f"{outside}/gallery/")
        assert slash.status_code == 307 and urlsplit(slash.headers["location"]).path == "/a/b/gallery"
        notebook = httpx.get(f"{outside}/notebooks/dynamics/lif_frequency_matching", follow_redirects=True)
        assert notebook.status_code == 200 and notebook.url.path == "/a/b/notebooks/dynamics/lif_frequency_matching/"
        assert httpx.get(f"{outside}/api/openapi.json").json()["servers"] == [{"url": "/a/b"}]

        async def move():
            page = await pages.open(f"{outside}/study?study=kitchen-sink")
            await page.say({"kind": "hello", "theme": "light"})
            await page.hear("controls")
            await page.say({"kind": "set", "values": {"amplitude": 2.5}, "at": "amplitude"})
            told, _ = await page.hear("controls")
            await page.close()
            return told["controls"]["amplitude"]["value"]

        assert run(move()) == 2.5
