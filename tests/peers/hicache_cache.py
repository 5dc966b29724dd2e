#!/usr/bin/env python3
"""SGLang's own hierarchical cache with Canopy's storage below it: what comes back from the storage has its bytes.

    hicache_cache.py WHEEL [--seed S]

WHEEL: the unpacked wheel of SGLang; torch, what SGLang imports and canopy on the path (hicache_host.py). A cache is filled as a
server fills it, writes its pages through its host pool to the storage and ends; another one fetches them for a request, copies
them to its device pool, and every byte is compared. For full attention in two layouts, sliding windows and recurrent states, on
`slots` and on a redis-server if there is one. Then what must not harm: records that are damaged, a disk that is full, a process
that is killed while it writes, a redis-server that is killed, a model whose bytes mean something else, and an error in us.
Exit code 1: a difference; 77: SGLang cannot be had.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from array import array

import hicache_host

HERE = pathlib.Path(__file__).resolve()
EXTRA = {"backend_name": "canopy", "module_path": "canopy.engines.hicache", "class_name": "CanopyStorage", "prefetch_threshold": 1}
PAGES = 24


def slots(folder, name="kv", capacity="16MiB"):
    return {"slots": {"path": str(pathlib.Path(folder) / name), "capacity": capacity}}


def servers_class(kit):
    """The cache of a server, with the functions of SGLang's test kit."""
    from sglang.srt.runtime_context import get_parallel
    from sglang.srt.server_args import ServerArgs, set_global_server_args_for_scheduler

    class Server(kit.storage.UnifiedRadixCacheStorageFixtures, kit.config.CustomTestCase):
        def __init__(self, cfg, storage, pools=None, layout="page_first", more=(), **arguments):
            super().__init__("run")
            self.cfg = cfg
            self.cache, self.allocator, self.rows = kit.fixtures.build_fixture(cfg)
            extra = {**EXTRA, "storage": storage, **({"pools": pools} if pools else {}), **dict(more)}
            args = ServerArgs(
                model_path="dummy", page_size=cfg.page_size, hicache_io_backend="kernel", hicache_mem_layout=layout,
                hicache_write_policy="write_through", hicache_storage_backend="dynamic",
                hicache_storage_backend_extra_config=json.dumps(extra), hicache_storage_prefetch_policy="wait_complete",
                **arguments)
            args._mamba_cache_chunk_size = max(kit.fixtures.FLA_CHUNK_SIZE, cfg.page_size)
            set_global_server_args_for_scheduler(args)
            with get_parallel().override(tp_rank=0, tp_size=1, pp_rank=0, pp_size=1):
                self.cache.init_hicache(args, self.cache.cache_init_params)
            kit.fixtures.drop_hicache_atexit_pin(self.cache)
            self.cache.write_through_threshold, self.cache.load_back_threshold = 1 << 30, 0
            self.controller = self.cache.cache_controller
            self.controller.prefetch_capacity_limit = max(self.controller.prefetch_capacity_limit, self.cfg.kv_size)
            self.storage = self.controller.storage_backend

        def run(self):
            pass

        def tensors(self):
            """The device's tensors of the KV pages that full attention needs."""
            pool = self._get_full_kv_pool(self.allocator)
            return [*pool.k_buffer, *pool.v_buffer]

        def prompt(self, number, pages):
            return [number * 1000 + at for at in range(pages * self.cfg.page_size)]

        def serve(self, tokens):
            """Computes a prompt and writes its pages down to the storage. Returns their bytes."""
            self._insert(self.cache, self.allocator, self.rows, tokens)
            leaf = kit.fixtures.match_prefix(self.cache, tokens).last_device_node
            places = self.cache.path_device_indices(leaf)
            generator = kit.torch.Generator().manual_seed(tokens[0])
            for tensor in self.tensors():
                shape = (len(places), *tensor.shape[1:])
                tensor[places] = kit.torch.rand(shape, generator=generator).to(tensor.dtype)
            self._backup_node(self.cache, leaf)
            self._write_path_to_l3(self.cache, leaf)
            self._flush_l3_backups(self.cache, timeout=30)
            return [tensor[places].clone() for tensor in self.tensors()]

        def fetch(self, tokens, name):
            """Fetches a prompt from the storage to the device. Returns its length in tokens, and the bytes."""
            handle = kit.storage.CacheRequestHandle(name)
            self.cache.prefetch_from_storage(handle, self.cache.root_node_handle(), array("q", tokens), None, None)
            self._run_prefetch_to_completion(self.cache, handle, timeout=30)
            found = kit.fixtures.match_prefix(self.cache, tokens)
            if found.host_hit_length:
                found = self._load_back_through_admission(self.cache, self.rows, tokens)
                found = kit.fixtures.match_prefix(self.cache, tokens)
            places = self.cache.path_device_indices(found.last_device_node)
            return len(places), [tensor[places].clone() for tensor in self.tensors()]

        def figures(self):
            return self.storage.figures()

        def close(self):
            self.cache.release_host_resources()
            self.controller.detach_storage_backend()
            self.doCleanups()

    return Server
