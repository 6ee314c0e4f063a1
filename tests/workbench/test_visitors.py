"""Who may do what: roles, the data of others, and that a session acts for its visitor."""

import contextvars
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from workbench.controls import ControlError
from workbench.registry import registry
from workbench.session import Session
from workbench.sources import find_source, uploads_folder
from workbench.uploads import keep_upload
from workbench.visitors import LOCAL, Role, Visitor, acting, visitor


def of(name, role=Role.RUNNER):
    return Visitor(name, role, (uploads_folder(name),))


def a_file(seed=0):
    from io import BytesIO

    rng = np.random.default_rng(seed)
    file = BytesIO()
    np.savez(file, X=rng.normal(size=(8, 16, 1)), y=np.arange(8) % 2, fs=8.0)
    return file.getvalue()


@pytest.mark.parametrize(
    ("role", "own", "others"),
    [(Role.VIEWER, False, False), (Role.RUNNER, True, False), (Role.ADMIN, True, True)],
)
def test_a_role_says_what_may_be_run_and_cancelled(role, own, others):
    ann = of("ann", role)
    assert (ann.may_cancel("ann"), ann.may_cancel("bob")) == (own, others)
    assert ann.may_run is own
    assert bool(ann.why_not) is not own


def test_an_upload_is_its_owners_alone(fresh_home):
    reference = keep_upload("mine.npz", a_file(), "ann").reference
    assert find_source(reference, of("ann").roots).name == "mine.npz"
    with pytest.raises(ValueError, match="not on this machine"):
        find_source(reference, of("bob").roots)
    with pytest.raises(ValueError, match="not on this machine"):
        find_source(reference, ())
    assert find_source(reference).name == "mine.npz"  # a worker reads what the server let through
    for name in ("../../etc/a.npz", "/etc/a.npz", "a\\..\\b.npz"):
        assert "/" not in keep_upload(name, a_file(1), "ann").name
    for name in ("", "..", ".hidden", "a\nb.npz"):
        with pytest.raises(ValueError, match="plain one"):
            keep_upload(name, a_file(2), "ann")


def test_a_result_is_seen_by_those_who_could_read_its_data(fresh_home):
    reference = keep_upload("mine.npz", a_file(), "ann").reference
    private, shared = {"recording": reference}, {"recording": "sample:synthetic"}
    for who, sees in ((of("ann"), True), (of("bob"), False), (of("eve", Role.ADMIN), True), (LOCAL, True)):
        assert who.may_see("ann", private) is sees, who
        assert who.may_see("ann", shared)
    assert not of("bob").may_see("", private), "a run from before anybody signed in"


def test_a_session_asks_in_the_name_of_its_visitor(kitchen):
    study = registry().get("kitchen-sink")
    assert Session(study, None, visitor=of("ann")).request("climb").owner == "ann"
    assert Session(study, None).request("climb").owner == ""
    with pytest.raises(ControlError, match=r"^Viewers look"):
        Session(study, None, visitor=of("ann", Role.VIEWER)).request("climb")


def test_who_is_answered_holds_for_its_own_thread_or_task():
    with acting(of("ann")):
        assert visitor().name == "ann"
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(visitor).result() is LOCAL
            assert pool.submit(contextvars.copy_context().run, visitor).result().name == "ann"
    assert visitor() is LOCAL
