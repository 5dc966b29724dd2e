"""Hostile calls of clients and policies to Canopy inside SGLang's scheduler: no call raises, and every slot has an owner.

    sglang_hostile.py WHEEL [RELEASE]

WHEEL: an unpacked wheel of SGLang. A prompt with token ids that are none, names with half of a surrogate pair, policies in Python that
raise in each of their calls, and a feed whose name is taken: in the cache for full attention, in its table for a device, and in
UnifiedRadixCache over Canopy's tree core. Exit code 77: something is missing."""
import logging
import os
import sys
import types

import sglang_wheel

SIZE, PAGE = 64, 4


class Mine:
    """A policy in Python that raises once."""

    raise_in = None

    def _once(self, where):
        if Mine.raise_in == where:
            Mine.raise_in = None
            raise KeyError("mine")

    def rank(self, node):
        self._once("rank")
        return node.last_access

    def spare(self, node):
        self._once("spare")
        return False

    def evicted(self, node, why):
        self._once("evicted")


def main():
    wheel, release = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "0.5.23"
    sglang_wheel.load(wheel, release)
    import torch
    import sglang_lockstep
    from sglang.srt.mem_cache import radix_cache
    from sglang.srt.mem_cache.base_prefix_cache import EvictParams, MatchPrefixParams
    from sglang.srt.mem_cache.cache_init_params import CacheInitParams

    from canopy import Index
    from canopy.engines import sglang_hybrid
    from canopy.engines import sglang_settings as ours
    from canopy.engines.sglang_cache import CanopyRadixCache
    from canopy.engines.sglang_table import CanopyTableCache

    logged = []
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())
    logging.getLogger("canopy").addHandler(handler)
    logging.getLogger("canopy").propagate = False
    events = False
    names = types.SimpleNamespace(params=lambda **given: CacheInitParams(**{**given, "enable_kv_cache_events": events}),
                                  key=radix_cache.RadixKey, match=MatchPrefixParams, evict=EvictParams)
    caches = {
        "cache": lambda settings: lambda params: CanopyRadixCache(params, settings),
        "table": lambda settings: lambda params: CanopyTableCache(params, settings),
        "core": lambda settings: lambda params: sglang_wheel.unified(sglang_hybrid.register(settings), params),
    }
    failed = 0

    def owned(side):
        """Pages of the pool that are free, in the tree, and in rows behind the tree's part."""
        rows = sum(request.allocated - request.kv.cache_protected_len for request in side.requests.values())
        return side.allocator.available_size() + sum(side.sizes()[:2]) + rows

    def check(what, side, call):
        nonlocal failed
        try:
            call()
            wrong = "" if owned(side) == SIZE else f"{owned(side)} of {SIZE} tokens have an owner"
        except BaseException as error:
            wrong = f"{type(error).__name__}: {error}"
        failed += bool(wrong)
        print("FAILED" if wrong else "ok", what, wrong, flush=True)

    def make(cache, settings):
        return sglang_lockstep.Side(torch, names, caches[cache](settings), SIZE, PAGE, False, "lru", None)

    for cache in caches:
        for what, tokens, space in (
            ("token -1", [-1, *range(19)], (None, None)), ("token 2**32", [*range(19), 2**32], (None, None)),
            ("a lone surrogate as a key", list(range(20)), ("\ud800", None)),
            ("a lone surrogate as a salt", list(range(20)), (None, "\udc00")),
        ):
            for events in (False, True):
                side = make(cache, ours.Settings("lru"))

                def serve():
                    for number in (1, 2):
                        side.admit(number, number, tokens, space, 0, None)
                        side.checkpoint(number, 20)
                    side.events()
                    for number in (1, 2):
                        side.release(number, True)
                    side.evict(SIZE)
                    assert side.allocator.available_size() == SIZE, side.allocator.available_size()

                check(f"{cache}: {what}{', with KV events' if events else ''}", side, serve)
        events = False
        for where, call in (("rank", "checkpoint"), ("rank", "admit"), ("rank", "release"), ("spare", "evict"), ("evicted", "evict")):
            side = make(cache, ours.Settings(Mine()))
            side.admit(1, 0, list(range(20)), (None, None), 0, None)
            side.checkpoint(1, 20)
            side.release(1, True)
            side.admit(2, 1, list(range(50, 70)), (None, None), 0, None)

            def serve():
                Mine.raise_in = where
                if call == "checkpoint":
                    side.checkpoint(2, 20)
                elif call == "admit":
                    side.admit(3, 2, list(range(24)), (None, None), 0, None)
                elif call == "release":
                    side.release(2, True)
                else:
                    side.evict(8)
                Mine.raise_in = None
                for number in list(side.requests):
                    side.checkpoint(number, 20)
                    side.release(number, True)
                side.evict(SIZE)
                assert side.allocator.available_size() == SIZE, side.allocator.available_size()

            check(f"{cache}: a policy that raises in {where}() of {call}", side, serve)
        feed = f"taken-{os.getpid()}"
        other = Index(1, feed=feed)
        for name in (feed, "a/b"):
            made = []
            logged.clear()
            try:
                made.append(make(cache, ours.Settings(feed=name)))
            except BaseException as error:
                made = []
                print("FAILED", f"{cache}: a feed that cannot be opened: {type(error).__name__}: {error}")
            good = bool(made) and sum("no feed" in text for text in logged) == 1
            failed += not good
            print("ok" if good else "FAILED", f"{cache}: the feed {name!r} is left out, and the log says so: {logged}", flush=True)
        del other
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
