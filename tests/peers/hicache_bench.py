#!/usr/bin/env python3
"""Canopy's storages below SGLang's HiCache beside SGLang's own: rate, and processor time for each GB.

    hicache_bench.py WHEEL FOLDER [--gib 1] [--page-kib 2048,128] [--layout page_first] [--redis]

WHEEL: the unpacked wheel of SGLang; torch, what SGLang imports and canopy on the path (hicache_host.py). FOLDER: on the disk to be
measured. SGLang's own controller moves the pages of its own host pool, in batches of 128 as its threads do. `file` writes through
the page cache; `slots`, and `nixl` with its POSIX plugin (pip install nixl nixl-cu13), write past it. So the rates of `file` are
given to the end of a sync and with a cold cache as well. Only Canopy's records have checksums, which each load verifies. --redis: a
redis-server on this machine, too. Processor time is of all threads of this process: not of the kernel's that write the page cache
back, and not of redis-server.
"""
import argparse
import contextlib
import importlib.util
import json
import os
import pathlib
import random
import resource
import shutil
import sys
import time
import types

import hicache_host
from redis_server import PROGRAM, redis_server

BATCH = 128


def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def controller(kit, folder, page_kib, pages, layout, backend, extra):
    """SGLang's controller above a host pool of so many pages, with a storage."""
    from sglang.srt.runtime_context import get_parallel
    from sglang.srt.server_args import ServerArgs, set_global_server_args_for_scheduler

    tokens, layers = 64, 16
    head_dim = page_kib * 1024 // (tokens * layers * 2 * 2)  # keys and values of two bytes, one head
    cfg = kit.config.CacheConfig(page_size=tokens, num_layers=layers, kv_size=tokens * 4, head_num=1, head_dim=head_dim)
    cache, _, _ = kit.fixtures.build_fixture(cfg)
    args = ServerArgs(model_path="dummy", page_size=tokens, hicache_io_backend="kernel", hicache_mem_layout=layout,
                      hicache_ratio=pages / 4 + 1, hicache_storage_backend=backend,
                      hicache_storage_backend_extra_config=json.dumps(extra))
    set_global_server_args_for_scheduler(args)
    for name in ("FILE", "NIXL"):
        os.environ[f"SGLANG_HICACHE_{name}_BACKEND_STORAGE_DIR"] = str(folder / backend)
    os.environ["SGLANG_HICACHE_NIXL_BACKEND_PLUGIN"] = "POSIX"
    with get_parallel().override(tp_rank=0, tp_size=1, pp_rank=0, pp_size=1):
        cache.init_hicache(args, cache.cache_init_params)
    kit.fixtures.drop_hicache_atexit_pin(cache)
    return cache, cache.cache_controller


def drop_cache(folder):
    os.sync()
    for path in pathlib.Path(folder).rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measured(kit, name, folder, page_kib, args, backend, extra):
    pages = int(args.gib * 2**30) // (page_kib * 1024)
    room = min(pages, 4 * BATCH)  # pages of the host pool; batches use it in turns
    cache, control = controller(kit, folder, page_kib, room, args.layout, backend, {**extra, "prefetch_threshold": 1})
    host, torch = control.storage_host_pool, kit.torch
    host.pin_memory = False  # memory of the pages that `file` copies through
    places = host.alloc(room * host.page_size)
    host.kv_buffer.view(torch.uint8).random_(0, 256)
    total = pages * page_kib * 1024 / 1e9
    keys = [random.Random(number).randbytes(32).hex() for number in range(pages)]
    batches = [(keys[at : at + BATCH], at // BATCH * BATCH % room) for at in range(0, pages, BATCH)]
    operation = types.SimpleNamespace(request_id="bench", is_terminated=lambda: False)

    def run(load):
        begun, before, failed = time.perf_counter(), cpu(), 0
        for some, at in batches:
            where = places[at * host.page_size : (at + len(some)) * host.page_size]
            if load:
                failed += len(some) - control.page_get_func(operation, some, where)
            else:
                failed += 0 if control.page_set_func(some, where) else len(some)
        seconds, spent = time.perf_counter() - begun, cpu() - before
        return seconds, f"{total / seconds:.2f} GB/s, {spent / total:.2f} s a GB" + (f", {failed} FAILED" if failed else "")

    seconds, stored = run(False)
    begun = time.perf_counter()
    os.sync()
    synced = total / (seconds + time.perf_counter() - begun)
    begun = time.perf_counter()
    found = sum(control.storage_backend.batch_exists(some) for some, _ in batches)
    exists = (time.perf_counter() - begun) / len(batches) * 1e3
    drop_cache(folder)
    random.Random(1).shuffle(batches)
    _, cold = run(True)
    _, warm = run(True)
    print(f"{page_kib:5} KiB  {name:17} store {stored} ({synced:.2f} GB/s to the end of a sync); load {cold}, again {warm}; "
          f"batch_exists of {BATCH} {exists:.2f} ms ({found} of {pages})", flush=True)
    control.detach_storage_backend()
    cache.release_host_resources()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    parser.add_argument("folder")
    parser.add_argument("--gib", type=float, default=1)
    parser.add_argument("--page-kib", default="2048,128")
    parser.add_argument("--layout", default="page_first")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--redis", action="store_true")
    args = parser.parse_args()
    kit = hicache_host.load(args.wheel)
    folder = pathlib.Path(args.folder) / "canopy-hicache-bench"
    ours = {"backend_name": "canopy", "module_path": "canopy.engines.hicache", "class_name": "CanopyStorage", "limit_s": 30}
    address = str(folder / "redis.sock")
    capacity = int(args.gib * 2**30 * 1.3)
    storages = [("canopy slots", "dynamic", {**ours, "storage": {"slots": {"path": str(folder / "slots"), "capacity": capacity}}}),
                ("SGLang file", "file", {})]
    if importlib.util.find_spec("nixl"):
        storages.append(("SGLang nixl POSIX", "nixl", {}))
    else:
        print("SKIPPED nixl: pip install nixl nixl-cu13", file=sys.stderr)
    if args.redis and not PROGRAM:
        print("SKIPPED redis: there is no redis-server and no valkey-server", file=sys.stderr)
    elif args.redis:
        storages.append(("canopy redis", "dynamic", {**ours, "storage": {"redis": {"at": address}}}))
    for page_kib in map(int, args.page_kib.split(",")):
        for name, backend, extra in storages * args.rounds:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            try:
                with redis_server(folder) if name == "canopy redis" else contextlib.nullcontext():
                    measured(kit, name, folder, page_kib, args, backend, dict(extra))
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
