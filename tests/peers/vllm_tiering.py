#!/usr/bin/env python3
"""vLLM's own TieringOffloadingManager with Canopy's order and Canopy's tier on `slots`: each chunk that is loaded has its bytes.

    vllm_tiering.py WHEEL [--requests N] [--seed S]

WHEEL: the unpacked wheel of vLLM; torch and canopy on the path. Requests share beginnings; the CPU tier has room for a few of
them, and the tier below for many. They are sent as the offloading connector sends them, step by step, several at a time: look
up until there is an answer, load and compare every byte, store the rest, finish. In the middle records are damaged, the cache is
reset, and the server is started again. Exit code 1: a wrong byte, or a tier that found nothing; 77: vLLM is not available.
"""
import argparse
import hashlib
import mmap
import pathlib
import random
import shutil
import sys
import tempfile
import time

import vllm_lockstep
import vllm_tier_bench
import vllm_wheel
from live_servers import damage

ROW, CHUNKS = 8192, 40


class Region:
    """The memory of the CPU tier."""

    def __init__(self):
        self.memory = mmap.mmap(-1, ROW * CHUNKS)
        self.closed = False

    def create_kv_memoryview(self):
        return memoryview(self.memory).cast("B", (CHUNKS, ROW))

    def cleanup(self):
        self.memory.close()  # fails if anything still has the memory
        self.closed = True


def bytes_of(key):
    return hashlib.sha256(key).digest() * (ROW // 32)


class Server:
    def __init__(self, names, folder):
        self.names, self.region = names, Region()
        primary = names.Primary(CHUNKS, self.region, "hazard", "canopy.engines.vllm")
        self.tier = vllm_tier_bench.tier(vllm_tier_bench.spec(), primary.get_kv_memoryview(), "canopy",
                                         {"slots": {"path": str(folder), "capacity": "16MiB"}})
        self.manager = names.Manager(primary, [self.tier])
        self.loaded = self.wrong = self.refused = 0

    def row(self, chunk, data=None):
        place = slice(chunk * ROW, (chunk + 1) * ROW)
        if data is None:
            return self.region.memory[place]
        self.region.memory[place] = data

    def step(self, begun=()):
        self.manager.on_schedule_end(self.names.End(list(begun), ()))

    def requests(self, several):
        """Runs requests that are under way at the same time."""
        states = []
        for number, keys in several:
            context = self.names.ReqContext(req_id=str(number))
            for at, key in enumerate(keys, 1):
                context.set_offload_key_position(key, at * 16)
            self.manager.on_new_request(context)
            states.append((context, keys))
        waiting = list(states)
        while waiting:
            again = []
            for context, keys in waiting:
                found = self.lookup(keys, context)
                if found is None:
                    again.append((context, keys))
                    continue
                self.serve(context, keys, found)
            self.step([context.req_id for context, _ in waiting if (context, _) not in again])
            waiting = again
            time.sleep(0.0003)
        for context, _ in states:
            self.manager.on_request_finished(context)
        self.step()

    def lookup(self, keys, context):
        count, answers = 0, self.names.LookupResult
        for key in keys:
            answer = self.manager.lookup(key, context)
            if answer in (answers.RETRY, answers.HIT_PENDING):
                return None
            if answer is not answers.HIT:
                break
            count += 1
        return count

    def serve(self, context, keys, found):
        if found:
            chunks = self.manager.prepare_load(keys[:found], context).block_ids.tolist()
            self.loaded += found
            self.wrong += sum(self.row(chunk) != bytes_of(key) for chunk, key in zip(chunks, keys))
            self.manager.complete_load(keys[:found], context)
        rest = keys[found:]
        output = self.manager.prepare_store(rest, context) if rest else None
        if output is None:
            self.refused += bool(rest)
            return
        if output.keys_to_store:
            for chunk, key in zip(output.store_spec.block_ids.tolist(), output.keys_to_store):
                self.row(chunk, bytes_of(key))
            self.manager.complete_store(output.keys_to_store, context)

    def idle(self):
        end = time.monotonic() + 10
        while self.manager.has_pending_work():
            self.step()
            time.sleep(0.001)
            assert time.monotonic() < end, "jobs that never end"

    def close(self):
        figures = self.tier.figures()
        self.manager.shutdown()
        assert self.region.closed
        return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    parser.add_argument("--requests", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    vllm_wheel.load(args.wheel)
    import types

    from vllm.v1.kv_offload.base import LookupResult, ReqContext, ScheduleEndContext, make_offload_key
    from vllm.v1.kv_offload.tiering.manager import CPUPrimaryTierOffloadingManager, TieringOffloadingManager

    names = types.SimpleNamespace(LookupResult=LookupResult, ReqContext=ReqContext, End=ScheduleEndContext,
                                  Primary=CPUPrimaryTierOffloadingManager, Manager=TieringOffloadingManager)
    prng, folder = random.Random(args.seed), pathlib.Path(tempfile.mkdtemp(prefix="canopy-tiering-"))
    prompts = vllm_lockstep.Requests(prng, make_offload_key)
    number = failed = 0
    try:
        for part, what in enumerate(("new", "started again", "damaged", "reset")):
            if what == "damaged":
                damage(folder)
            server = Server(names, folder)
            for at in range(args.requests // 4):
                several = []
                for _ in range(prng.randrange(1, 4)):
                    number += 1
                    several.append((number, prompts.prompt()))
                server.requests(several)
                if what == "reset" and at % 40 == 39:
                    server.manager.reset_cache()
                    server.manager.on_reset_flushed() if hasattr(server.manager, "on_reset_flushed") else None
            server.idle()
            gave_up = server.tier._core is None or "remove" in vars(server.manager.primary_tier._policy)
            figures = server.close()
            good = not server.wrong and figures["loaded"] and not gave_up and (what != "damaged" or figures["damaged"])
            failed += not good
            print(f"{'ok' if good else 'FAILED':6} {what}: {server.loaded} chunks loaded, {server.wrong} with a wrong byte, "
                  f"{server.refused} stores refused; the tier: {figures}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
