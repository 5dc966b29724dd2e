"""Faults of a running vllm_server.py, by $CANOPY_FAULT: called before each prompt, in the server's process."""
import gc
import os
import pathlib
import random
import signal
import sys

import canopy

AT = 30  # the prompt before which it happens


class Raising(canopy.Policy):
    """A policy in Python that fails after a while."""

    def __init__(self):
        self.calls = 0

    def rank(self, node):
        self.calls += 1
        if self.calls > 100:
            raise RuntimeError("this policy fails on purpose")
        return node.last_access


class Mine(canopy.Policy):
    """A policy in Python: the chunk with the fewest hits goes first."""

    def rank(self, node):
        return node.hits, node.last_access


class Broken:
    """An order of eviction in which every call fails."""

    def __init__(self, chunks):
        self.chunks = chunks

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError("a fault on purpose")


def during(number, server):
    if number == AT:
        globals()[os.environ.get("CANOPY_FAULT", "nothing")]()


def nothing():
    pass


def objects(kind):
    gc.unfreeze()  # vLLM hides what it made at its start from the collector
    return [one for one in gc.get_objects() if issubclass(type(one), kind)]  # isinstance() fails for a dead weak proxy


def broken_device():
    """The request that ends next has blocks that the queue in C++ cannot read."""
    from canopy.engines.vllm_device import Door

    for door in objects(Door):
        door._queues = [(pool, managers[:0], queue) for pool, managers, queue in door._queues]


def broken_policy():
    """Every call of the order in C++ fails from now on."""
    from canopy.engines.vllm_policy import CanopyCachePolicy

    for policy in objects(CanopyCachePolicy):
        policy._core = Broken(policy._core.chunks)


def broken_tier():
    """Every call of the tier in C++ fails from now on."""
    from canopy.engines.vllm_tier import CanopyTier

    for tier in objects(CanopyTier):
        tier._held, tier._core = tier._core, Broken(None)


def damage():
    """Writes noise into the files of records in $CANOPY_FOLDER."""
    prng = random.Random(5)
    for path in pathlib.Path(os.environ["CANOPY_FOLDER"]).rglob("*"):
        if path.is_file() and path.stat().st_size > 1 << 20:
            with open(path, "r+b") as file:
                for _ in range(400):
                    file.seek(prng.randrange(path.stat().st_size))
                    file.write(prng.randbytes(64))


def kill_redis():
    os.kill(int(os.environ["CANOPY_REDIS"]), signal.SIGKILL)


def attach():
    """Runs a reader of the feed beside the server."""
    import subprocess

    global reader
    reader = subprocess.Popen([sys.executable, str(pathlib.Path(__file__).with_name("vllm_feed.py")),
                               os.environ["CANOPY_FEED"], os.environ["CANOPY_SEEN"]], stdout=subprocess.PIPE)
    reader.stdout.readline()  # it has started, which takes longer than the server's prompts on a busy machine
