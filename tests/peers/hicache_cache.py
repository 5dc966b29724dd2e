#!/usr/bin/env python3
"""SGLang's own hierarchical cache with Canopy's storage below it: what comes back from the storage has its bytes.

    hicache_cache.py WHEEL

WHEEL: the unpacked wheel of SGLang; torch, what SGLang imports and canopy on the path (hicache_host.py). A cache is filled as a
server fills it, writes its pages through its host pool to the storage and ends; another one fetches them for a request, copies
them to its device pool, and every byte is compared. For full attention in three layouts, sliding windows and recurrent states, on
`slots` and on a redis-server if there is one. Then what must not harm: records that are damaged, a disk that is full, a process
that is killed while it writes, a redis-server that is killed, a model whose bytes mean something else, and an error in us.
Exit code 1: a difference; 77: SGLang is not available.
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
from redis_server import PROGRAM, redis_server

HERE = pathlib.Path(__file__).resolve()
EXTRA = {"backend_name": "canopy", "module_path": "canopy.engines.hicache", "class_name": "CanopyStorage", "prefetch_threshold": 1}
PAGES = 8


def slots(folder, name="kv", capacity="16MiB"):
    return {"slots": {"path": str(pathlib.Path(folder) / name), "capacity": capacity}}


def servers_class(kit):
    """The cache of a server, with the functions of SGLang's test kit."""
    from sglang.srt.mem_cache.unified_cache.components.base import ComponentType as Component
    from sglang.srt.runtime_context import get_parallel
    from sglang.srt.server_args import ServerArgs, set_global_server_args_for_scheduler

    class Server(kit.storage.UnifiedRadixCacheStorageFixtures, kit.config.CustomTestCase):
        fetched = 0

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

        def tensors(self, tokens):
            """The bytes of a prompt that is in the tree: (tensor, places) for each tensor of each pool of the device."""
            leaf = kit.fixtures.match_prefix(self.cache, tokens).last_device_node
            places = self.cache.path_device_indices(leaf)
            pool = self._get_full_kv_pool(self.allocator)
            parts = [(tensor, places) for tensor in (*pool.k_buffer, *pool.v_buffer)]
            if self.cfg.has_swa:  # a page that left the window has none
                window = self.allocator.full_to_swa_index_mapping[places[-self.cfg.sliding_window_size :]]
                pool = self.allocator.get_kvcache().swa_kv_pool
                parts += [(tensor, window) for tensor in (*pool.k_buffer, *pool.v_buffer)]
            if self.cfg.has_mamba:
                state = kit.fixtures.node_device_value(self.cache, leaf, Component.MAMBA)
                cache = self.rows.mamba_pool.mamba_cache
                parts += [(layer, state) for tensor in (cache.temporal, *cache.conv) for layer in tensor]
            return leaf, parts

        @staticmethod
        def contents(tokens, parts):
            """Returns what the model computes for a prompt: numbers by its first token."""
            generator = kit.torch.Generator().manual_seed(tokens[0])
            shapes = ((len(places), *tensor.shape[1:]) for tensor, places in parts)
            return [kit.torch.rand(shape, generator=generator) for shape in shapes]

        def prompt(self, number, pages):
            return [number * 1000 + at for at in range(pages * self.cfg.page_size)]

        def serve(self, tokens):
            """Computes a prompt and writes its pages down to the storage."""
            self._insert(self.cache, self.allocator, self.rows, tokens)
            leaf, parts = self.tensors(tokens)
            for (tensor, places), numbers in zip(parts, self.contents(tokens, parts)):
                tensor[places] = numbers.to(tensor.dtype)
            self._backup_node(self.cache, leaf)
            self._write_path_to_l3(self.cache, leaf)
            self._flush_l3_backups(self.cache, timeout=30)

        def fetch(self, tokens):
            """Fetches a prompt from the storage to the device. Returns its length there in pages, and whether every byte is
            right."""
            Server.fetched += 1
            handle = kit.storage.CacheRequestHandle(f"fetch {Server.fetched}", 0)
            self.cache.prefetch_from_storage(handle, self.cache.root_node_handle(), array("q", tokens), None, None)
            if handle in self.cache.ongoing_prefetch:
                self._run_prefetch_to_completion(self.cache, handle, timeout=30)
            if kit.fixtures.match_prefix(self.cache, tokens).host_hit_length:
                self._load_back_through_admission(self.cache, self.rows, tokens)
                self._finish_pending_loads(self.cache)
            _, parts = self.tensors(tokens)
            length = len(parts[0][1])
            if not length:
                return 0, True
            full = [(tensor, range(len(tokens)) if places is parts[0][1] else places) for tensor, places in parts]
            right = all(
                (tensor[places] == numbers.to(tensor.dtype)[: len(places)]).all()
                for (tensor, places), numbers in zip(parts, self.contents(tokens, full)))
            return length // self.cfg.page_size, right

        def figures(self):
            return self.storage.figures()

        def close(self):
            self.cache.release_host_resources()
            self.controller.detach_storage_backend()
            self.doCleanups()

    return Server


class Checks:
    def __init__(self, kit):
        from sglang.srt.mem_cache.unified_cache.components.base import ComponentType as Component

        self.kit, self.Server, self.failed = kit, servers_class(kit), 0
        config = kit.config.CacheConfig
        small = {"num_layers": 4, "full_attention_layer_ids": (1, 3)}
        self.full = config(page_size=16, num_layers=4, kv_size=2048)
        self.window = config(page_size=4, kv_size=256, components=(Component.FULL, Component.SWA), sliding_window_size=8, **small)
        self.state = config(page_size=1, kv_size=256, components=(Component.FULL, Component.MAMBA), **small)

    def say(self, what, good, *figures):
        self.failed += not good
        print(f"{'ok' if good else 'FAILED':6} {what}: {', '.join(map(str, figures))}", flush=True)

    def served(self, cfg, storage, numbers, **more):
        """A server that computed some prompts and ended. Returns its figures."""
        server = self.Server(cfg, storage, **more)
        for number in numbers:
            server.serve(server.prompt(number, PAGES))
        figures = server.figures()
        server.close()
        return figures

    def fetched(self, cfg, storage, numbers, **more):
        """Another server that fetches them. Returns their pages, whether all bytes were right, and its figures."""
        server = self.Server(cfg, storage, **more)
        results = [server.fetch(server.prompt(number, PAGES)) for number in numbers]
        figures = server.figures()
        server.close()
        return [pages for pages, _ in results], all(right for _, right in results), figures

    def round(self, what, cfg, storage, **more):
        self.served(cfg, storage, (1, 2), **more)
        pages, right, figures = self.fetched(cfg, storage, (1, 2, 3), **more)
        loaded = {name: row["loaded"] for name, row in figures.items()}
        self.say(what, pages == [PAGES, PAGES, 0] and right and all(loaded.values()), f"pages {pages}", f"loaded {loaded}")

    # ---- What must work ----

    def comes_back(self, folder):
        for layout in ("page_first", "layer_first"):
            self.round(f"full attention, {layout}", self.full, slots(folder, layout), layout=layout)
        self.round("full attention, page_first_direct", self.full, slots(folder, "direct"), layout="page_first_direct")
        self.round("sliding windows", self.window, slots(folder, "w"), pools={"swa": slots(folder, "swa")})
        self.round("recurrent states", self.state, slots(folder, "m"), pools={"mamba": slots(folder, "mamba")})

    def redis(self, folder):
        if not PROGRAM:
            print("SKIPPED redis: there is no redis-server and no valkey-server", flush=True)
            return
        with redis_server(folder) as (address, process):
            storage = {"redis": {"at": address}}
            self.round("full attention on redis", self.full, storage)
            self.round("sliding windows on redis", self.window, storage, pools={"swa": storage})
            self.round("recurrent states on redis", self.state, storage, pools={"mamba": storage})
            server = self.Server(self.full, storage, more={"limit_s": 0.3})
            process.kill()
            process.wait()
            begun = time.monotonic()
            pages = [server.fetch(server.prompt(number, PAGES))[0] for number in (1, 2) * 10]
            server.serve(server.prompt(5, PAGES))
            took, row = time.monotonic() - begun, server.figures()["kv"]
            server.close()
            self.say("a redis-server that is killed costs hits and no waiting", not any(pages) and took < 8 and row["pauses"],
                     f"{took:.1f} s for 21 prompts", f"{row['pauses']} pauses")

    # ---- What must not harm ----

    def damaged(self, folder):
        storage = slots(folder)
        self.served(self.full, storage, range(1, 13), layout="page_first")
        prng = random.Random(1)
        for path in pathlib.Path(folder).rglob("*"):
            if path.is_file() and path.stat().st_size > 1 << 20:
                with open(path, "r+b") as file:
                    for _ in range(300):
                        file.seek(prng.randrange(path.stat().st_size))
                        file.write(prng.randbytes(100))
        pages, right, figures = self.fetched(self.full, storage, range(1, 13))
        self.say("damaged records", right and figures["kv"]["damaged"] and sum(pages) < 12 * PAGES, f"pages {pages}",
                 f"{figures['kv']['damaged']} damaged: {figures['kv']['flaw']}")

    def too_small(self, folder):
        """A capacity for about three of twelve prompts."""
        storage = slots(folder, capacity="1MiB")
        figures = self.served(self.full, storage, range(1, 13))
        pages, right, _ = self.fetched(self.full, storage, range(1, 13))
        self.say("a storage that is full makes room", right and pages[-1] == PAGES and not pages[0],
                 f"{figures['kv']['stored']} pages stored", f"pages {pages}")

    def no_room(self, folder):
        """A disk on which no file can be larger than 1 MiB, which is less than the capacity."""
        code = (f"import json, resource, sys; sys.path.insert(0, {str(HERE.parent)!r}); import hicache_cache as c\n"
                f"checks = c.Checks(c.hicache_host.load({WHEEL!r}))\n"
                f"resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
                f"storage = c.slots({str(folder)!r})\n"
                f"print(checks.served(checks.full, storage, range(1, 13))['kv']['stored'])\n"
                f"print(json.dumps(checks.fetched(checks.full, storage, range(1, 13))))")
        child = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        lines = child.stdout.splitlines()
        pages, right, _ = json.loads(lines[-1]) if child.returncode == 0 else ([], False, {})
        has_message = "has room for" in child.stderr
        self.say("a disk without room keeps what it has room for", right and has_message and 0 < sum(pages) < 12 * PAGES,
                 f"stored {lines[0] if lines else '-'}", f"pages {pages}")

    def killed(self, folder):
        code = (f"import sys; sys.path.insert(0, {str(HERE.parent)!r}); import hicache_cache as c\n"
                f"checks = c.Checks(c.hicache_host.load({WHEEL!r}))\n"
                f"for number in range(1, 1000, 4):\n"
                f"    server = checks.Server(checks.full, c.slots({str(folder)!r}, capacity='64MiB'))\n"
                f"    for one in range(number, number + 4):\n"
                f"        print(one, flush=True)\n"
                f"        server.serve(server.prompt(one, c.PAGES))\n"
                f"    server.close()")
        for prompts in (2, 7):
            child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            begun = [child.stdout.readline() for _ in range(prompts)]
            time.sleep(0.01)
            child.send_signal(signal.SIGKILL)
            last = int([*begun, *child.stdout.read().split()][-1])
            child.wait()
            numbers = range(max(last - 3, 1), last + 1)
            pages, right, figures = self.fetched(self.full, slots(folder, capacity="64MiB"), numbers)
            self.say(f"killed while prompt {last} is written", right and sum(pages), f"pages {pages}",
                     f"{figures['kv']['damaged']} damaged")

    def other_meaning(self, folder):
        import dataclasses

        torch, storage = self.kit.torch, slots(folder)
        self.served(self.full, storage, (1,))
        others = {"float16": (dataclasses.replace(self.full, dtype=torch.float16), {}),
                  "layer_first": (self.full, {"layout": "layer_first"}),
                  "another revision": (self.full, {"revision": "2"}),
                  "another kind of fp8": (self.full, {"kv_cache_dtype": "fp8_e5m2"})}
        for name, (cfg, more) in others.items():
            pages, _, _ = self.fetched(cfg, storage, (1,), **more)
            self.say(f"pages with another meaning are not found: {name}", pages == [0], f"pages {pages}")
        pages, _, _ = self.fetched(self.full, storage, (1,))
        self.say("and those with the same are", pages == [PAGES], f"pages {pages}")

    def cleared(self, folder):
        server = self.Server(self.full, slots(folder))
        server.serve(server.prompt(1, PAGES))
        server.cache.clear_storage_backend()
        server.close()
        pages, _, _ = self.fetched(self.full, slots(folder), (1,))
        self.say("what was cleared is not found", pages == [0], f"pages {pages}")

    def our_error(self, folder):
        class Broken:
            def __getattr__(self, name):
                raise RuntimeError("a fault on purpose")

        self.served(self.full, slots(folder), (1,))
        server = self.Server(self.full, slots(folder))
        held, server.storage._pools["kv"].core = server.storage._pools["kv"].core, Broken()
        pages, _ = server.fetch(server.prompt(1, PAGES))
        server.serve(server.prompt(2, PAGES))
        empty = server.storage._pools["kv"].core is None
        server.close()
        held.close()
        self.say("an error in Canopy costs the hits only", pages == 0 and empty, f"pages {pages}")


def main():
    global WHEEL
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    WHEEL = parser.parse_args().wheel
    checks = Checks(hicache_host.load(WHEEL))
    for part in ("comes_back", "redis", "damaged", "too_small", "no_room", "killed", "other_meaning", "cleared", "our_error"):
        folder = tempfile.mkdtemp(prefix="canopy-hicache-")
        try:
            getattr(checks, part)(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
