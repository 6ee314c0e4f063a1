"""Make the samples of neurons from the published files: python -m assay.data.make_neuron_samples NEURON_SWC CELEGANS

NEURON_SWC holds `ca1_n120.swc` (jaxley, Apache-2.0), CELEGANS the shapes and the connections of the worm's neurons
(OpenWorm's c302, MIT). Cells of the worm are kept as their length and membrane; somas of no length count as spheres.
"""

import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd

TO = Path(__file__).parent / "samples" / "neurons"


def worm_cells(folder: Path) -> pd.DataFrame:
    """Name, neurite length in µm and membrane in µm² of every neuron."""
    with np.load(folder / "morphologies.npz", allow_pickle=False) as kept:
        names, offset = kept["cell"], kept["segment_offset"]
        span = np.linalg.norm(kept["distal_um"] - kept["proximal_um"], axis=1)
        near, far = kept["proximal_diameter_um"], kept["distal_diameter_um"]
    area = np.where(span > 0, np.pi * span * (near + far) / 2, np.pi * near**2)
    rows = [
        (str(name), round(float(span[a:b].sum()), 2), round(float(area[a:b].sum()), 2))
        for name, a, b in zip(names, offset[:-1], offset[1:], strict=True)
    ]
    return pd.DataFrame(rows, columns=["name", "length_um", "area_um2"])


def main(neurons: Path, worm: Path) -> None:
    TO.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(neurons / "ca1_n120.swc", TO / "ca1_n120.swc")
    for name in ("AVAL", "PVDR"):
        shutil.copyfile(worm / f"{name}.swc", TO / f"{name}.swc")
    worm_cells(worm).to_csv(TO / "worm_cells.csv", index=False)
    wiring = pd.read_csv(worm / "connections.csv")
    wiring = wiring.rename(columns={"source": "pre", "target": "post", "type": "kind"})
    wiring.to_csv(TO / "worm_wiring.csv", index=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
