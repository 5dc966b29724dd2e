"""A program ends while a daemon thread is in Canopy: it ends with its own exit code."""
import os
import subprocess
import sys

import pytest

BEGIN = """
import sys, tempfile, threading, time
import canopy
from canopy import _core
_core.quiet_exit()
begun = threading.Event()
def forever(call):
    def work():
        while True:
            begun.set()
            call()
    threading.Thread(target=work, daemon=True).start()
    begun.wait()
    time.sleep(0.02)
class Mine(canopy.Policy):
    def rank(self, node):
        begun.set()
        return node.last_access
"""
STORAGE = """
storage = {"slots": {"path": tempfile.mkdtemp(dir=sys.argv[1]), "capacity": "4MiB"}}
core = _core.ChunkStorage(storage, bytearray(1 << 16), 4096, "m", 1 << 16, 1.0)
keys = [b"%032d" % at for at in range(8)]
"""
COMPARE = """
workload = sys.argv[2]
def compare(policy):
    canopy.compare(workload=workload, policies=["lru", policy], capacities=[20000])
"""
PROGRAMS = {
    "have": STORAGE + "forever(lambda: core.have(keys))",
    "run": STORAGE + "forever(lambda: core.run(False, keys, list(range(8))))",
    "compare": COMPARE + "forever(lambda: compare('lfu'))",
    "compare with a policy in Python": COMPARE + "forever(lambda: compare(Mine()))",
    "a policy in Python": "tree = canopy.Index(1, Mine())\nforever(lambda: tree.insert([1, 2], [1, 2]) and tree.evict(2))",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_ends_while_a_daemon_thread_is_in_a_call(name, tmp_path, source_tree):
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + PROGRAMS[name] + "\nsys.exit(7)", tmp_path, source_tree / "configs/workloads/mixed.yaml"],
        capture_output=True, text=True, timeout=60)
    assert done.returncode == 7, done.stderr[-2000:]


def test_the_feed_of_an_engine_that_nothing_destroys_leaves_no_segment(tmp_path):
    name = f"exit-{os.getpid()}"
    code = BEGIN + f"""
def work():
    engine = canopy.Engine("page_size: 4\\ngroups: {{full: {{reach: path, capacity: 64, allocator: free_list, eviction: lru}}}}\\nfeed: {{shm: {{name: {name}}}}}\\n")
    while True:
        engine.begin([1, 2, 3, 4])
        begun.set()
threading.Thread(target=work, daemon=True).start()
begun.wait()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    assert not os.path.exists(f"/dev/shm/canopy-{name}")
