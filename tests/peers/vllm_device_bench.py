#!/usr/bin/env python3
"""Measures Canopy's queue of free blocks inside vLLM's own KVCacheManager: its time beside vLLM's own queue, and its hits.

    vllm_device_bench.py WHEEL [--page 16 512] [--blocks 100000 1000000] [--policies lru,hazard] [--prompt 12000] [--requests N]
    vllm_device_bench.py WHEEL --trace FILE [--capacity TOKENS ...] [--page 512] [--policies lru,hazard]

WHEEL: the unpacked wheel of vLLM; canopy on the path. In the first form two managers serve the same requests, one with vLLM's
own queue and one with Canopy's, in turns: a prompt, a third of which is shared with one of 200 beginnings, then answers over 8
borders of blocks, then the end. Nothing is counted before both pools are full. Times are processor times of the thread in
microseconds: those of single calls, and of all calls of a request. In the second form the requests of a trace come one after the
other. Exit code 77: something is missing.
"""
import argparse
import gc
import random
import sys
import time
import types

import vllm_pool as base


def manager_of(vllm, blocks, page, policy):
    spec = vllm.FullAttentionSpec(block_size=page, num_kv_heads=1, head_size=1, dtype=sys.modules["torch"].float32)
    config = vllm.KVCacheConfig(num_blocks=blocks, kv_cache_tensors=[], kv_cache_groups=[vllm.KVCacheGroupSpec(["layer"], spec)])
    manager = vllm.KVCacheManager(config, max_model_len=2**20, scheduler_block_size=page, hash_block_size=page)
    if policy:
        from canopy.engines.vllm_device import attach

        manager.canopy = attach(manager, policy)
    return manager


def request_of(number, tokens, hashes):
    request = base.Request(number, tokens, hashes)
    request.done, request.status = False, types.SimpleNamespace(name="RUNNING")
    request.is_finished = lambda: request.done
    return request


class Times:
    def __init__(self):
        self.calls, self.requests, self.request, self.counted = {}, [], 0.0, False

    def __call__(self, name, function, *given):
        start = time.thread_time_ns()
        result = function(*given)
        took = (time.thread_time_ns() - start) / 1000
        self.request += took
        if self.counted:
            self.calls.setdefault(name, []).append(took)
        return result

    def ended(self):
        if self.counted:
            self.requests.append(self.request)
        self.request = 0.0


def serve(manager, call, number, page, hashes, prompt):
    """Runs one request. Returns the tokens that it hit."""
    tokens = prompt * page
    request = request_of(number, tokens, hashes[:prompt])
    blocks, hit, *_ = call("look up", manager.get_computed_blocks, request)
    call("admit a prompt", manager.allocate_slots, request, tokens - hit, hit, blocks)
    request.num_computed_tokens = tokens
    for _ in range(8):
        for name, more in (("decode, a new block", 1), ("decode, none", page - 2), ("decode, none", 1)):
            request.num_tokens += more
            request.block_hashes = hashes[: request.num_tokens // page]
            call(name, manager.allocate_slots, request, more)
            request.num_computed_tokens = request.num_tokens
    request.done = True
    call("end", manager.free, request)
    call.ended()
    return hit


def at(values, part):
    return values[min(int(part * len(values)), len(values) - 1)]


def costs(vllm, page, blocks, policy, prompt, count):
    managers = manager_of(vllm, blocks, page, ""), manager_of(vllm, blocks, page, policy)
    times, order = (Times(), Times()), random.Random(3)
    per = max(3, prompt // page)
    third = per // 3
    warm = blocks // (per + 8 - third) + 250
    hits = [0, 0]
    for number in range(warm + count):
        if number == warm:
            gc.collect(), gc.freeze()  # as vLLM does when it has started
            times[0].counted = times[1].counted = True
        which = order.randrange(200)
        hashes = [which.to_bytes(4, "little") + one.to_bytes(4, "little") + bytes(24) for one in range(third)]
        hashes += [(10**6 + number).to_bytes(4, "little") + one.to_bytes(4, "little") + bytes(24) for one in range(per + 9 - third)]
        for side in (0, 1) if number % 2 else (1, 0):
            hits[side] += serve(managers[side], times[side], number, page, hashes, per)
    assert managers[1].canopy.cores(), "the queue has given up"
    gc.unfreeze()
    for one in times:
        one.calls["a whole request"] = one.requests
    print(f"blocks of {page}, {blocks:,} of them, {policy}: {count} requests of {per} blocks and 8 more, "
          f"{hits[0] / 1e6:.1f} and {hits[1] / 1e6:.1f} M tokens hit", flush=True)
    print(f"    {'':20} {'vLLM mean':>10} {'p99':>9} {'Canopy mean':>12} {'p99':>9} {'mean':>7} {'p99':>6}", flush=True)
    for name, theirs in times[0].calls.items():
        ours = times[1].calls[name]
        theirs.sort(), ours.sort()
        means = sum(theirs) / len(theirs), sum(ours) / len(ours)
        print(f"    {name:20} {means[0]:10.1f} {at(theirs, 0.99):9.1f} {means[1]:12.1f} {at(ours, 0.99):9.1f} "
              f"{means[1] / means[0]:6.2f}x {at(ours, 0.99) / at(theirs, 0.99):5.2f}x", flush=True)


def replay(vllm, requests, capacity, page, policy):
    """Returns the tokens hit, and seconds of processor time."""
    manager, hits = manager_of(vllm, capacity // page + 1, page, policy), 0
    start = time.process_time()
    for number, (tokens, hashes) in enumerate(requests):
        request = request_of(number, tokens, hashes)
        blocks, hit, *_ = manager.get_computed_blocks(request)
        if manager.allocate_slots(request, tokens - hit, hit, blocks) is not None:
            hits += hit
        request.done = True
        manager.free(request)
    took = time.process_time() - start
    assert not policy or manager.canopy.cores(), "the queue has given up"
    return hits, took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    parser.add_argument("--page", type=int, nargs="+")
    parser.add_argument("--blocks", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--policies", default="lru,hazard")
    parser.add_argument("--prompt", type=int, default=12_000)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--trace")
    parser.add_argument("--capacity", type=int, nargs="+", default=[1_000_000, 3_000_000, 10_000_000])
    parser.add_argument("--limit", type=int)
    args = parser.parse_args()
    vllm = base.load(args.wheel)
    policies = args.policies.split(",")
    if not args.trace:
        for page in args.page or (16, 512):
            for blocks in args.blocks:
                for policy in policies:
                    costs(vllm, page, blocks, policy, args.prompt, args.requests)
        return 0
    for page in args.page or (512,):
        hashes = base.Hashes(vllm, page)
        requests = [(tokens, hashes.of(ids, tokens)) for ids, tokens in base.prompts(args.trace, args.limit)]
        for capacity in args.capacity:
            row = []
            for policy in ("", *policies):
                hits, took = replay(vllm, requests, capacity, page, policy)
                row.append(f"{policy or 'vLLM'} {hits / 1e6:.3f} M hit, {took / len(requests) * 1e6:.0f} us")
            print(f"blocks of {page}, {capacity:>10,} tokens: {'; '.join(row)} a request", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
