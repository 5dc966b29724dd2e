"""Chunks of bytes on a storage: what comes back is what was stored, whatever happens to the storage meanwhile."""
import glob
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest
from canopy import _core

ROW, ROWS = 8192, 64


class Tier:
    """A storage, and the rows that its jobs are copied from and to."""

    def __init__(self, folder=None, capacity="4MiB", meaning="m", limit_s=2.0, storage=None, rows=ROWS):
        storage = storage or {"slots": {"path": str(folder), "capacity": capacity}}
        self.memory = mmap.mmap(-1, ROW * rows)
        self.core = _core.ChunkStorage(storage, memoryview(self.memory), ROW, meaning, 16 * (ROW + 4096), limit_s)
        self.jobs = 0

    def put(self, row, data):
        self.memory[row * ROW : (row + 1) * ROW] = data

    def get(self, row):
        return self.memory[row * ROW : (row + 1) * ROW]

    def run(self, load, keys, rows):
        self.jobs += 1
        self.core.begin(self.jobs, load, keys, rows)
        self.core.drain()
        ((job, ok, good, seconds),) = self.core.ended()
        assert job == self.jobs and ok == all(good) and seconds >= 0 and len(good) == len(keys)
        return good

    def close(self):
        figures = self.core.figures()
        self.core.close()
        self.memory.close()  # fails if the storage still had the buffer
        return figures


def bytes_of(number):
    return random.Random(number).randbytes(ROW)


def key_of(number):
    return random.Random(-number).randbytes(32) + b"\0\0\0\0"


def filled(tier, first, count):
    for row, number in enumerate(range(first, first + count)):
        tier.put(row, bytes_of(number))
    return [key_of(number) for number in range(first, first + count)]


def check(tier, numbers, expected):
    """Loads chunks into rows that have other bytes; those that are good must be right, the others untouched."""
    rows = list(range(len(numbers)))
    for row in rows:
        tier.put(row, b"\xee" * ROW)
    good = tier.run(True, [key_of(number) for number in numbers], rows)
    assert good == expected
    for row, number, one in zip(rows, numbers, good):
        assert tier.get(row) == (bytes_of(number) if one else b"\xee" * ROW)


def test_what_is_stored_comes_back(tmp_path):
    tier = Tier(tmp_path)
    keys = filled(tier, 0, 40)
    assert tier.core.have(keys[:3]) == [False] * 3
    assert all(tier.run(False, keys, list(range(40))))
    assert tier.core.have([*keys, key_of(99)]) == [True] * 40 + [False]
    assert tier.core.have([keys[0], key_of(99), keys[1]]) == [True, False, True]  # a gap does not end the search
    check(tier, [3, 99, 7, 39], [True, False, True, True])
    filled(tier, 0, 40)
    tier.run(False, keys, list(range(40)))  # again: nothing is written
    figures = tier.close()
    assert figures["stored"] == 40 and figures["known"] == 40 and figures["absent"] == 1 and figures["damaged"] == 0


def test_a_restarted_server_has_them(tmp_path):
    tier = Tier(tmp_path)
    tier.run(False, filled(tier, 0, 20), list(range(20)))
    tier.close()
    tier = Tier(tmp_path)
    assert all(tier.core.have([key_of(number) for number in range(20)]))
    check(tier, [0, 19, 20], [True, True, False])
    tier.close()


def test_bytes_with_another_meaning_are_not_found(tmp_path):
    tier = Tier(tmp_path, meaning="float16")
    tier.run(False, filled(tier, 0, 5), list(range(5)))
    tier.close()
    tier = Tier(tmp_path, meaning="fp8")
    assert not any(tier.core.have([key_of(number) for number in range(5)]))
    tier.close()


def test_damaged_records_are_noticed_and_removed(tmp_path):
    tier = Tier(tmp_path)
    tier.run(False, filled(tier, 0, 20), list(range(20)))
    for path in files_of_slots(tmp_path):
        with open(path, "r+b") as file:
            at = file.read().find(bytes_of(7)[:64])
            if at >= 0:
                file.seek(at + 4321)
                file.write(b"flip")
    check(tier, [6, 7, 8], [True, False, True])
    assert tier.core.have([key_of(7)]) == [False]
    figures = tier.close()
    assert figures["damaged"] == 1 and figures["flaw"] == "its image is damaged"


def files_of_slots(folder):
    return [path for path in glob.glob(f"{folder}/**", recursive=True)
            if os.path.isfile(path) and os.path.getsize(path) > ROW * 8]


def test_random_damage_never_gives_wrong_bytes(tmp_path):
    prng = random.Random(3)
    tier = Tier(tmp_path)
    tier.run(False, filled(tier, 0, 40), list(range(40)))
    for path in files_of_slots(tmp_path):
        with open(path, "r+b") as file:
            size = os.path.getsize(path)
            for _ in range(60):
                file.seek(prng.randrange(size))
                file.write(prng.randbytes(prng.choice((1, 8, 600))))
    rows = list(range(40))
    for row in rows:
        tier.put(row, b"\xee" * ROW)
    good = tier.run(True, [key_of(number) for number in rows], rows)
    assert not all(good)
    for number, one in zip(rows, good):
        assert tier.get(number) == (bytes_of(number) if one else b"\xee" * ROW)
    tier.close()


def test_a_full_storage_makes_room(tmp_path):
    tier = Tier(tmp_path, capacity=f"{20 * (ROW + 4096)}")
    for first in range(0, 100, 10):
        tier.run(False, filled(tier, first, 10), list(range(10)))
    check(tier, list(range(90, 100)), [True] * 10)
    there = tier.core.have([key_of(number) for number in range(100)])
    assert sum(there) <= 20 and not any(there[:50])
    tier.close()


def test_two_servers_do_not_share_a_folder(tmp_path):
    tier = Tier(tmp_path)
    with pytest.raises(ValueError, match="only one process"):
        Tier(tmp_path)
    tier.close()


@pytest.mark.parametrize("storage, why", [
    ({"slots": {"path": "/proc/nowhere", "capacity": "1MiB"}}, "nowhere"),
    ({"slot": {}}, "slots"),
    ({"slots": {"pth": "x"}}, "path"),
    ("slots", "one name with its options"),
])
def test_a_wrong_storage_is_refused_at_the_start(storage, why):
    with pytest.raises(ValueError, match=why):
        Tier(storage=storage)


@pytest.mark.parametrize("limit_s", [-1, 0, float("nan"), float("inf"), 1e10])
def test_a_time_limit_that_no_call_can_meet_is_refused(tmp_path, limit_s):
    with pytest.raises(ValueError, match="limit_s must be from 0.001 to 86400 seconds"):
        Tier(tmp_path, limit_s=limit_s)


def test_a_job_of_another_shape_is_refused(tmp_path):
    tier = Tier(tmp_path)
    for rows in ([0], [0, ROWS], [0, 1, 2]):
        with pytest.raises(ValueError, match="one row"):
            tier.core.begin(1, False, [key_of(0), key_of(1)], rows)
    tier.close()


KILLED = """
import sys, test_chunk_storage as t
tier = t.Tier(sys.argv[1], capacity="64MiB")
for first in range(0, 100000, 32):
    tier.core.begin(first, False, t.filled(tier, first, 32), list(range(32)))
    tier.core.drain()
    print(first + 32, flush=True)
"""


def test_a_killed_server_leaves_no_wrong_record(tmp_path):
    for moment in (0.05, 0.15):
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True,
                                   cwd=os.path.dirname(__file__))
        assert process.stdout.readline()
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().split()
        process.wait()
        stored = int(rest[-1]) if rest else 32
        tier = Tier(tmp_path, capacity="64MiB")
        numbers = list(range(max(stored - 20, 0), stored + 20))
        rows = list(range(len(numbers)))
        good = tier.run(True, [key_of(number) for number in numbers], rows)
        assert sum(good) > 0
        for row, number, one in zip(rows, numbers, good):
            assert not one or tier.get(row) == bytes_of(number)
        tier.close()


# ---- Redis ----

@pytest.fixture
def redis(tmp_path):
    """A server, and a function that starts it again."""
    # Debian's redis-tools has the server only as redis-check-rdb, which is the same program under another name.
    program = next(filter(None, map(shutil.which, ("redis-server", "valkey-server", "redis-check-rdb"))), None)
    if not program:
        pytest.skip("there is no redis-server and no valkey-server")
    address = str(tmp_path / "redis.sock")
    processes = []

    def start():
        processes.append(subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", address, "--save", "", "--dir", str(tmp_path),
             "--enable-debug-command", "yes"], executable=program, stdout=subprocess.DEVNULL))
        while not os.path.exists(address):
            assert processes[-1].poll() is None, "the server ended"
            time.sleep(0.01)
        return processes[-1]

    yield start(), address, start
    for process in processes:
        process.kill()
        process.wait()


def test_records_on_a_server(redis):
    _, address, _ = redis
    tier = Tier(storage={"redis": {"at": address}})
    keys = filled(tier, 0, 40)
    assert all(tier.run(False, keys, list(range(40))))
    assert tier.core.have([*keys[:5], key_of(99), keys[6]])[:6] == [True] * 5 + [False]
    check(tier, [0, 39, 99], [True, True, False])
    other = Tier(storage={"redis": {"at": address}})  # another server of the same model
    check(other, [5, 17], [True, True])
    other.close()
    tier.close()


def test_a_server_that_dies_costs_no_waiting_and_comes_back(redis):
    process, address, start = redis
    tier = Tier(storage={"redis": {"at": address}}, limit_s=0.3)
    keys = filled(tier, 0, 8)
    assert all(tier.run(False, keys, list(range(8))))
    process.kill()
    process.wait()
    os.unlink(address)
    begun = time.monotonic()
    for _ in range(6):
        assert not any(tier.core.have(keys))
        check(tier, list(range(8)), [False] * 8)
    for _ in range(20):
        assert not any(tier.core.have(keys))
    assert time.monotonic() - begun < 4
    assert tier.core.figures()["pauses"] >= 1
    start()
    end = time.monotonic() + 20
    while not all(tier.run(False, filled(tier, 0, 8), list(range(8)))):
        assert time.monotonic() < end, "the tier never came back"
        time.sleep(0.2)
    check(tier, list(range(8)), [True] * 8)
    tier.close()
