"""Where a folder really lies: SQLite and renames are safe on disks of this machine, and not over a network."""

from __future__ import annotations

from pathlib import Path

__all__ = ["network_file_system"]

NETWORK = {
    "nfs", "nfs3", "nfs4", "cifs", "smb2", "smb3", "smbfs", "afs", "ncpfs", "ceph", "glusterfs", "lustre",
    "beegfs", "gpfs", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.rclone", "fuse.s3fs", "fuse.gcsfuse",
}  # fmt: skip
MOUNTS = Path("/proc/self/mounts")


def network_file_system(folder: Path, mounts: Path = MOUNTS) -> str:
    """The kind of network file system that a folder lies on; empty where it lies on none, or where nobody can say.

    Args:
        folder: need not be there yet.
        mounts: what the system has mounted, one a line: source, place, kind, options; as Linux tells it.
    """
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    whole, best, kind = folder.resolve(), -1, ""
    for line in lines:
        fields = line.split()
        if len(fields) < 3:
            continue
        place = Path(unescaped(fields[1]))
        if whole.is_relative_to(place) and len(place.parts) >= best:  # a later line hides an earlier one
            best, kind = len(place.parts), fields[2]
    return kind if kind in NETWORK else ""


def unescaped(text: str) -> str:
    """A path as it is; the list of mounts writes blanks and backslashes as octal numbers."""
    for written, meant in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(written, meant)
    return text
