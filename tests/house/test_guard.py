"""Processes that tests start cannot leave the machine either."""

import subprocess
import sys


def test_a_process_that_reaches_out_is_refused_and_written_down(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_TEST_REACHED", str(tmp_path / "reached"))
    code = "import socket; socket.create_connection(('192.0.2.1', 80), timeout=1)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert "PermissionError: a test tried to reach 192.0.2.1" in done.stderr
    assert (tmp_path / "reached").read_text().startswith("192.0.2.1, by ")
