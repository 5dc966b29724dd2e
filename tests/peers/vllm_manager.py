#!/usr/bin/env python3
"""vLLM's own CPUOffloadingManager over a trace, with each order of eviction: hits, chunks not stored, time of its calls.

    vllm_manager.py WHEEL TRACE [--capacity TOKENS ...] [--gpu TOKENS ...] [--chunk 512] [--limit N] [--policies lru,arc,...]

WHEEL: the unpacked wheel of vLLM (pip download --no-deps vllm==0.33.0); torch and canopy on the path. `lru` and `arc` are
vLLM's, `canopy:NAME` is Canopy's. Requests come one after the other, and the manager is called as the offloading connector
calls it: look up the chunks that the GPU does not have, load them, store the others, finish. --gpu puts vLLM's block pool
above, as its rules are (least recently used, a request's last block first); without it every request is looked up from its
first chunk.
"""
import argparse
import collections
import hashlib
import json
import sys
import time

import vllm_wheel

BLOCK = 512  # tokens that an id of the trace stands for


def paths(trace, chunk, limit, make_key):
    """The keys of each request's whole chunks."""
    memo, found = {}, []
    with open(trace) as lines:
        for number, line in enumerate(lines):
            if number == limit:
                break
            row = json.loads(line)
            keys, parent = [], b""
            for block in row["hash_ids"][: row["input_length"] // BLOCK]:
                chain = memo.get((parent, block))
                if chain is None:
                    chain, last = [], parent
                    for part in range(BLOCK // chunk):
                        last = hashlib.sha256(last + block.to_bytes(8, "little") + part.to_bytes(2, "little")).digest()
                        chain.append(make_key(last, 0))
                    memo[parent, block] = chain
                keys += chain
                parent = chain[-1][:32]
            found.append(keys)
    return found


class Gpu:
    """vLLM's block pool: which blocks of a request it has, and what it keeps afterwards."""

    def __init__(self, chunks):
        self.chunks, self.blocks = chunks, collections.OrderedDict()

    def hits(self, keys):
        count = 0
        for key in keys:
            if key not in self.blocks:
                break
            count += 1
        return count

    def ended(self, keys):
        for key in reversed(keys):
            self.blocks.pop(key, None)
            self.blocks[key] = None
        while len(self.blocks) > self.chunks:
            self.blocks.popitem(last=False)


class Times:
    """Times of calls, by name, in nanoseconds, and the chunks that they were for."""

    def __init__(self):
        self.of, self.chunks = collections.defaultdict(list), collections.Counter()

    def call(self, name, chunks, function, *arguments):
        start = time.perf_counter_ns()
        result = function(*arguments)
        self.of[name].append(time.perf_counter_ns() - start)
        self.chunks[name] += chunks
        return result

    def lines(self):
        for name, times in self.of.items():
            times.sort()
            at = lambda share: times[min(int(share * len(times)), len(times) - 1)] / 1000  # noqa: E731, B023
            yield (f"    {name:14} {len(times):6} calls  mean {sum(times) / len(times) / 1000:7.1f} us  median {at(0.5):6.1f}"
                   f"  p99 {at(0.99):7.1f}  longest {times[-1] / 1000:6.0f}  a chunk {sum(times) / self.chunks[name]:6.0f} ns")


def run(vllm, requests, policy, chunks, chunk, gpu):
    module = "canopy.engines.vllm" if policy.startswith("canopy:") else None
    manager = vllm.CPUOffloadingManager(chunks, cache_policy=policy, cache_policy_module_path=module)
    above, times = Gpu(gpu), Times()
    hit_above = hits = refused = stored = 0
    start = time.process_time()
    for number, keys in enumerate(requests):
        context = vllm.ReqContext(req_id=str(number))
        manager.on_new_request(context)
        for at, key in enumerate(keys, 1):
            context.set_offload_key_position(key, at * chunk)
        first = above.hits(keys)
        found = times.call("lookup", 0, lookup, vllm, manager, keys[first:], context)
        times.chunks["lookup"] += min(found + 1, len(keys) - first)
        hit_above, hits = hit_above + first, hits + found
        if found:
            loaded = keys[first : first + found]
            times.call("prepare_load", found, manager.prepare_load, loaded, context)
            times.call("complete_load", found, manager.complete_load, set(loaded), context)
        rest = keys[first + found :] if found else keys  # as the connector does after a load
        if rest:
            output = times.call("prepare_store", len(rest), manager.prepare_store, rest, context)
            if output is None:
                refused += 1
            else:
                stored += len(output.keys_to_store)
                times.call("complete_store", len(output.keys_to_store), manager.complete_store, set(output.keys_to_store),
                           context)
        times.call("finished", len(keys), manager.on_request_finished, context)
        above.ended(keys)
    return [hit_above * chunk, hits * chunk, refused, stored * chunk, time.process_time() - start, times]


def lookup(vllm, manager, keys, context):
    count = 0
    for key in keys:
        if manager.lookup(key, context) is not vllm.LookupResult.HIT:
            break
        count += 1
    return count


def names():
    from vllm.v1.kv_offload.base import LookupResult, ReqContext, make_offload_key
    from vllm.v1.kv_offload.cpu.manager import CPUOffloadingManager

    import types
    return types.SimpleNamespace(**locals())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    parser.add_argument("trace")
    parser.add_argument("--capacity", type=int, nargs="+", default=[3_000_000, 10_000_000])
    parser.add_argument("--gpu", type=int, nargs="+", default=[0])
    parser.add_argument("--chunk", type=int, default=BLOCK)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--policies", default="lru,arc,canopy:lru,canopy:hazard")
    parser.add_argument("--calls", action="store_true", help="also print the times of the calls")
    args = parser.parse_args()
    vllm_wheel.load(args.wheel)
    vllm = names()
    requests = paths(args.trace, args.chunk, args.limit, vllm.make_offload_key)
    for gpu in args.gpu:
        for capacity in args.capacity:
            for policy in args.policies.split(","):
                above, hits, refused, stored, seconds, times = run(
                    vllm, requests, policy, capacity // args.chunk, args.chunk, gpu // args.chunk)
                print(f"CPU {capacity / 1e6:g} M{f', GPU {gpu / 1e6:g} M: {above / 1e6:.2f} M hits' if gpu else ''} "
                      f"{policy:14} {hits / 1e6:6.2f} M hits, {stored / 1e6:.1f} M stored, {refused} requests not stored, "
                      f"{seconds:.2f} s", flush=True)
                if args.calls:
                    print(*times.lines(), sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
