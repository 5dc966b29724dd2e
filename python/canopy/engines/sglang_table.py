"""The prefix cache for SGLang if slots are on a GPU: nothing is copied back, and nothing waits for the device.

The index uses numbers of its own, one for each page, dense and recycled on the host. A tensor on the device, the table,
contains the first slot of the page for each number. A checkpoint writes the table from the request's row; a match reads it
with one gather. All of this is queued on the device after the work that is already queued.
"""

from __future__ import annotations

import torch

from .. import Added, _core
from .sglang_cache import CanopyRadixCache, tensor_of


class CanopyTableCache(CanopyRadixCache):
    """A CanopyRadixCache with the same results that keeps slots on the device."""

    slots_a_page = 1

    def __init__(self, params, settings):
        super().__init__(params, settings)
        # Each number stands for a page of the pool, so there are never more numbers than pages.
        self._pages = self.token_to_kv_pool_allocator.size // self.page_size
        self._table = self._new_table(self._pages + 1)
        self._within = torch.arange(self.page_size, device=self._table.device)
        self._free = list(range(self._pages, 0, -1))

    def _new_table(self, entries: int) -> torch.Tensor:
        return torch.zeros(entries, dtype=torch.int64, device=self.device)

    def reset(self) -> None:
        super().reset()
        self._free = list(range(self._pages, 0, -1))

    def _upload(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers.to(self._table.device, non_blocking=True)

    def _on_device(self, numbers: _core.SlotBuffer) -> torch.Tensor:
        first = self._table[self._upload(tensor_of(numbers))]
        return (first[:, None] + self._within).flatten() if self.page_size > 1 else first

    def _page_ids(self, numbers: _core.SlotBuffer) -> torch.Tensor:
        return self._table[self._upload(tensor_of(numbers))] // self.page_size

    def _brought(self, row: int, start: int, end: int):
        return self._numbers_of(self.req_to_token_pool.req_to_token[row, start:end])

    def _numbers_of(self, slots: torch.Tensor):
        count = len(slots) // self.page_size
        if count > len(self._free):
            raise RuntimeError(f"{count} pages were brought, and there are numbers for {len(self._free)} more")
        rest = len(self._free) - count
        taken = self._free[rest:]
        del self._free[rest:]
        numbers = torch.tensor(taken, dtype=torch.int64)
        self._table[self._upload(numbers)] = slots[:: self.page_size].to(torch.int64)
        return numbers.numpy()

    def _taken(self, added: Added, brought, end: int) -> None:
        beyond = (end - added.length) // self.page_size  # pages for which the index had no memory
        self._free += added.spare.tolist()
        self._free += brought[max(len(brought) - beyond, 0) :].tolist()

    def _untaken(self, brought) -> None:
        self._free += brought.tolist()

    def _left(self, numbers: _core.SlotBuffer) -> None:
        self._free += memoryview(numbers)
