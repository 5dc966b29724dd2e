#!/usr/bin/env python3
"""Times SGLang's prefix cache and Canopy's drop-in, taking turns in one run.

    sglang_bench.py WHEEL RELEASE [--trace FILE] [--requests N] [--rounds N] [--page 16] [--cpu] [--peers rust,canopy]

WHEEL: the unpacked wheel of sglang RELEASE; torch, msgspec and canopy on the path. Each request goes through SGLang's own
facade (BasePrefixCache) on CPU tensors: match, lock and unlock (the admission test), lock, slots of the prefix, checkpoint
after prefill, checkpoint and unlock at the end. Each column is one of those calls, Python and its parameter objects
included; `life` is their sum for a request, with its evictions. Without a trace: 8,192 tokens a request, 1,024 to 6,144 of them
shared with one of 8 prefixes, room for 200 requests. `--peers rust,canopy,nothing` adds what the same calls cost a cache that
does nothing: SGLang's parameter objects, the clock, and finding all that cold.
"""
import argparse
import json
import random
import statistics
import sys
import time
import types
from array import array

import sglang_wheel

STEPS = ("match", "lock+unlock", "lock", "slots", "checkpoint", "finish", "evict")


class Allocator:
    """Counts, and hands out numbers that were never used: what it costs is the same small thing for every cache."""

    device = "cpu"

    def __init__(self, torch, size, page):
        self.torch, self.size, self.page_size, self.free, self.next = torch, size, page, size, page

    def available_size(self):
        return self.free

    def alloc(self, tokens):
        first, self.next, self.free = self.next, self.next + tokens, self.free - tokens
        if self.next > 2**31 - 2**24:
            self.next = self.page_size
        return self.torch.arange(first, first + tokens)

    def free_segment(self, slots, *, start_pos):
        self.free += slots.numel()

    def free_page_ids(self, pages):
        self.free += pages.numel() * self.page_size

    def get_kvcache(self):
        return None


class Nothing:
    """Holds nothing: what remains is what SGLang pays to call any cache."""

    def __init__(self, torch, allocator):
        self.allocator, self.empty = allocator, torch.arange(0)
        self.found = types.SimpleNamespace(last_device_node=None, device_prefix_len=0)

    def match_prefix(self, params):
        return self.found

    def evict(self, params):
        self.allocator.free += params.num_tokens
        return types.SimpleNamespace(num_tokens_evicted=params.num_tokens)

    def path_device_indices(self, node):
        return self.empty

    def lock(self, node):
        return None

    def unlock(self, lock):
        pass

    def checkpoint(self, request, *, up_to):
        pass

    def on_release(self, request, *, checkpointed):
        pass


def generated(requests, seed):
    prng = random.Random(seed)
    prefixes = [[prng.randrange(1, 100000) for _ in range(6144)] for _ in range(8)]
    for _ in range(requests):
        words = prng.choice(prefixes)[: prng.randrange(1024, 6145)]
        yield array("q", words + [prng.randrange(1, 100000) for _ in range(8192 - len(words))])


def recorded(path, requests):
    """The Mooncake trace: an id stands for 512 tokens."""
    with open(path) as lines:
        for number, line in enumerate(lines):
            if number == requests:
                return
            row = json.loads(line)
            words = array("q")
            for block in row["hash_ids"]:
                words.extend(range(block * 512, block * 512 + 512))
            yield words[: row["input_length"]]


class Peer:
    def __init__(self, torch, names, name, make, size, page, clock):
        self.clock, self.name, self.names, self.page, self.torch = clock, name, names, page, torch
        self.allocator = Allocator(torch, size, page)
        self.pool = types.SimpleNamespace(req_to_token=torch.zeros((2, 2**18), dtype=torch.int32))
        self.pool.write = lambda at, values: self.pool.req_to_token.__setitem__(at, values)
        self.cache = make(names.params(
            disable=False, req_to_token_pool=self.pool, token_to_kv_pool_allocator=self.allocator, page_size=page))
        self.times, self.lives, self.hits, self.evicted = {step: [] for step in STEPS}, [], 0, 0

    def serve(self, tokens):
        """One request, start to end, as the scheduler calls the cache."""
        names, cache, clock, spent = self.names, self.cache, self.clock, {}
        request = sglang_wheel.Request("r", (), 0)
        request.origin_input_ids = request.full_untruncated_fill_ids = tokens

        at = clock()
        found = cache.match_prefix(names.match(key=names.key(tokens, limit=len(tokens) - 1), req=request))
        spent["match"] = clock() - at
        request.last_node, length = found.last_device_node, found.device_prefix_len
        at = clock()
        cache.unlock(cache.lock(request.last_node))
        spent["lock+unlock"] = clock() - at
        at = clock()
        request.lock = cache.lock(request.last_node)
        spent["lock"] = clock() - at
        at = clock()
        path = cache.path_device_indices(request.last_node)
        spent["slots"] = clock() - at

        whole = len(tokens) // self.page * self.page
        short = whole - length - self.allocator.available_size()
        if short > 0:
            at = clock()
            self.evicted += cache.evict(names.evict(num_tokens=short)).num_tokens_evicted
            spent["evict"] = clock() - at
        row = self.pool.req_to_token[0]
        row[:length] = path
        row[length:whole] = self.allocator.alloc(whole - length)
        request.kv.cache_protected_len = length
        self.hits += length
        at = clock()
        cache.checkpoint(request, up_to=whole)
        spent["checkpoint"] = clock() - at
        request.done = True
        at = clock()
        cache.checkpoint(request, up_to=whole)
        cache.unlock(request.lock)
        cache.on_release(request, checkpointed=True)
        spent["finish"] = clock() - at
        for step, nanoseconds in spent.items():
            self.times[step].append(nanoseconds / 1000)
        self.lives.append(sum(spent.values()) / 1000)


def quantile(values, share):
    return sorted(values)[min(int(len(values) * share), len(values) - 1)] if values else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    parser.add_argument("release")
    parser.add_argument("--trace")
    parser.add_argument("--requests", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--page", type=int, default=16)
    parser.add_argument("--capacity", type=int, default=0, help="tokens; 0: 200 requests of 8,192")
    parser.add_argument("--cpu", action="store_true", help="processor time of the thread: for a machine that is busy")
    parser.add_argument("--peers", default="rust,canopy")
    args = parser.parse_args()
    sglang_wheel.load(args.wheel, args.release)
    import torch
    from sglang.srt.mem_cache.base_prefix_cache import EvictParams, MatchPrefixParams
    from sglang.srt.mem_cache.cache_init_params import CacheInitParams
    from sglang.srt.mem_cache.radix_cache import RadixKey

    from canopy.engines.sglang_settings import Settings
    from canopy.engines.sglang_cache import CanopyRadixCache

    names = types.SimpleNamespace(params=CacheInitParams, key=RadixKey, match=MatchPrefixParams, evict=EvictParams)
    size = (args.capacity or 200 * 8192) // args.page * args.page
    clock = time.thread_time_ns if args.cpu else time.perf_counter_ns
    makers = {"canopy": lambda params: CanopyRadixCache(params, Settings()),
              "nothing": lambda params: Nothing(torch, params.token_to_kv_pool_allocator)}
    totals = {}
    for turn in range(args.rounds):
        peers = [
            Peer(torch, names, name, makers.get(name, lambda params, core=name: sglang_wheel.unified(core, params)), size,
                 args.page, clock)
            for name in args.peers.split(",")
        ]
        requests = recorded(args.trace, args.requests) if args.trace else generated(args.requests, turn)
        for number, tokens in enumerate(requests):
            for peer in peers if number % 2 else reversed(peers):  # the second one finds the tokens in the processor's cache
                peer.serve(tokens)
        for peer in peers:
            totals.setdefault(peer.name, []).append(peer)
        if len({(peer.hits, peer.evicted) for peer in peers if peer.name != "nothing"}) > 1:
            print("the caches decided differently:", {peer.name: (peer.hits, peer.evicted) for peer in peers})
            return 1
    first = totals[args.peers.split(",")[0]][0]
    print(f"SGLang {args.release}, page {args.page}, {args.rounds} rounds of {len(first.lives)} requests, pool of "
          f"{size:,} tokens, hits {first.hits:,}, evicted {first.evicted:,}: the same in all; microseconds of {'processor time' if args.cpu else 'the clock'}, median (p99)")
    columns = (*STEPS, "life")
    print(f"{'':10}" + "".join(f"{name:>18}" for name in columns))
    rows = {}
    for name, runs in totals.items():
        values = {step: [t for run in runs for t in run.times[step]] for step in STEPS}
        values["life"] = [t for run in runs for t in run.lives]
        rows[name] = values
        print(f"{name:10}" + "".join(
            f"{statistics.median(values[c]) if values[c] else 0:9.1f} ({quantile(values[c], 0.99):6.0f})" for c in columns))
    if "canopy" in rows:
        for name in rows:
            if name not in ("canopy", "nothing"):
                print(f"{name + '/canopy':12}" + "".join(
                    f"{ratio(rows[name][c], rows['canopy'][c]):>18}" for c in columns)[2:])
    return 0


def ratio(theirs, ours):
    if not theirs or not ours:
        return "-"
    return (f"{statistics.median(theirs) / statistics.median(ours):.1f} "
            f"({quantile(theirs, 0.99) / quantile(ours, 0.99):.1f})")


if __name__ == "__main__":
    sys.exit(main())
