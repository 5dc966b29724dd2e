#!/usr/bin/env python3
"""Random operations beside SGLang's own caches.

    sglang_lockstep.py WHEEL RELEASE [--operations N] [--seed S] [--peers radix,python,rust]

WHEEL: the unpacked wheel of sglang RELEASE; torch, msgspec and canopy on the path. Two caches with pools of their own are
driven through requests as a scheduler drives them: match, lock, evict what is missing, allocate, checkpoint, decode, finish
or abort. After each operation lengths, slots, rows, sizes, what was evicted and the KV events must be equal. Peers: `radix` is RadixCache
(accounting: sglang), `python` and `rust` are UnifiedRadixCache with its two tree cores (accounting: sglang_unified).
`table` is our own cache with slots on the device, beside the one with slots on the host: its pools are tensors that count
each copy to the host by the cache, and there may be none.
A sequence has at most 2,000 operations; more of them are further rounds, with the next seeds, and each round is printed.
Exit code 1: a difference, printed with its sequence; 77: a peer is not available.
"""
import argparse
import itertools
import random
import sys
import types
from array import array

import sglang_wheel

POLICIES = {
    "lru": None, "lfu": None, "fifo": None, "filo": None, "mru": None, "priority": None, "slru": {"protected_threshold": 3},
}
# RadixCache of these releases counts hits once a request; `accounting: sglang` is that of the releases before.
COUNTS_HITS = ("lfu", "slru")
WIDTH, ROWS = 4096, 64
ROUND = 2000  # operations of a sequence


class Side:
    """A cache and its pools, as a scheduler uses them."""

    def __init__(self, torch, sglang, make, size, page, eagle, policy, options, wrap=lambda *pools: pools):
        self.torch, self.sglang, self.page = torch, sglang, page
        self.allocator, self.pool = wrap(*sglang_wheel.pools(torch, size, page, ROWS, WIDTH))
        self.cache = make(sglang.params(
            disable=False, req_to_token_pool=self.pool, token_to_kv_pool_allocator=self.allocator, page_size=page,
            is_eagle=eagle, eviction_policy=policy, eviction_policy_config=options, enable_kv_cache_events=True))
        self.requests = {}

    def key(self, tokens, space, limit=None):
        return self.sglang.key(array("q", tokens), space[0], cache_salt=space[1], limit=limit)

    def match(self, tokens, space, limit=None):
        return self.cache.match_prefix(self.sglang.match(key=self.key(tokens, space, limit)))

    def admit(self, rid, row, tokens, space, priority, limit):
        request = sglang_wheel.Request(rid, tokens, row, space, priority)
        found = self.match(tokens, space, limit)
        request.last_node, length = found.last_device_node, found.device_prefix_len
        self.cache.unlock(self.cache.lock(request.last_node))  # the admission test
        request.lock = self.cache.lock(request.last_node)
        path = self.cache.path_device_indices(request.last_node)
        got = self.reserve(request, length, len(tokens))
        if got is None:
            self.cache.unlock(request.lock)
            return length, "no room"
        self.pool.write((row, slice(0, length)), path[:length])
        request.kv.cache_protected_len = length
        self.requests[rid] = request
        return length, path.tolist(), got

    def reserve(self, request, begin, tokens):
        """Slots for the row from `begin`, a multiple of the page, up to `tokens`; what was evicted for them."""
        need, evicted = -(-tokens // self.page) * self.page - begin, 0
        short = need - self.allocator.available_size()
        if short > 0:
            evicted = self.cache.evict(self.sglang.evict(num_tokens=short)).num_tokens_evicted
        slots = self.allocator.alloc(need)
        if slots is None:
            return None
        self.pool.write((request.kv.req_pool_idx, slice(begin, begin + need)), slots)
        request.allocated = begin + need
        return evicted, slots.tolist()

    def decode(self, rid, tokens):
        request = self.requests[rid]
        total, got = len(request.full_untruncated_fill_ids) + len(tokens), ()
        if total > request.allocated:
            got = self.reserve(request, request.allocated, total)
        if got is not None:
            request.output_ids.extend(tokens)
            request.full_untruncated_fill_ids = request.origin_input_ids + request.output_ids
        return got

    def checkpoint(self, rid, up_to):
        request = self.requests[rid]
        self.cache.checkpoint(request, up_to=up_to)
        kv = request.kv
        return kv.cache_protected_len, kv.cache_inserted_len, self.row(request)

    def row(self, request):
        return self.pool.req_to_token[request.kv.req_pool_idx, : request.allocated].tolist()

    def release(self, rid, keep):
        request = self.requests.pop(rid)
        request.done = True
        if keep:
            self.cache.checkpoint(request, up_to=len(request.full_untruncated_fill_ids))
        row, start = self.row(request), request.kv.cache_protected_len
        if start < request.allocated:
            tail = self.pool.req_to_token[request.kv.req_pool_idx, start:request.allocated]
            self.allocator.free_segment(tail.to(self.torch.int64), start_pos=start)
        self.cache.unlock(request.lock)
        self.cache.on_release(request, checkpointed=keep)
        return row, start

    def evict(self, tokens):
        return self.cache.evict(self.sglang.evict(num_tokens=tokens)).num_tokens_evicted

    def order(self, waiting):
        return self.cache.dfs_weight_order([self.match(*one).last_device_node for one in waiting])

    def events(self):
        """KV events block by block: SGLang's cores differ in what they put into one event."""
        blocks = []
        for event in self.cache.take_events():
            facts = {name: getattr(event, name) for name in event.__struct_fields__}
            hashes, tokens = facts.pop("block_hashes", [None]), facts.pop("token_ids", None)
            for i, block in enumerate(hashes):
                words = tokens and [list(word) if isinstance(word, tuple) else word
                                    for word in tokens[i * event.block_size : (i + 1) * event.block_size]]
                blocks.append((type(event).__name__, block, words, *facts.items()))
                if "parent_block_hash" in facts:
                    facts["parent_block_hash"] = block
        return blocks

    def sizes(self):
        return self.cache.evictable_size(), self.cache.protected_size(), self.allocator.available_size()

    def contents(self):
        if not sum(self.sizes()[:2]):
            return []
        return sorted(self.cache.all_values_flatten().tolist())

    def reset(self):
        for request in self.requests.values():
            request.lock = None
        self.requests.clear()
        self.cache.reset()
        self.allocator.clear()


SPACES = ((None, None), ("lora-1", None), (None, "salt"), ("lora-1", "salt"))


def steps(prng, page, eagle, running, rows):
    """Endless random operations as (method, arguments); `rows`: those that are free."""
    texts = {}
    for number in itertools.count():
        choice = prng.random()
        if (choice < 0.3 and rows and len(running) < 12) or not running:
            space = prng.choice(SPACES)
            old = texts.setdefault(space, [])
            words = list(prng.choice(old)) if old and prng.random() < 0.8 else []
            words = words[: prng.randrange(len(words) + 1)] if words and prng.random() < 0.5 else words
            words += prng.choices((1, 2, 3), k=prng.randrange(1, 6 * page))
            words = words[: WIDTH // 2]
            old.append(words)
            del old[:-30]
            limit = prng.choice((None, None, len(words) - 1, len(words) // 2))
            yield "admit", (number, rows.pop(), words, space, prng.randrange(-2, 3), limit)
        elif choice < 0.5:
            rid = prng.choice(list(running))
            total = len(running[rid].full_untruncated_fill_ids)
            least = running[rid].kv.cache_protected_len + eagle
            yield "checkpoint", (rid, prng.randrange(least, total + 1) if least < total else total)
        elif choice < 0.6:
            rid = prng.choice(list(running))
            if len(running[rid].full_untruncated_fill_ids) < WIDTH - 3 * page:
                yield "decode", (rid, prng.choices((1, 2, 3), k=prng.randrange(1, 2 * page)))
        elif choice < 0.8:
            rid = prng.choice(list(running))
            rows.append(running[rid].kv.req_pool_idx)
            yield "release", (rid, prng.random() < 0.8)
        elif choice < 0.86:
            yield "evict", (prng.randrange(1, 8 * page),)
        elif choice < 0.995 or not texts:
            space = prng.choice([space for space in texts if texts[space]])
            some = [(words, space) for words in texts[space][-8:]]
            yield "order", (some,)
        else:
            rows[:] = range(ROWS)
            yield "reset", ()


def sequence(seed, operations, page, eagle, policy, one, other):
    rows = list(range(ROWS))
    source = steps(random.Random(f"{seed} {page} {eagle} {policy}"), page, eagle, one.requests, rows)
    for number in range(operations):
        method, arguments = next(source)
        answers = [getattr(side, method)(*arguments) for side in (one, other)]
        sizes = [side.sizes() + (side.events(),) for side in (one, other)]
        if number % 50 == 0:
            sizes = [size + (side.contents(),) for size, side in zip(sizes, (one, other))]
        if answers[0] != answers[1] or sizes[0] != sizes[1]:
            return f"operation {number}: {method}{arguments}\n  {answers[0]} {sizes[0]}\n  {answers[1]} {sizes[1]}"
        if method == "admit" and answers[0][1] == "no room":
            rows.append(arguments[1])
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    parser.add_argument("release")
    parser.add_argument("--operations", type=int, default=20000, help="of all sequences together, for each peer")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peers", default="radix,python,rust")
    args = parser.parse_args()
    sglang_wheel.load(args.wheel, args.release)
    import torch
    from sglang.srt.mem_cache import radix_cache
    from sglang.srt.mem_cache.base_prefix_cache import EvictParams, MatchPrefixParams
    from sglang.srt.mem_cache.cache_init_params import CacheInitParams

    from canopy.engines import sglang_settings as ours
    from canopy.engines.sglang_cache import CanopyRadixCache
    from canopy.engines.sglang_table import CanopyTableCache

    import counted_tensor

    ticks = itertools.count()
    counted = types.SimpleNamespace(monotonic=lambda: next(ticks), perf_counter=lambda: 0.0)
    radix_cache.time = counted  # the order of events, whatever the machine's clock resolves
    names = types.SimpleNamespace(
        params=CacheInitParams, key=radix_cache.RadixKey, match=MatchPrefixParams, evict=EvictParams)

    plain, device = (lambda *pools: pools), counted_tensor.on_device
    failed = 0
    for peer in args.peers.split(","):
        policies = [name for name in POLICIES if peer != "radix" or name not in COUNTS_HITS]
        kinds = list(itertools.product(policies, (1, 16, 64), (False, True)))
        each, differ, done, sequences = max(args.operations // len(kinds), 1), 0, 0, 0
        rounds = -(-each // ROUND)
        for turn, (policy, page, eagle) in itertools.product(range(rounds), kinds):
            accounting = "sglang" if peer == "radix" else "sglang_unified"

            def canopy(params, cache=CanopyRadixCache):
                policy_here = ours.sglang_policy(params.eviction_policy, params.eviction_policy_config)
                return cache(params, ours.Settings(policy_here, accounting))

            def theirs(params):
                if peer == "table":
                    return counted_tensor.watch(canopy(params, CanopyTableCache))
                return radix_cache.RadixCache(params) if peer == "radix" else sglang_wheel.unified(peer, params)

            sides = [Side(torch, names, make, 64 * page, page, eagle, policy, POLICIES[policy], wrap)
                     for make, wrap in ((canopy, plain), (theirs, device if peer == "table" else plain))]
            length = min(ROUND, each - turn * ROUND)
            why = sequence(args.seed + turn, length, page, eagle, policy, *sides)
            done, sequences = done + length, sequences + 1
            if why:
                differ += 1
                print(f"{peer} {policy} page {page}{' EAGLE' if eagle else ''} seed {args.seed + turn}: {why[:2000]}")
            if sequences % len(kinds) == 0:
                copies = f", {counted_tensor.OnDevice.copies} copies to the host" if peer == "table" else ""
                print(f"{peer}: {done:,} operations in {sequences} sequences, {differ} with a difference{copies}", flush=True)
        failed += differ + counted_tensor.OnDevice.copies
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
