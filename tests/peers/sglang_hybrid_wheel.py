"""SGLang's caches, allocators and rows for models with windows and states, from its wheel, on a machine without a GPU.

As sglang_wheel.py, whose loader this uses. The allocators, the mapping from full slots to window slots, the slots of states,
what a request holds (ReqKvInfo) and the functions that free behind a window are the wheel's own.
"""
import ast
import dataclasses
import sys
import types
from array import array

import sglang_wheel
from sglang_wheel import M

REAL = (
    M + "allocator", M + "base_swa_memory_pool", M + "common", M + "memory_pool", M + "mamba_checkpoint_pool",
    "sglang.srt.utils.invariants",
)
MEMORY = types.SimpleNamespace(mamba=types.SimpleNamespace(mamba_max_states_per_path=-1, enable_mamba_extra_buffer_lazy=False))
CHUNK = 8  # SGLang's mamba_cache_chunk_size


def load(folder, release):
    """Puts the unpacked wheel on the path, with what a hybrid model's cache needs of it."""
    sglang_wheel.REAL = (*sglang_wheel.REAL, *REAL)
    sglang_wheel.load(folder, release)
    import torch

    def off(name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: False

    for name in ("sglang.srt.utils", "sglang.srt.utils.common"):
        sys.modules[name].__getattr__ = off
    sys.modules["sglang.srt.utils.common"].async_h2d = lambda values, dtype, device: torch.tensor(values, dtype=dtype)
    for name in (M + "allocator.swa", M + "allocator.page_interleave"):
        sys.modules.pop(name, None)
    context = sys.modules["sglang.srt.runtime_context"]
    context.get_exec = lambda: MEMORY
    context.mamba_cache_chunk_size = lambda: CHUNK
    context.mamba_checkpoint_grid = lambda page: max(CHUNK, page)
    return torch


def kv_info(folder):
    """ReqKvInfo, without the rest of its module."""
    from sglang.srt.mem_cache.unified_cache.component_type import ComponentType

    text = open(f"{folder}/sglang/srt/managers/schedule_batch.py").read()
    found = next(node for node in ast.parse(text).body if getattr(node, "name", "") == "ReqKvInfo")
    lines = text.split("\n")[found.decorator_list[0].lineno - 1 : found.end_lineno]
    names = {"dataclasses": dataclasses, "ComponentType": ComponentType, "__name__": __name__,
             "ceil_align": lambda value, to: -(-value // to) * to}
    exec("from __future__ import annotations\n" + "\n".join(lines), names)
    return names["ReqKvInfo"]


class Request:
    """As much of SGLang's Req as a hybrid model's cache looks at."""

    def __init__(self, kv, rid, tokens, row, space, priority):
        self.rid, self.origin_input_ids, self.output_ids = rid, array("q", tokens), array("q")
        self.full_untruncated_fill_ids = self.origin_input_ids
        self.extra_key, self.cache_salt = space
        self.priority, self.session_id, self.kv_rotation_base = priority, None, None
        self.lock = self.last_node = self.swa_branching_seqlen = self.mamba_branching_seqlen = None
        self.kv = kv(req_pool_idx=row)
        self.done, self.decoded, self.computed = False, 0, 0  # computed: SGLang's extend_end

    def finished(self):
        return self.done

    def get_fill_ids(self):
        return self.full_untruncated_fill_ids[: self.computed]


def allocator_of(torch, full, window, page):
    """The wheel's allocator of one pool, or of two with a mapping."""
    from sglang.srt.mem_cache.allocator.paged import PagedTokenToKVPoolAllocator
    from sglang.srt.mem_cache.allocator.swa import SWATokenToKVPoolAllocator
    from sglang.srt.mem_cache.allocator.token import TokenToKVPoolAllocator
    from sglang.srt.mem_cache.base_swa_memory_pool import BaseSWAKVPool

    class Pool(BaseSWAKVPool):
        def __init__(self):
            pass

        def register_mapping(self, mapping):
            self.full_to_swa_index_mapping = mapping

        def translate_loc_from_full_to_swa(self, slots):
            return self.full_to_swa_index_mapping[slots]

    Pool.__abstractmethods__ = frozenset()

    def one(size):
        if page == 1:
            return TokenToKVPoolAllocator(size, torch.int64, "cpu", None, False)
        return PagedTokenToKVPoolAllocator(size, page, torch.int64, "cpu", None, False)

    if not window:
        return one(full)

    class Both(SWATokenToKVPoolAllocator):
        def __init__(self):
            self._size_full, self._size_swa, self.dtype, self.device, self.page_size = full, window, torch.int64, "cpu", page
            self.full_attn_allocator, self.swa_attn_allocator = one(full), one(window)
            self.full_attn_allocator.debug_mode = self.swa_attn_allocator.debug_mode = True
            self.full_to_swa_index_mapping = torch.cat([torch.zeros(full + page, dtype=torch.int64), torch.tensor([-1])])
            self.need_sort, self._kvcache, self._swa_req_ring = False, Pool(), False
            self.clear()
            self._kvcache.register_mapping(self.full_to_swa_index_mapping)

        def alloc(self, tokens):
            if tokens > min(self.full_available_size(), self.swa_available_size()):
                return None
            slots = self.full_attn_allocator.alloc(tokens)
            self.set_full_to_swa_mapping(slots, self.swa_attn_allocator.alloc(tokens))
            return slots

    return Both()


def rows_of(torch, rows, width, states, buffers):
    """Rows of slots, and slots of states if there are any. buffers: SGLang's mamba_extra_buffer."""
    from sglang.srt.mem_cache.allocator.mamba import MambaSlotAllocator
    from sglang.srt.mem_cache.memory_pool import HybridReqToTokenPool

    class Rows(HybridReqToTokenPool):
        def __init__(self):
            self.req_to_token = torch.zeros((rows, width), dtype=torch.int32)
            self.device = "cpu"
            if not states:
                return
            self.mamba_allocator = MambaSlotAllocator(states, "cpu")
            self.mamba_pool = types.SimpleNamespace(replayssm_write_pos=None, copy_from=lambda source, to: None)
            self.mamba_ckpt_pool, self.enable_mamba_extra_buffer = None, buffers
            self.enable_mamba_extra_buffer_lazy = False
            self.mamba_ping_pong_track_buffer_size = self.mamba_initial_tracking_slots = 2
            self.req_index_to_mamba_ping_pong_track_buffer_mapping = torch.zeros((rows, 2), dtype=torch.int64)

        def write(self, at, values):
            self.req_to_token[at] = values.to(torch.int32)

    return Rows()
