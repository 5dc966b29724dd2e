"""SGLang's UnifiedRadixCache with Canopy as its tree core, for models with sliding windows or recurrent states.

This is a core and not a cache of our own, as for full attention, because most work of a hybrid model's cache is about states
and windows of requests (copies at a match, two buffers for each request, checkpoints in int8, freeing behind the window).
UnifiedRadixCache does this in 2,700 lines, and calls its core only for the tree, in some 40 short functions.

Only sglang.make() imports it: it needs SGLang and torch.
"""

from __future__ import annotations

import itertools

from sglang.srt.mem_cache.unified_cache.tree_core_registry import register_tree_core_backend
from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache

from .sglang_cache import space_of
from .sglang_feed import Requests
from .sglang_settings import Settings
from .sglang_tree_core import MAMBA, CanopyTreeCore

names = itertools.count(1)


def register(settings: Settings) -> str:
    """Registers a tree core with these settings, and returns its name."""
    name = f"canopy-{next(names)}"
    register_tree_core_backend(name, lambda params, _: make_core(params, settings))
    return name


def make_core(params, settings: Settings) -> CanopyTreeCore:
    if MAMBA not in params.tree_components:
        return CanopyTreeCore(params, settings)
    from sglang.srt.runtime_context import get_exec, mamba_checkpoint_grid

    most = get_exec().mamba.mamba_max_states_per_path
    return CanopyTreeCore(params, settings, most, mamba_checkpoint_grid(params.page_size))


class CanopyUnifiedRadixCache(UnifiedRadixCache):
    """SGLang's cache above the core, with its requests in the feed."""

    def __init__(self, params):
        super().__init__(params)
        self._requests = Requests(self.tree_core.index) if self.tree_core.feed else None

    def checkpoint(self, req, *, up_to: int, **kwargs) -> None:
        before = req.kv.cache_protected_len
        if self._requests is not None:
            self._requests.inserts(
                req, space_of(req), before, up_to // self.page_size * self.page_size, req.last_node if before else 0)
        super().checkpoint(req, up_to=up_to, **kwargs)
        if self._requests is not None:
            self._requests.committed(req, space_of(req), before, req.kv.cache_protected_len)

    def on_release(self, req, *, checkpointed: bool) -> None:
        super().on_release(req, checkpointed=checkpointed)
        if self._requests is not None:
            self._requests.released(req)
