#!/usr/bin/env python3
"""Random requests of hybrid models on SGLang's UnifiedRadixCache, with its own tree core and with Canopy's.

    sglang_hybrid_lockstep.py WHEEL RELEASE [--operations N] [--seed S] [--peers model,rust,...] [--kinds window,state,...]

WHEEL: the unpacked wheel of sglang RELEASE; torch, msgspec and canopy on the path. Peers: `model` is SGLang's Python core with the
rules in which Canopy differs by design (sglang_hybrid_model.py); `python` and `rust` are its cores as they are, from which Canopy differs
by these rules. Two caches with pools of their own are
driven as a scheduler drives them: match, lock, evict what is missing for either pool, allocate, checkpoint chunks, decode,
free behind the window, unlock the window early, finish or abort. Kinds: `window` (full attention and a window), `state` (and
recurrent states), `buffered` (states in pages, SGLang's mamba_extra_buffer), `both`.
After each operation lengths, branching points, what was evicted from each pool, sizes, free slots and KV events must be equal; in
each cache every slot of every pool has one owner, no free slot is listed twice, and the window of a match is there.
Exit code 1: a difference, printed with its sequence; 77: a peer is not available.
"""
import argparse
import itertools
import random
import sys
import traceback
import types
from array import array

import sglang_hybrid_model
import sglang_hybrid_wheel as wheel
import sglang_lockstep

POLICIES = {
    "lru": None, "lfu": None, "slru": {"protected_threshold": 3}, "priority": None, "fifo": None, "filo": None, "mru": None,
}
KINDS = {  # components, pages, states per path
    "window": (("SWA",), (1, 4, 16)),
    "state": (("MAMBA",), (1,)),
    "buffered": (("MAMBA",), (4, 16)),
    "both": (("SWA", "MAMBA"), (1,)),
}
WIDTH, ROWS = 4096, 64
ROUND = 1500  # operations of a sequence


class Side:
    """A cache and its pools, as a scheduler uses them."""

    def __init__(self, torch, sglang, make, kind, page, eagle, full, window_pool, window, states, buffers, policy, core, events=True):
        self.torch, self.sglang, self.page, self.kind, self.core = torch, sglang, page, kind, core
        self.window, self.buffers = window if "SWA" in kind else 0, buffers
        self.allocator = wheel.allocator_of(torch, full, window_pool if "SWA" in kind else 0, page)
        self.pool = wheel.rows_of(torch, ROWS, WIDTH, states if "MAMBA" in kind else 0, buffers)
        self.sizes_of_pools = {"FULL": full}
        if "SWA" in kind:
            self.sizes_of_pools["SWA"] = window_pool
        if "MAMBA" in kind:
            self.sizes_of_pools["MAMBA"] = states
        self.cache = make(sglang.params(
            disable=False, req_to_token_pool=self.pool, token_to_kv_pool_allocator=self.allocator, page_size=page,
            is_eagle=eagle, sliding_window_size=window if "SWA" in kind else None, enable_mamba_extra_buffer=buffers,
            tree_components=tuple(sglang.component[name] for name in ("FULL", *kind)), tree_core_backend=core,
            eviction_policy=policy, eviction_policy_config=POLICIES[policy], enable_kv_cache_events=events,
            component_registry_override=sglang.model if core == "model" else None))
        self.requests = {}

    def key(self, tokens, space, limit=None):
        return self.sglang.key(array("q", tokens), space[0], cache_salt=space[1], limit=limit)

    def evict(self, tokens=0, window=0, states=0):
        done = self.cache.evict_for_alloc(self.sglang.evict(num_tokens=tokens, swa_num_tokens=window, mamba_num=states))
        return done.num_tokens_evicted, done.swa_num_tokens_evicted, done.mamba_num_evicted

    def evict_exactly(self, tokens, window, states):
        done = self.cache.evict(self.sglang.evict(num_tokens=tokens, swa_num_tokens=window, mamba_num=states))
        return done.num_tokens_evicted, done.swa_num_tokens_evicted, done.mamba_num_evicted

    def states(self, count):
        """Makes room for states."""
        short = count - self.pool.mamba_allocator.available_size()
        return self.evict(states=short) if short > 0 else ()

    def match(self, tokens, space, limit, request=None):
        found = self.cache.match_prefix(self.sglang.match(
            key=self.key(tokens, space, limit), cow_mamba=request is not None and "MAMBA" in self.kind, req=request))
        return found, (found.device_prefix_len, found.full_kv_hit_length, found.swa_branching_seqlen, found.mamba_branching_seqlen)

    def look(self, tokens, space, limit):
        return self.match(tokens, space, limit)[1]

    def admit(self, rid, row, tokens, space, priority, limit):
        request = wheel.Request(self.sglang.kv, rid, tokens, row, space, priority)
        evicted = self.states(3) if "MAMBA" in self.kind else ()
        if evicted and self.pool.mamba_allocator.available_size() < 3:
            return "no states", evicted
        found, answer = self.match(tokens, space, limit, request)
        length = found.device_prefix_len
        request.swa_branching_seqlen = found.swa_branching_seqlen
        request.last_node = found.last_device_node
        self.cache.unlock(self.cache.lock(request.last_node))  # the admission test
        request.lock = self.cache.lock(request.last_node)
        path = self.cache.path_device_indices(request.last_node)
        assert len(path) == length, (len(path), length)
        if "SWA" in self.kind:  # the part of the window that the request would read is there
            mapped = self.allocator.full_to_swa_index_mapping[path[max(length - self.window, 0) :]]
            assert bool((mapped > 0).all()), f"{self.core}: the window of a match is not there: {mapped.tolist()}"
        if "MAMBA" in self.kind and not request.kv.holds_mamba:
            request.kv.mamba_pool_idx = self.pool.mamba_allocator.alloc(1)[0]
        if self.buffers:
            self.pool._alloc_ping_pong_buffer(request)
            self.pool.req_index_to_mamba_ping_pong_track_buffer_mapping[row] = request.kv.mamba_ping_pong_track_buffer
        self.pool.write((row, slice(0, length)), path)
        request.kv.cache_protected_len = request.kv.kv_allocated_len = length
        request.computed = length
        self.requests[rid] = request
        return answer, evicted

    def extend(self, rid, upto):
        """Computes a chunk: slots for the row up to `upto` tokens."""
        request = self.requests[rid]
        got = self.reserve(request, upto)
        request.computed = upto
        if got != "no room" and self.buffers:
            grid = max(wheel.CHUNK, self.page)
            if upto // grid * grid > request.kv.cache_protected_len:
                request.kv.mamba_last_track_seqlen = upto // grid * grid
        return got

    def reserve(self, request, tokens):
        begin = request.kv.kv_allocated_len
        need, evicted = -(-tokens // self.page) * self.page - begin, ()
        if need <= 0:
            return ()
        if "SWA" in self.kind:
            short = need - self.allocator.full_available_size(), need - self.allocator.swa_available_size()
        else:
            short = need - self.allocator.available_size(), 0
        if max(short) > 0:
            evicted = self.evict(max(short[0], 0), max(short[1], 0))
        slots = self.allocator.alloc(need)
        if slots is None:
            return "no room"
        self.pool.write((request.kv.req_pool_idx, slice(begin, begin + need)), slots)
        request.kv.kv_allocated_len = begin + need
        return evicted

    def decode(self, rid, tokens):
        request = self.requests[rid]
        total = len(request.full_untruncated_fill_ids) + len(tokens)
        got = self.reserve(request, total)
        if got == "no room":
            return got
        request.output_ids.extend(tokens)
        request.full_untruncated_fill_ids = request.origin_input_ids + request.output_ids
        request.computed = total
        request.decoded += len(tokens)
        if "SWA" in self.kind:
            self.cache.evict_sliding_windows(request, total - 1)
        if self.buffers:
            grid = max(wheel.CHUNK, self.page)
            if total // grid * grid > (request.kv.mamba_last_track_seqlen or request.kv.cache_protected_len):
                request.kv.mamba_last_track_seqlen = total // grid * grid
        return got, request.kv.get_evicted_seqlen(self.sglang.component["SWA"])

    def unlock_window(self, rid):
        self.cache.release_swa_prefix_lock(self.requests[rid])

    def checkpoint(self, rid, up_to):
        request = self.requests[rid]
        evicted = self.states(1) if "MAMBA" in self.kind else ()
        self.cache.checkpoint(request, up_to=up_to)
        kv = request.kv
        return kv.cache_protected_len, kv.cache_inserted_len, kv.get_evicted_seqlen(self.sglang.component["SWA"]), evicted

    def release(self, rid, keep):
        request = self.requests.pop(rid)
        request.done = True
        kv = request.kv
        self.last_row = kv.req_pool_idx
        if keep:
            self.cache.checkpoint(request, up_to=request.computed)
        self.cache.free_kv_row(kv, [(kv.cache_protected_len, kv.kv_allocated_len)])
        self.cache.unlock(request.lock)
        request.lock = None
        self.cache.on_release(request, checkpointed=keep)
        return kv.cache_protected_len

    def order(self, waiting):
        return self.cache.dfs_weight_order([self.match(*one)[0].last_device_node for one in waiting])

    events = sglang_lockstep.Side.events

    def sizes(self):
        """Evictable, protected and free of each pool."""
        cache, facts = self.cache, []
        for name in self.sizes_of_pools:
            if name == "FULL":
                free = self.allocator.full_available_size() if "SWA" in self.kind else self.allocator.available_size()
                facts.append((cache.full_evictable_size(), cache.full_protected_size(), free))
            elif name == "SWA":
                facts.append((cache.swa_evictable_size(), cache.swa_protected_size(), self.allocator.swa_available_size()))
            else:
                facts.append((cache.mamba_evictable_size(), cache.mamba_protected_size(), self.pool.mamba_allocator.available_size()))
        return facts

    def owned(self):
        """Returns the slots that requests own in each pool."""
        own = dict.fromkeys(self.sizes_of_pools, 0)
        for request in self.requests.values():
            kv = request.kv
            own["FULL"] += kv.kv_allocated_len - kv.cache_protected_len
            if "SWA" in self.kind:
                own["SWA"] += kv.kv_allocated_len - max(kv.cache_protected_len, kv.get_evicted_seqlen(self.sglang.component["SWA"]))
            if "MAMBA" in self.kind:
                own["MAMBA"] += 1 + 2 * self.buffers
        return list(own.values())

    def wrong(self):
        """Returns what is wrong with the owners of slots."""
        for (name, size), (evictable, protected, free), own in zip(self.sizes_of_pools.items(), self.sizes(), self.owned()):
            if evictable + protected + free + own != size:
                return f"{name}: {evictable} evictable + {protected} protected + {free} free + {own} owned is not {size}"
        lists = {"FULL": getattr(self.allocator, "full_attn_allocator", self.allocator)}
        if "SWA" in self.kind:
            lists["SWA"] = self.allocator.swa_attn_allocator
        if "MAMBA" in self.kind:
            lists["MAMBA"] = self.pool.mamba_allocator
        if "SWA" in self.kind:  # each window slot in use is that of one full slot, and of the right ones
            mapping = self.allocator.full_to_swa_index_mapping[:-1]
            mapped = mapping[mapping > 0]
            used = self.allocator.size_swa - self.allocator.swa_available_size()
            if len(mapped) != len(self.torch.unique(mapped)) or len(mapped) != used:
                return f"{len(mapped)} full slots have a window slot, {used} are in use"
            for rid, request in self.requests.items():
                kv = request.kv
                live = max(kv.cache_protected_len, kv.get_evicted_seqlen(self.sglang.component["SWA"]))
                row = self.pool.req_to_token[kv.req_pool_idx, live : kv.kv_allocated_len].to(self.torch.int64)
                if not bool((mapping[row] > 0).all()):
                    return f"request {rid} has lost window slots: row from {live} is {row.tolist()}, {mapping[row].tolist()}"
        for name, pool in lists.items():
            free = pool.free_slots if name == "MAMBA" else pool.get_all_free_pages()
            if len(free) != len(self.torch.unique(free)):
                return f"{name}: a free slot is listed twice"
        return ""


SPACES = ((None, None), ("lora-1", None), (None, "salt"))


def steps(prng, page, sides, rows, window, kind):
    """Endless random operations as (method, arguments). Those that both sides can do: by the state of the first."""
    running, texts = sides[0].requests, {}
    for number in itertools.count():
        choice = prng.random()
        if (choice < 0.25 and rows and len(running) < 6) or not running:
            space = prng.choice(SPACES)
            old = texts.setdefault(space, [])
            words = list(prng.choice(old)) if old and prng.random() < 0.8 else []
            words = words[: prng.randrange(len(words) + 1)] if words and prng.random() < 0.5 else words
            words += prng.choices((1, 2, 3), k=prng.randrange(1, 6 * page + window))
            words = words[: 12 * page + 6 * window]
            old.append(words)
            del old[:-30]
            limit = prng.choice((None, None, len(words) - 1, len(words) // 2))
            yield "admit", (number, rows.pop(), words, space, prng.randrange(-2, 3), limit)
            continue
        rid = prng.choice(list(running))
        request = running[rid]
        total = len(request.full_untruncated_fill_ids)
        computed = request.computed
        least = max(side.requests[rid].kv.cache_protected_len for side in sides) + sides[0].cache.tree_core.is_eagle
        if computed < total:
            upto = min(total, computed + prng.randrange(1, 4 * page + window))
            yield "extend", (rid, max(upto, least))
        elif choice < 0.5 and computed >= least:
            yield "checkpoint", (rid, computed)
        elif choice < 0.75 and total < WIDTH - 2 * window - 16:
            yield "decode", (rid, prng.choices((1, 2, 3), k=prng.choice((1, 1, page, window))))
        elif choice < 0.8 and "SWA" in kind and request.decoded >= window:
            yield "unlock_window", (rid,)
        elif choice < 0.9:
            yield "release", (rid, prng.random() < 0.8 and computed >= least)
        elif choice < 0.95:
            space = prng.choice(SPACES)
            yield "look", (list(prng.choice(texts.get(space) or [[1]])), space, None)
        else:
            yield "evict_exactly", (prng.randrange(3 * page), prng.randrange(3 * page), prng.randrange(2))
        if prng.random() < 0.3 and rid in running:
            request = running[rid]
            if request.computed >= max(s.requests[rid].kv.cache_protected_len for s in sides) + sides[0].cache.tree_core.is_eagle:
                yield "checkpoint", (rid, request.computed)


def sequence(seed, length, page, eagle, sides, window, kind, tally):
    """Runs a sequence and returns what differs, or nothing."""
    prng = random.Random(f"{seed} {page} {eagle} {kind}")
    rows, done = list(range(ROWS)), []
    operations = steps(prng, page, sides, rows, window, kind)
    for number in range(length):
        method, arguments = next(operations)
        done.append((method, arguments))
        latest = "\n  ".join(f"{name}{args}" for name, args in done[-6:])
        answers = []
        for side in sides:
            try:
                answers.append(getattr(side, method)(*arguments))
            except (AssertionError, RuntimeError, ValueError) as raised:
                where = traceback.extract_tb(raised.__traceback__)[-4:]
                return f"operation {number}: {side.core}: {type(raised).__name__}: {raised}, {where}\n  {latest}"
        for side, name in zip(sides, ("Canopy", "SGLang")):
            if why := side.wrong():
                return f"operation {number}: {name}: {why}\n  {latest}"
        sizes, events = [side.sizes() for side in sides], [sorted(side.events(), key=str) for side in sides]
        if events[0] != events[1]:
            return f"operation {number}: KV events {events[0]}\n  SGLang {events[1]}\n  {latest}"
        if answers[0] != answers[1] or sizes[0] != sizes[1]:
            return (f"operation {number}: Canopy {answers[0]}, sizes {sizes[0]}\n  SGLang {answers[1]}, sizes {sizes[1]}\n  {latest}")
        tally[method] = tally.get(method, 0) + 1
        if method == "release":
            rows.append(sides[0].last_row)
        if method in ("extend", "decode") and "no room" in answers:
            for side in sides:
                side.release(arguments[0], False)
            rows.append(sides[0].last_row)
        if method == "admit" and answers[0][0] == "no states":
            rows.append(arguments[1])
    return ""


def loaded(folder, release, canopy=True):
    """Loads the wheel and registers the cores. Returns torch, SGLang's names and the cache."""
    torch = wheel.load(folder, release)
    from sglang.srt.mem_cache.base_prefix_cache import EvictParams, MatchPrefixParams
    from sglang.srt.mem_cache.cache_init_params import CacheInitParams
    from sglang.srt.mem_cache.radix_cache import RadixKey
    from sglang.srt.mem_cache.unified_cache.component_type import ComponentType
    from sglang.srt.mem_cache.unified_cache import tree_core_registry
    from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache

    names = types.SimpleNamespace(params=CacheInitParams, key=RadixKey, match=MatchPrefixParams, evict=EvictParams,
                                  kv=wheel.kv_info(folder), component=ComponentType.__members__)
    model, names.model = sglang_hybrid_model.rules()
    tree_core_registry.register_tree_core_backend("model", model)
    if not canopy:
        return torch, names, UnifiedRadixCache
    from canopy.engines import sglang as backend

    backend.release = lambda: release

    def make(params):
        """Makes a cache as SGLang does, Canopy's by the factory that it registers."""
        if params.tree_core_backend != "canopy":
            return UnifiedRadixCache(params)
        kinds = params.tree_components
        context = types.SimpleNamespace(
            params=params, server_args=None, is_hybrid_swa=ComponentType.SWA in kinds, is_hybrid_ssm=ComponentType.MAMBA in kinds,
            enable_hierarchical_cache=False, disable_radix_cache=False, full_tokens_per_layer=1, tp_size=1, tp_rank=0)
        why = backend.reason_against(context)
        assert not why, why
        return backend.make(context)

    return torch, names, make


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    parser.add_argument("release")
    parser.add_argument("--operations", type=int, default=20000, help="for each peer and kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peers", default="model")
    parser.add_argument("--ours", default="canopy", help="python: SGLang's cores beside each other, to try this program")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--states-a-path", type=int, default=-1, help="SGLang's mamba_max_states_per_path")
    args = parser.parse_args()
    wheel.MEMORY.mamba.mamba_max_states_per_path = args.states_a_path
    torch, names, make = loaded(args.wheel, args.release, args.ours == "canopy")
    failed = 0
    for peer, name in itertools.product(args.peers.split(","), args.kinds.split(",")):
        kind, pages = KINDS[name]
        cases = [(page, eagle, scarce) for page in pages for eagle in (False, True) for scarce in (False, True)
                 if not (eagle and "MAMBA" in kind)]
        each, tally, differ = max(args.operations // len(cases), 1), {}, 0
        rounds, policies = -(-each // ROUND), itertools.cycle(POLICIES)
        for turn, (page, eagle, scarce) in itertools.product(range(rounds), cases):
            window = 3 * page if page > 1 else 7
            full = 160 * page if scarce else 4000 * page
            policy = next(policies)
            sides = [Side(torch, names, make, kind, page, eagle, full, full // 2 if scarce else full, window,
                          40 if scarce else 2000, name == "buffered", policy, core) for core in (args.ours, peer)]
            why = sequence(args.seed + turn, min(ROUND, each - turn * ROUND), page, eagle, sides, window, kind, tally)
            if why:
                differ += 1
                case = f"page {page}{' EAGLE' if eagle else ''}{' scarce' if scarce else ''} {policy}"
                print(f"{peer} {name} {case} seed {args.seed + turn}: {why[:2500]}")
        print(f"{peer} {name}: {sum(tally.values()):,} operations, {differ} sequences with a difference; {tally}", flush=True)
        failed += differ
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
