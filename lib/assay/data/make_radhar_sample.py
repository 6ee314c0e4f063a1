"""Make the RadHAR sample that is shipped: `python -m assay.data.make_radhar_sample --from DIR`.

DIR holds RadHAR's logs, in folders such as `Train/walk`, or the compact `train.npz` and `test.npz`; its LICENSE is
copied when there is one.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

import numpy as np

from assay.data.archive import open_archive
from assay.data.opening import open_radar
from assay.data.radhar_archive import read_frames, write_frames
from assay.data.references import content_sha256
from assay.data.sequences import InputError
from assay.data.shipped import RADHAR_SAMPLE

MAX_SAMPLE_BYTES = 2_000_000
SOURCE = "https://github.com/nesl/RadHAR, commit e09a066a2ff9bf121008c538c2d4fa3261c0a5a6"
PAPER = (
    "Singh, Sandha, Garcia, Srivastava: RadHAR: Human Activity Recognition from Point Clouds Generated through a "
    "Millimeter-wave Radar, mmNets 2019"
)


def make_sample(source: Path, target: Path = RADHAR_SAMPLE) -> dict[str, object]:
    """Write the sample and its provenance beside it.

    Args:
        source: folder of logs, or of the compact form.
        target: the `.npz` to write.

    Returns:
        The provenance: source, licence, command, counts and hashes.

    Raises:
        InputError: the source cannot be read.
        ValueError: the sample would be larger than 2 MB.
    """
    frames = open_radar(source)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name("draft.npz")
    try:
        write_frames(frames, draft)
        if draft.stat().st_size > MAX_SAMPLE_BYTES:
            raise ValueError(f"sample: takes {draft.stat().st_size:,} bytes; expected at most {MAX_SAMPLE_BYTES:,}.")
        written = read_frames(open_archive(draft))
        if not np.array_equal(written.body[:, 0], frames.body[:, 0]):
            raise ValueError("sample: counts differ after writing; expected the same.")
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    if (source / "LICENSE").is_file() and (source / "LICENSE").resolve() != (target.parent / "LICENSE").resolve():
        shutil.copyfile(source / "LICENSE", target.parent / "LICENSE")
    provenance: dict[str, object] = {
        "source": SOURCE,
        "paper": PAPER,
        "licence": "BSD-3-Clause",
        "command": "python -m assay.data.make_radhar_sample --from DIR",
        "recordings": len(frames.names),
        "frames": len(frames.time_s),
        "points": dict(
            zip(
                ("all", "impossible", "self-clutter", "beyond the grid", "self-clutter beyond the grid"),
                frames.points.sum(axis=0).tolist(),
                strict=True,
            )
        ),
        "sha256": {"radhar.npz": content_sha256(target)},
        "sha256 of input": {
            path.name: content_sha256(path)
            for path in (source / f"{split}.npz" for split in ("train", "test"))
            if path.is_file()
        },
    }
    text = json.dumps(provenance, indent=2, ensure_ascii=False) + "\n"
    (target.parent / "provenance.json").write_text(text, encoding="utf-8")
    return provenance


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m assay.data.make_radhar_sample", description=(__doc__ or "").split(":")[0]
    )
    parser.add_argument(
        "--from", dest="source", type=Path, required=True, metavar="DIR", help="RadHAR's logs or compact form"
    )
    parser.add_argument(
        "--to", dest="target", type=Path, default=RADHAR_SAMPLE, metavar="FILE", help="the .npz to write"
    )
    given = parser.parse_args(arguments)
    try:
        provenance = make_sample(given.source, given.target)
    except (InputError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{given.target}: {provenance['recordings']} recordings, {given.target.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
