#!/usr/bin/env python3
"""vLLM's own KVCacheManager beside Canopy's hash_chain index: each request of a trace must hit as many tokens in both.

    vllm_pool.py WHEEL TRACE [--capacity TOKENS ...] [--limit N] [--page 16]

WHEEL: the unpacked wheel of vLLM (its Python sources: pip download --no-deps vllm==0.33.0); canopy on the path.
KVCacheManager, its coordinator, the block pool and the block hashes are vLLM's own. All else that it imports is replaced
by empty modules, and a request is the few lines below. Requests come one after the other: the longest hit is looked up
(at most all but one token), the whole pages of the prompt are allocated, and the request ends, as in canopy.replay.
"""
import argparse
import json
import pathlib
import sys
import time
import types

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/golden"))
import vllm_wheel  # noqa: E402
from unified_lockstep import Anything  # noqa: E402

REAL = ("vllm.v1.core", "vllm.v1.kv_cache_interface", "vllm.v1.kv_cache_spec_registry", "vllm.utils.math_utils",
        "vllm.v1.hisparse.block_pool", "vllm._version")
PACKAGES = ("vllm", "vllm.v1", "vllm.v1.core", "vllm.utils", "vllm.v1.hisparse")
BLOCK = 512  # tokens that an id of the trace stands for


def load(folder):
    """Imports vLLM's manager. Ends with 77 where something is missing."""
    vllm_wheel.load(folder, "vllm/v1/core/kv_cache_manager.py", REAL, PACKAGES, tensors=False)
    from vllm.v1.core.kv_cache_manager import KVCacheManager
    from vllm.v1.core.kv_cache_utils import hash_block_tokens, init_none_hash
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec

    return types.SimpleNamespace(**{name: value for name, value in locals().items() if name not in ("folder",)})


class Request(Anything):
    """The attributes of a request that the manager reads."""

    skip_reading_prefix_cache = False
    num_preemptions = 0
    lora_request = None

    def __init__(self, number, tokens, hashes):
        self.request_id = str(number)
        self.block_hashes = hashes
        self.num_tokens = self.num_prompt_tokens = tokens
        self.num_computed_tokens = self.num_in_flight_tokens = 0
        self.mm_features = []
        self.status = None


def prompts(path, limit):
    """Each prompt as (ids of its blocks of 512 tokens, tokens)."""
    with open(path) as lines:
        for number, line in enumerate(lines):
            if number == limit:
                return
            row = json.loads(line)
            yield row["hash_ids"], row["input_length"]


class Hashes:
    """The chain of block hashes, as vLLM makes it; chains that requests share are made once."""

    def __init__(self, vllm, page):
        import hashlib

        self.vllm, self.page = vllm, page
        self.hash = lambda value: hashlib.sha256(repr(value).encode()).digest()
        vllm.init_none_hash(self.hash)
        self.after = {}

    def of(self, ids, tokens):
        found, parent = [], None
        for at, block in enumerate(ids):
            size = min(BLOCK, tokens - at * BLOCK)
            key = (parent, block)
            chain = self.after.get(key) if size == BLOCK else None
            if chain is None:
                chain, last = [], parent
                for first in range(block * BLOCK, block * BLOCK + size - self.page + 1, self.page):
                    last = self.vllm.hash_block_tokens(self.hash, last, tuple(range(first, first + self.page)))
                    chain.append(last)
                if size == BLOCK:
                    self.after[key] = chain
            found += chain
            parent = chain[-1] if chain else parent
        return found


def run(vllm, trace, capacity, page, limit, hashes):
    """Hit tokens of each request in vLLM's manager."""
    spec = vllm.FullAttentionSpec(block_size=page, num_kv_heads=1, head_size=1, dtype=sys.modules["torch"].float32)
    config = vllm.KVCacheConfig(num_blocks=capacity // page + 1, kv_cache_tensors=[],
                                kv_cache_groups=[vllm.KVCacheGroupSpec(["layer"], spec)])
    manager = vllm.KVCacheManager(config, max_model_len=2**20, scheduler_block_size=page, hash_block_size=page)
    found = []
    for number, (ids, tokens) in enumerate(prompts(trace, limit)):
        request = Request(number, tokens, hashes.of(ids, tokens))
        blocks, hit, *_ = manager.get_computed_blocks(request)
        whole = tokens // page * page
        found.append(hit)
        if whole == hit:  # no page to compute: the manager would be asked for a block of the rest alone
            manager.block_pool.touch(blocks.blocks[0])
            manager.block_pool.free_blocks(reversed(blocks.blocks[0]))
        elif manager.allocate_slots(request, whole - hit, hit, blocks) is not None:
            manager.free(request)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    parser.add_argument("trace")
    parser.add_argument("--capacity", type=int, nargs="+", default=[1_000_000, 3_000_000, 10_000_000])
    parser.add_argument("--limit", type=int)
    parser.add_argument("--page", type=int, default=16)
    args = parser.parse_args()
    vllm = load(args.wheel)
    import canopy

    hashes, wrong = Hashes(vllm, args.page), 0
    for capacity in args.capacity:
        start = time.thread_time()
        theirs = run(vllm, args.trace, capacity, args.page, args.limit, hashes)
        took = time.thread_time() - start
        ours = canopy.replay(args.trace, capacity=capacity, page_size=args.page, limit=args.limit, min_uncached=1,
                             set={"index": "hash_chain"})
        mine = ours.request_columns["matched"].tolist()
        differ = [number for number, pair in enumerate(zip(theirs, mine, strict=True)) if pair[0] != pair[1]]
        wrong += len(differ)
        print(f"{capacity:>12,} tokens: vLLM hits {sum(theirs):,} in {took:.1f} s, hash_chain {ours.hit_tokens:,} in "
              f"{ours.seconds:.1f} s, of {len(mine):,} requests {len(differ)} differ"
              + (f", first {differ[0]}: {theirs[differ[0]]} and {mine[differ[0]]}" if differ else ""), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
