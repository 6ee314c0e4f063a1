"""Fixtures of the tests of decisions."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent))  # for what several tests share


@pytest.fixture
def rng():
    return np.random.default_rng(0)
