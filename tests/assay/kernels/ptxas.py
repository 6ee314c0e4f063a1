"""What ptxas says of a Triton kernel that is compiled for a card that is not at hand."""

import re
import subprocess
import tempfile
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

PTXAS = next(Path(triton.__file__).parent.glob("backends/nvidia/bin/ptxas"))


def spills(kernel, signature, constants, architecture, **options):
    """Bytes that registers spill, by ptxas; the options are those of the launch."""
    source = ASTSource(kernel, {**signature, **dict.fromkeys(constants, "constexpr")}, constants)
    compiled = triton.compile(source, target=GPUTarget("cuda", architecture, 32), options=options)
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as ptx:
        ptx.write(compiled.asm["ptx"])
        ptx.flush()
        name = re.search(r"\.target (sm_\w+)", compiled.asm["ptx"]).group(1)
        said = subprocess.run(
            [PTXAS, "-v", f"--gpu-name={name}", ptx.name, "-o", "/dev/null"], capture_output=True, text=True, check=True
        ).stderr
    found = re.findall(r"(\d+) bytes spill (?:stores|loads)", said)
    assert found, said
    return sum(map(int, found))
