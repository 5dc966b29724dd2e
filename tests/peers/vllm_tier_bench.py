#!/usr/bin/env python3
"""A tier below vLLM's CPU tier: Canopy's on `slots` beside vLLM's own `fs`. Rate, and processor time for each GB.

    vllm_tier_bench.py WHEEL FOLDER [--gib 2] [--chunk 2097152] [--job 32] [--under-way 4] [--redis]

WHEEL: the unpacked wheel of vLLM, with its extension for files (vllm/fs_io_C.abi3.so); torch and canopy on the path. FOLDER: on
the disk to be measured. Chunks are stored in jobs, then looked up and loaded in another order, as the tiering manager does it,
with a few jobs under way at a time. Both write with O_DIRECT where the disk can. Canopy's records carry a checksum that is
verified by each load; files of `fs` have none. --redis: Canopy's on a redis-server of this machine, too. Processor time is of all
threads of this process, without redis-server.
"""
import argparse
import contextlib
import json
import mmap
import os
import pathlib
import random
import resource
import shutil
import sys
import time
import types

import vllm_wheel
from redis_server import PROGRAM, redis_server


def spec(blocks=1):
    values = types.SimpleNamespace
    config = values(
        groups=(values(tokens_per_block=16, layer_names=("layer",), group_id=0),), model=values(name="bench", dtype="bf16"),
        cache=values(tokens_per_hash=16, blocks_per_chunk=blocks), canonical_layout=False, replicated_layout=False,
        kv_cache_layout=None,
        parallel=values(rank=0, tp_size=1, pp_size=1, pcp_size=1, dcp_size=1, data_parallel_index=0, data_parallel_size=1,
                        is_parallelism_agnostic=True))
    return values(config=config, blocks_per_chunk=blocks, kv_events_config=values(enable_kv_cache_events=False))


VALUES = types.SimpleNamespace
ENGINE = VALUES(cache_config=VALUES(kv_cache_layout="NHD"), model_config=VALUES(model="bench", revision=None))


def tier(*given, **named):
    """Makes a CanopyTier as vLLM's connector does, which has the options of the engine in a variable."""
    from canopy.engines.vllm_tier import CanopyTier

    vllm_config = ENGINE  # noqa: F841: the tier looks for it
    return CanopyTier(*given, **named)


def cpu():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime + resource.getrusage(resource.RUSAGE_SELF).ru_stime


def jobs(tier, names, load, keys, rows, job, under_way):
    """Runs all chunks in jobs. Returns chunks that failed."""
    waiting = [(keys[at : at + job], rows[at : at + job]) for at in range(0, len(keys), job)]
    running, number, failed = {}, 0, 0
    while waiting or running:
        while waiting and len(running) < under_way:
            some, where = waiting.pop(0)
            number += 1
            running[number] = some
            one = types.SimpleNamespace(job_id=number, keys=some, chunk_ids=names.array(where), req_context=names.context)
            (tier.submit_load if load else tier.submit_store)(one)
        for result in tier.get_finished_jobs():
            some = running.pop(result.job_id)
            if not result.success:
                failed += len(some) - len(result.successful_keys or ())
        time.sleep(0.0005)
    return failed


def lookup(tier, names, keys):
    """Looks keys up until each has an answer. Returns seconds, and how many were found."""
    begun, found, open_keys = time.perf_counter(), 0, keys
    while open_keys:
        answers = [(key, tier.lookup(key, names.context)) for key in open_keys]
        tier.on_schedule_end(None)
        found += sum(answer is names.LookupResult.HIT for _, answer in answers)
        open_keys = [key for key, answer in answers if answer is names.LookupResult.RETRY]
        if open_keys:
            time.sleep(0.0002)
    tier.on_request_finished(names.context)
    return time.perf_counter() - begun, found


def run(name, make, names, args):
    count = int(args.gib * 2**30) // args.chunk
    memory = mmap.mmap(-1, 256 * args.chunk)
    view = memoryview(memory).cast("B", (256, args.chunk))
    for row in range(256):
        memory[row * args.chunk : row * args.chunk + 4096] = random.Random(row).randbytes(4096)
    tier = make(view)
    keys = [random.Random(number).randbytes(32) + bytes(4) for number in range(count)]
    rows = [number % 256 for number in range(count)]
    total = count * args.chunk / 1e9
    lines = []
    for load in (False, True):
        order = list(range(count))
        if load:
            random.Random(1).shuffle(order)
            took, found = lookup(tier, names, [keys[i] for i in order[:512]])
            lines.append(f"512 lookups {took * 1000:.1f} ms ({found} found)")
        begun, before = time.perf_counter(), cpu()
        failed = jobs(tier, names, load, [keys[i] for i in order], [rows[i] for i in order], args.job, args.under_way)
        seconds, spent = time.perf_counter() - begun, cpu() - before
        lines.append(f"{'load' if load else 'store'} {total / seconds:.2f} GB/s, {spent / total:.3f} s of processor a GB"
                     + (f", {failed} FAILED" if failed else ""))
    tier.shutdown()
    print(f"{name:14} {'; '.join(lines)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    parser.add_argument("folder")
    parser.add_argument("--gib", type=float, default=2)
    parser.add_argument("--chunk", type=int, default=2 << 20)
    parser.add_argument("--job", type=int, default=32)
    parser.add_argument("--under-way", type=int, default=4)
    parser.add_argument("--staging", type=int, default=64 << 20)
    parser.add_argument("--redis", action="store_true")
    parser.add_argument("--slots", default="{}", help="more options of `slots`, as JSON")
    args = parser.parse_args()
    vllm_wheel.load(args.wheel)
    import numpy
    from vllm.v1.kv_offload.base import LookupResult, ReqContext
    from vllm.v1.kv_offload.tiering.fs import io as files
    from vllm.v1.kv_offload.tiering.fs.manager import FileSystemTierManager

    names = types.SimpleNamespace(array=lambda rows: numpy.array(rows, dtype=numpy.int32), LookupResult=LookupResult,
                                  context=ReqContext("bench"))
    folder = pathlib.Path(args.folder) / "canopy-tier-bench"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    capacity = int(args.gib * 2**30 * 1.1)
    storage = {"slots": {"path": str(folder / "slots"), "capacity": capacity, **json.loads(args.slots)}}
    native = getattr(files, "_HAS_FSIO_C", False)
    makers = [
        ("canopy slots", lambda view: tier(spec(), view, "canopy", storage, args.staging, limit_s=30)),
        (f"vLLM fs{'' if native else ' (Python)'}",
         lambda view: FileSystemTierManager(spec(), view, "fs", str(folder / "fs"))),
    ]
    address = str(folder / "redis.sock")
    if args.redis and not PROGRAM:
        print("SKIPPED redis: there is no redis-server and no valkey-server", file=sys.stderr)
    elif args.redis:
        makers.append(("canopy redis", lambda view: tier(spec(), view, "canopy", {"redis": {"at": address}}, args.staging,
                                                               limit_s=30)))
    try:
        for name, make in makers * 2:
            with redis_server(folder) if name == "canopy redis" else contextlib.nullcontext():
                run(name, make, names, args)
            shutil.rmtree(folder)
            folder.mkdir()
            os.sync()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
