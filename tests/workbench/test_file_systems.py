"""Network file systems: found by what the system has mounted, the innermost and the latest mount first."""

from pathlib import Path

import pytest

from workbench.file_systems import network_file_system
from workbench.record import Record
from workbench.store import Store, StoreError

MOUNTS = """\
/dev/vda / ext4 rw 0 0
proc /proc proc rw 0 0
filer:/people /people nfs4 rw,vers=4.2 0 0
/dev/sdb /people/ada/disk xfs rw 0 0
//win/share /mnt/my\\040share cifs rw 0 0
ada@there:/ /people/ada/there fuse.sshfs rw 0 0
filer:/old /over nfs rw 0 0
tmpfs /over tmpfs rw 0 0

half a
"""


@pytest.fixture
def mounts(tmp_path):
    place = tmp_path / "mounts"
    place.write_text(MOUNTS)
    return place


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/srv/assay", ""), ("/people/ada/.local/assay", "nfs4"), ("/people/ada/disk/assay", ""), ("/people", "nfs4"),
        ("/peoples/ada", ""), ("/mnt/my share/assay", "cifs"), ("/people/ada/there/x", "fuse.sshfs"), ("/over/x", ""),
    ],
)  # fmt: skip
def test_the_innermost_mount_decides(mounts, folder, kind):
    assert network_file_system(Path(folder), mounts) == kind


def test_where_nobody_can_say_nothing_is_refused(tmp_path):
    assert network_file_system(Path("/home"), tmp_path / "missing") == ""


@pytest.mark.parametrize("uri", ["", "sqlite:///{}/elsewhere/mlflow.db"])
def test_a_store_on_one_is_refused_with_what_to_do(tmp_path, monkeypatch, uri):
    place = tmp_path / "mounts"
    place.write_text(f"{MOUNTS}filer:/tmp {tmp_path} nfs rw 0 0\n")
    monkeypatch.setattr(network_file_system, "__defaults__", (place,))
    store = Store(tmp_path / "store", uri.format(tmp_path))
    with pytest.raises(StoreError, match=r"lies on a network file system \(nfs\), where SQLite loses data; set ASSAY"):
        store.begin(Record("a-study", "climb", "k"))
    assert not list(tmp_path.rglob("mlflow.db"))
    assert store.find("a-study", "climb", "k") is None
