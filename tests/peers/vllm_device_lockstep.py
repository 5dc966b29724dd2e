#!/usr/bin/env python3
"""Random requests over vLLM's own KVCacheManager, with its own queue of free blocks and with Canopy's.

    vllm_device_lockstep.py WHEEL [--operations N] [--seed N] [--policies lru,hazard]

WHEEL: the unpacked wheel of vLLM; canopy on the path. Two managers run the same program: with lru every block that they hand out
must be the same one. Under the other policies one manager runs. After each operation every free block is in the queue once, no
other block is, and a hit has the contents of its hash. Each program runs twice: half way through the second run vLLM's own queue
takes over, as after an error. Models: full attention; full attention and sliding windows in the same pool, with blocks of the same
length, and of twice that. Operations: prompts with a shared beginning, the same prompt twice at a time, answers, ends, clients that
go away, preemption, frees that come later, evict_blocks, blocks that a connector holds, unpin_blocks, reset_prefix_cache.
Exit code 1: a check failed; 77: something is missing.
"""
import argparse
import collections
import hashlib
import random
import sys
import types

import vllm_pool as base

BLOCKS, PAGE = 120, 16
OPERATIONS = {"begin": 60, "twice": 12, "decode": 40, "end": 20, "abort": 3, "preempt": 8, "resume": 20, "later": 6, "drain": 20,
              "evict": 2, "pin": 5, "unpin": 10, "reset": 0.3}


def digest(value):
    return hashlib.sha256(repr(value).encode()).digest()


class World:
    """A manager, and the requests that run in it. Its random numbers are its own, so two of them do the same."""

    def __init__(self, vllm, policy, seed, windows):
        from canopy.engines.vllm_device import attach
        from vllm.v1.kv_cache_interface import SlidingWindowSpec

        torch = sys.modules["torch"]
        row = {"num_kv_heads": 1, "head_size": 1, "dtype": torch.float32}
        groups = [vllm.KVCacheGroupSpec(["full"], vllm.FullAttentionSpec(block_size=PAGE, **row))]
        if windows:
            groups.append(vllm.KVCacheGroupSpec(["window"], SlidingWindowSpec(block_size=windows, sliding_window=64, **row)))
        config = vllm.KVCacheConfig(num_blocks=BLOCKS, kv_cache_tensors=[], kv_cache_groups=groups)
        self.manager = vllm.KVCacheManager(config, max_model_len=4096, scheduler_block_size=windows or PAGE, hash_block_size=PAGE)
        self.pool = self.manager.block_pool
        self.door = attach(self.manager, policy) if policy else None
        self.vllm, self.random = vllm, random.Random(seed)
        self.running, self.preempted, self.later, self.held = [], [], [], []
        self.contents, self.taken, self.counts = {}, [], collections.Counter()
        self.made = self.hit = self.watched = self.steps = 0
        new = self.pool.get_new_blocks

        def get_new_blocks(n):
            blocks = new(n)
            self.taken += [block.block_id for block in blocks]
            return blocks

        self.pool.get_new_blocks = get_new_blocks

    def hashes(self, tokens):
        found, last = [], None
        for first in range(0, len(tokens) - PAGE + 1, PAGE):
            last = self.vllm.hash_block_tokens(digest, last, tuple(tokens[first : first + PAGE]))
            found.append(last)
        return found

    def request(self, tokens):
        self.made += 1
        made = base.Request(self.made, len(tokens), self.hashes(tokens))
        made.tokens, made.done = tokens, False
        made.is_finished = lambda: made.done
        made.status = types.SimpleNamespace(name="RUNNING")
        return made

    def new_tokens(self):
        which = self.random.randrange(12)
        tokens = [which * 1000 + at for at in range(self.random.choice((64, 160, 320)))]
        if self.random.random() < 0.7:
            tokens += [10**6 + self.made * 100 + at for at in range(self.random.randrange(1, 80))]
        return tokens

    def begin(self, request):
        blocks, hit, *_ = self.manager.get_computed_blocks(request)
        for at, block in self.places(request, blocks):
            assert self.contents[block.block_id] == request.block_hashes[at], "a hit has other contents"
        if self.manager.allocate_slots(request, request.num_tokens - hit, hit, blocks) is None:
            return False
        self.hit += hit
        self.written(request)
        return True

    def written(self, request):
        request.num_computed_tokens = request.num_tokens
        for at, block in self.places(request, self.manager.get_blocks(request.request_id)):
            self.contents[block.block_id] = request.block_hashes[at]
        self.running.append(request)

    def places(self, request, blocks):
        """Yields the whole blocks, each with the number of the hash that it ends with."""
        for manager, group in zip(self.manager.coordinator.single_type_managers, blocks.blocks):
            hashes = manager.block_size // PAGE
            for at, block in enumerate(group[: len(request.block_hashes) // hashes]):
                if not block.is_null:
                    yield (at + 1) * hashes - 1, block

    def leaves(self, request, free=True):
        self.running.remove(request)
        request.done = True
        if free:
            self.manager.free(request)

    def step(self):
        kind = self.random.choices(list(OPERATIONS), OPERATIONS.values())[0]
        some = self.random.choice(self.running) if self.running else None
        self.steps += 1
        if kind in ("begin", "twice", "resume") and len(self.running) > self.steps // 50 % 8:  # now more, now fewer
            kind = "end"
        if kind not in ("begin", "resume", "drain", "evict", "unpin", "reset") and some is None:
            return
        self.counts[kind] += 1
        getattr(self, f"do_{kind}")(some)

    def do_begin(self, some):
        request = self.request(self.new_tokens())
        if not self.begin(request):
            request.done = True  # its client gives up
            self.manager.free(request)
            if some is not None:
                self.leaves(some)

    def do_twice(self, some):
        """The same prompt, looked up before the other's blocks are cached."""
        request = self.request(list(some.tokens))
        request.skip_reading_prefix_cache = True
        blocks, *_ = self.manager.get_computed_blocks(request)
        if self.manager.allocate_slots(request, request.num_tokens, 0, blocks) is not None:
            self.written(request)
        else:
            request.done = True
            self.manager.free(request)

    def do_decode(self, some):
        more = [self.random.randrange(10**7) for _ in range(PAGE)]
        some.tokens, some.num_tokens = some.tokens + more, some.num_tokens + PAGE
        some.block_hashes = self.hashes(some.tokens)
        if self.manager.allocate_slots(some, PAGE) is None:
            self.leaves(some)
        else:
            self.running.remove(some)
            self.written(some)

    def do_end(self, some):
        self.leaves(some)

    def do_abort(self, some):
        some.status.name = "FINISHED_ABORTED"
        self.leaves(some)

    def do_preempt(self, some):
        self.running.remove(some)
        self.manager.free(some)
        some.num_computed_tokens, some.num_preemptions = 0, 1
        self.preempted.append(some)

    def do_resume(self, _):
        if self.preempted and not self.begin(self.preempted[-1]):
            return
        if self.preempted:
            self.preempted.pop()

    def do_later(self, some):
        self.leaves(some, free=False)
        self.later.append(self.manager.pop_blocks_for_free(some))

    def do_drain(self, _):
        if self.later:
            self.pool.free_blocks(reversed(self.later.pop(0)))

    def do_evict(self, _):
        self.manager.evict_blocks(set(self.random.sample(range(1, BLOCKS), 3)))

    def do_pin(self, some):
        blocks = [block for group in self.manager.get_blocks(some.request_id).blocks for block in group[1:4] if not block.is_null]
        self.pool.touch(blocks)
        self.held.append(blocks)

    def do_unpin(self, _):
        if not self.held:
            return
        blocks = self.held.pop(self.random.randrange(len(self.held)))
        if self.random.random() < 0.5:
            self.pool.free_blocks(reversed(blocks))
        else:
            self.pool.unpin_blocks(blocks, self.reused)

    def reused(self, _block):
        self.watched += 1

    def do_reset(self, _):
        while self.running:
            self.leaves(self.running[-1])
        while self.later:
            self.do_drain(None)
        while self.held:
            self.pool.free_blocks(reversed(self.held.pop()))
        assert self.manager.reset_prefix_cache()

    def check(self):
        free = {block.block_id for block in self.pool.blocks if block.ref_cnt == 0 and not block.is_null}
        here = [block.block_id for block in self.pool.free_block_queue.get_all_free_blocks()]
        assert self.pool.get_num_free_blocks() == len(here) == len(set(here)) and set(here) == free, (
            self.pool.get_num_free_blocks(), len(here), sorted(free - set(here)), sorted(set(here) - free))
        if self.door is not None and self.door.cores():
            facts = self.door.cores()[0].facts()
            assert facts["free"] == facts["spare"] + facts["movable"] == len(free), facts


def program(vllm, policy, seed, windows, operations, error):
    """Returns a line about a run."""
    ours = World(vllm, policy, seed, windows)
    theirs = World(vllm, None, seed, windows) if policy == "lru" else None
    for number in range(operations):
        if error and number == operations // 2:
            ours.door.give_up("an error on purpose")
            theirs = None  # vLLM's queue gets the blocks in the order of lru, those without a hash first
        ours.step()
        ours.check()
        if theirs is not None:
            theirs.step()
            assert ours.taken == theirs.taken, f"operation {number}: blocks {ours.taken} and {theirs.taken}"
            assert ours.hit == theirs.hit
            ours.taken.clear(), theirs.taken.clear()
    if not error:
        assert ours.door.cores(), "the queue has given up"
        assert len(ours.door._known) <= len(ours.running) + len(ours.preempted) + 1, "requests are left behind"
    beside = "" if policy != "lru" or error else ", each block beside vLLM's"
    return f"{operations} operations{beside}, {ours.hit} tokens hit, {ours.counts['preempt']} preempted, {ours.watched} reused"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    parser.add_argument("--operations", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policies", default="lru,hazard,s3_fifo,lfu")
    args = parser.parse_args()
    vllm = base.load(args.wheel)
    from canopy.engines import vllm as ours

    if why := ours.reason_of_release() or ours.reason_of_device():
        print(f"SKIPPED: {why}", file=sys.stderr)
        return 77
    vllm.init_none_hash(digest)
    failed = 0
    for policy in args.policies.split(","):
        for windows in (0, PAGE, 2 * PAGE):  # tokens of a block; 0: full attention only
            for error in (False, True):
                name = f"{policy}{f', windows in blocks of {windows}' if windows else ''}{', an error' if error else ''}"
                try:
                    print(f"ok     {name}: {program(vllm, policy, args.seed, windows, args.operations, error)}", flush=True)
                except AssertionError as wrong:
                    failed += 1
                    print(f"FAILED {name}: {wrong}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
