#!/usr/bin/env python3
"""A recorded trace through SGLang's UnifiedRadixCache for hybrid models, with its own tree cores and with Canopy's.

    sglang_hybrid_trace.py WHEEL RELEASE TRACE [--kind window|buffered] [--page N] [--window N] [--full N] [--small N]
                           [--requests N] [--cores canopy,model,rust]

TRACE: JSON lines with hash_ids of 512 tokens, input_length and output_length. One request after the other: match, chunks of
8,192 tokens with a checkpoint after each, its output, release. --full and --small: tokens of the pool of full attention, and
tokens (window) or states (buffered) of the other. Prints for each core the tokens that were reused, what was evicted, and the
processor time of the cache's calls. With `canopy` and `model` among the cores, every answer of both must be equal.
Exit code 1: they differ.
"""
import argparse
import json
import sys
import time

import sglang_hybrid_lockstep as lockstep
import sglang_hybrid_wheel as wheel

CHUNK = 8192


def requests_of(path, most):
    with open(path) as lines:
        for number, line in zip(range(most), lines):
            row = json.loads(line)
            tokens = [block * 512 + i for block in row["hash_ids"] for i in range(512)][: row["input_length"]]
            yield number, tokens, row["output_length"]


def run(side, path, most):
    """Returns the answers to each request, the tokens reused, those evicted, and seconds of processor time."""
    answers, hits, spent, fresh = [], 0, 0.0, 1 << 31

    def timed(method, *arguments):
        nonlocal spent
        start = time.thread_time()
        answer = getattr(side, method)(*arguments)
        spent += time.thread_time() - start
        return answer

    for number, tokens, output in requests_of(path, most):
        found, evicted = timed("admit", number, 0, tokens, (None, None), 0, len(tokens) - 1)
        length, _, _, branch = found
        results, at = [found, evicted], length
        stops = {*range(at + CHUNK, len(tokens), CHUNK), len(tokens)}
        for stop in sorted(stops | ({branch} if branch and at < branch < len(tokens) else set())):
            results.append(timed("extend", number, stop))
            if results[-1] == "no room":
                break
            results.append(timed("checkpoint", number, stop))
        room = results[-1] != "no room"
        if room and output > 1:
            results.append(timed("decode", number, range(fresh, fresh + output - 1)))
            fresh += output - 1
            room = results[-1] != "no room"
        timed("release", number, room)
        hits += length
        answers.append((results, side.sizes()))
    return answers, hits, spent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    parser.add_argument("release")
    parser.add_argument("trace")
    parser.add_argument("--kind", choices=("window", "buffered"), default="window")
    parser.add_argument("--page", type=int, default=64)
    parser.add_argument("--window", type=int, default=1024)
    parser.add_argument("--full", type=int, default=3_000_000)
    parser.add_argument("--small", type=int, default=300_000)
    parser.add_argument("--requests", type=int, default=1 << 30)
    parser.add_argument("--policy", default="lru", choices=lockstep.POLICIES)
    parser.add_argument("--cores", default="canopy,model,rust")
    args = parser.parse_args()
    wheel.CHUNK = args.page
    lockstep.ROWS, lockstep.WIDTH = 1, 200_000
    torch, names, make = lockstep.loaded(args.wheel, args.release)
    answers = {}
    for core in args.cores.split(","):
        full = args.full // args.page * args.page
        small = args.small if args.kind == "buffered" else args.small // args.page * args.page
        side = lockstep.Side(torch, names, make, lockstep.KINDS[args.kind][0], args.page, False, full, small, args.window, small,
                             args.kind == "buffered", args.policy, core, events=False)
        answers[core], hits, spent = run(side, args.trace, args.requests)
        print(f"{core}: {hits:,} tokens reused in {len(answers[core]):,} requests, {spent:.2f} s of processor time; "
              f"evictable, protected, free: {side.sizes()}; {side.wrong() or 'each slot has one owner'}", flush=True)
    if not {"canopy", "model"} <= answers.keys():
        return 0
    for number, (ours, theirs) in enumerate(zip(answers["canopy"], answers["model"])):
        if ours != theirs:
            print(f"request {number}: Canopy {ours}\n  model {theirs}")
            return 1
    print("canopy and model: every answer is equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
