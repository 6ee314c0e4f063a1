"""The users file, the cookies, and how often a password may be tried."""

import json
import os
import stat
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.controls import ControlError
from workbench.server.seals import Seals, parse_cookies
from workbench.server.settings import settings_of
from workbench.server.tries import Tries
from workbench.server.users import Users, check_name
from workbench.visitors import Role

PASSWORD = "correct horse"


@pytest.fixture
def users(tmp_path):
    found = Users(tmp_path / "users.json")
    found.add("ann", Role.ADMIN, PASSWORD)
    return found


def test_a_password_is_known_by_its_hash_alone(users):
    assert users.check("ann", PASSWORD).role is Role.ADMIN
    assert users.check("ann", PASSWORD + " ") is None and users.check("bob", PASSWORD) is None
    text = users.path.read_text()
    assert PASSWORD not in text and json.loads(text)["users"]["ann"]["password"].startswith("$argon2id$")
    assert stat.S_IMODE(os.stat(users.path).st_mode) == 0o600


def test_a_change_is_seen_at_once_by_another_process_and_ends_what_was_signed_in(users):
    before = users.accounts["ann"].generation
    other = Users(users.path)
    other.set_password("ann", "battery staple")
    assert users.check("ann", PASSWORD) is None and users.check("ann", "battery staple")
    between = users.accounts["ann"].generation
    other.set_role("ann", Role.VIEWER)
    assert len({before, between, users.accounts["ann"].generation}) == 3
    other.remove("ann")
    assert users.check("ann", "battery staple") is None and not users.accounts


def test_a_token_is_good_until_it_ends_or_is_revoked(users, monkeypatch):
    token = users.issue("ann", days=1)
    assert users.of_token(token).name == "ann"
    assert token.rpartition("_")[2] not in users.path.read_text()
    for wrong in ("", "assay", "assay__", token[:-1], token + "x", token.replace("assay", "other"), "assay_zzz_zzz"):
        assert users.of_token(wrong) is None, wrong
    with monkeypatch.context() as later:
        tomorrow = time.time() + 25 * 3600
        later.setattr(time, "time", lambda: tomorrow)
        assert users.of_token(token) is None
    users.revoke("ann", token.split("_")[1])
    assert users.of_token(token) is None
    with pytest.raises(ControlError, match=r"^revoke: got .* of ann: none"):
        users.revoke("ann", "0")


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (lambda u: u.add("ann", Role.RUNNER, PASSWORD), "name: got ann, who is there already"),
        (lambda u: u.add("bob", Role.RUNNER, "short"), "password: got 5 characters; expected 10 to 1000"),
        (lambda u: u.set_password("bob", PASSWORD), "name: got 'bob'; expected one of ann"),
        (lambda u: u.remove("bob"), "name: got 'bob'; expected one of ann"),
    ],
)
def test_what_cannot_be_changed_is_one_sentence_and_changes_nothing(users, act, says):
    before = users.path.read_text()
    with pytest.raises(ControlError) as refused:
        act(users)
    assert str(refused.value).startswith(says)
    assert users.path.read_text() == before


@pytest.mark.parametrize(
    "content", ["", "{}", "no json", '{"format": 2, "users": {}}', '{"format": 1, "users": {"A B": {}}}']
)
def test_a_file_of_another_kind_is_refused(tmp_path, content):
    path = tmp_path / "users.json"
    path.write_text(content)
    with pytest.raises(ControlError, match="is no users file"):
        Users(path).check("ann", PASSWORD)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "Ann", "é", "a b", "-a", "a" * 64, "a\n"])
def test_a_name_is_also_the_name_of_a_folder(name):
    with pytest.raises(ControlError, match="name: got"):
        check_name(name)


def test_the_command_makes_the_file(tmp_path):
    def assay(*arguments, said=""):
        command = [sys.executable, "-m", "workbench.cli", "users", *arguments, "--file", str(tmp_path / "u.json")]
        code = "from workbench.cli import main; main()"
        command = [sys.executable, "-c", code, *command[3:]]
        return subprocess.run(command, input=said, capture_output=True, text=True, check=False)

    made = assay("add", "vic", "--role", "viewer", "--password-stdin", said=PASSWORD + "\n")
    assert made.returncode == 0, made.stderr
    token = assay("token", "vic").stdout.strip()
    users = Users(tmp_path / "u.json")
    assert users.check("vic", PASSWORD).role is Role.VIEWER and users.of_token(token).name == "vic"
    again = assay("add", "vic", "--password-stdin", said=PASSWORD + "\n")
    assert (
        again.returncode == 2 and again.stderr == "assay: name: got vic, who is there already; expected another name\n"
    )


# cookies


def test_a_cookie_is_read_back_until_it_ends_is_signed_out_or_is_touched(tmp_path):
    seals = Seals(tmp_path, lifetime=60)
    seal, cookie = seals.make("ann", "abc")
    assert seals.read(cookie) == seal
    assert Seals(tmp_path).read(cookie) == seal, "a restart signs nobody out"
    assert Seals(tmp_path / "other").read(cookie) is None, "another server has another key"
    assert Seals(tmp_path, lifetime=-1).read(Seals(tmp_path, lifetime=-1).make("ann", "abc")[1]) is None
    seals.sign_out(seal)
    assert seals.read(cookie) is None and Seals(tmp_path).read(cookie) is None
    assert stat.S_IMODE(os.stat(tmp_path / "key").st_mode) == 0o600
    _, provided = seals.make("eve@example.org", "", Role.RUNNER)
    assert seals.read(provided).role is Role.RUNNER


@given(st.data())
def test_a_cookie_that_was_changed_anywhere_is_nobodys(tmp_path_factory, data):
    seals = Seals(tmp_path_factory.getbasetemp() / "seals")
    _, cookie = seals.make("ann", "abc")
    at = data.draw(st.integers(0, 10_000)) % len(cookie)
    first, second = data.draw(st.permutations("Aa0_-.=é "))[:2]
    other = first if first != cookie[at] else second
    changed = cookie[:at] + other + cookie[at + 1 :]
    found = seals.read(changed)
    assert found is None or found == seals.read(cookie), "base64 may spell the same bytes in two ways"
    assert seals.read(cookie[:at]) is None
    assert seals.read(data.draw(st.text(max_size=80))) is None


def test_what_is_carried_to_a_provider_cannot_stand_for_a_cookie(tmp_path):
    seals = Seals(tmp_path)
    carried = seals.wrap({"next": "/x"})
    assert seals.unwrap(carried, 10) == {"next": "/x"}
    assert seals.unwrap(seals.make("ann", "")[1], 10) == {} and seals.read(carried) is None


def test_cookies_are_taken_apart():
    assert parse_cookies("a=1; b = ;c; assay-session=x.y=z") == {"a": "1", "b ": "", "assay-session": "x.y=z"}


# tries


def test_too_many_failures_wait_and_others_do_not():
    now = [0.0]
    tries = Tries(3, 60, clock=lambda: now[0])
    for second in range(3):
        now[0] = second
        assert tries.wait("ann") == 0
        tries.failed("ann")
    assert tries.wait("ann") == pytest.approx(58) and tries.wait("bob") == 0
    now[0] = 60.5
    assert tries.wait("ann") == 0
    tries.failed("ann")
    assert tries.wait("ann") == pytest.approx(0.5)
    tries.passed("ann")
    assert tries.wait("ann") == 0


def test_a_flood_of_names_does_not_fill_the_memory():
    tries = Tries(3, 60)
    tries.KEYS = 100
    for number in range(1000):
        tries.failed(f"name {number}")
    assert len(tries._failures) <= 100


# who may come at all


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "example.org", "", "::"])
def test_a_host_beyond_this_machine_needs_sign_in(host, tmp_path):
    with pytest.raises(ControlError, match=r"^host: got .*expected localhost, or --users FILE"):
        settings_of(host)
    with pytest.raises(ControlError, match=r"^users: got .* no file"):
        settings_of(host, users=tmp_path / "none")


def test_this_machine_alone_needs_none():
    assert not settings_of("127.0.0.1").sign_in and not settings_of("localhost").sign_in


def test_a_root_that_is_no_folder_is_refused(tmp_path):
    with pytest.raises(ControlError, match=r"^roots: got .*expected a folder"):
        settings_of("localhost", roots=(tmp_path / "none",))
