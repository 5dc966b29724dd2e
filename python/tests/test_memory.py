"""Memory that is refused in a call: an exception, and no page with two owners or none. And a process that goes on."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

PRELOAD = """
#include "refused_memory.h"
using canopy::test::RefusedMemory;
extern "C" void refuse(long allocation) { RefusedMemory::refuse(allocation, 1); }
extern "C" bool refused() { return RefusedMemory::stop() > 0; }
"""


@pytest.fixture(scope="module")
def library(source_tree, tmp_path_factory):
    """A library that refuses the allocation of C++ with a number."""
    compiler = os.environ.get("CXX") or shutil.which("c++")
    if not compiler:
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("refuse")
    (folder / "refuse.cpp").write_text(PRELOAD)
    subprocess.run([compiler, "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{source_tree / 'tests/support'}", "-o",
                    folder / "refuse.so", folder / "refuse.cpp"], check=True)
    return folder / "refuse.so"


@pytest.mark.parametrize("how", ["", "feed", "changes", "policy", "groups"])
def test_each_allocation_of_each_call_may_be_refused(library, how):
    script = pathlib.Path(__file__).with_name("refused_calls.py")
    done = subprocess.run([sys.executable, script, how], env=os.environ | {"LD_PRELOAD": str(library)},
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
