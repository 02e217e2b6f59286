"""Kernels compile wherever the package is installed."""

import os
import subprocess
import sys

import numba
import pytest

from sklearn_shag.utils._kernel import kernel


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_without_any_place_for_a_cache():
    """A function without a file has no cache: as in a read-only installation without a home."""
    namespace = {}
    exec("def double(x):\n    return 2 * x", namespace)
    with pytest.raises(RuntimeError, match="cannot cache"):
        numba.njit(cache=True)(namespace["double"])
    assert kernel(namespace["double"])(21) == 42


def test_a_process_that_can_write_nowhere_parses(tmp_path):
    """Neither beside the modules nor in the user's folder can anything be written."""
    program = """
import numba.core.caching as caching
for locator in caching.CacheImpl._locator_classes:
    locator.ensure_cache_path = lambda self: (_ for _ in ()).throw(OSError("read-only"))
from sklearn_shag.utils._kernel import kernel
assert kernel(lambda x: x)(3) == 3
import sklearn_shag.sequences._extract as extract
assert type(extract._linearise._cache).__name__ == "NullCache"
"""
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(tmp_path), "NUMBA_DISABLE_JIT": "0"},
        check=False,
    )
    assert result.returncode == 0, result.stderr
