"""Offloading specs for vLLM on a machine without a GPU: its own managers and tiers, and a worker that copies with torch.

vLLM's own worker needs CUDA. HostSpec and HostTieringSpec are named in the connector's options by `spec_name` and
`spec_module_path`; all else is vLLM's.

CANOPY_FORGET=1 plants a fault: chunks come back empty. A check that compares answers must notice it.
"""
import os
import time

import torch
from vllm.v1.kv_offload.base import OffloadingWorker, TransferResult
from vllm.v1.kv_offload.cpu.shared_offload_region import SharedOffloadRegion
from vllm.v1.kv_offload.cpu.spec import CPUOffloadingSpec
from vllm.v1.kv_offload.tiering.spec import TieringOffloadingSpec


class HostWorker(OffloadingWorker):
    """Copies blocks between the server's pool, which is on the CPU here, and the rows of the CPU tier."""

    def __init__(self, caches, blocks_per_chunk, chunks, region=None):
        self.blocks_per_chunk, self.region, self.finished = blocks_per_chunk, region, []
        self.pools, self.rows = [], []
        for cache in caches.tensors:
            self.pools.append(cache.tensor.view(torch.int8).view(-1, cache.page_size_bytes))
            width = cache.page_size_bytes * blocks_per_chunk
            self.rows.append(torch.zeros((chunks, width), dtype=torch.int8) if region is None
                             else region.create_next_worker_view(width))
        self.tensors = [sorted({ref.tensor_idx for ref in refs}) for refs in caches.group_data_refs]

    def places(self, blocks, chunks):
        """Yields (group, block, chunk, place of the block in the chunk)."""
        at = first_chunk = 0
        for group, size in enumerate(blocks.group_sizes):
            skip = blocks.block_indices[group] % self.blocks_per_chunk
            for number, block in enumerate(blocks.block_ids[at : at + size].tolist(), skip):
                chunk, place = divmod(number, self.blocks_per_chunk)
                yield group, block, int(chunks.block_ids[first_chunk + chunk]), place
            at += size
            first_chunk += -(-(skip + size) // self.blocks_per_chunk) if size else 0

    def copy(self, job, blocks, chunks, store):
        start, moved = time.perf_counter(), 0
        for group, block, chunk, place in self.places(blocks, chunks):
            for tensor in self.tensors[group]:
                above = self.pools[tensor][block]
                below = self.rows[tensor][chunk, place * len(above) : (place + 1) * len(above)]
                below.copy_(above) if store else above.copy_(below)
                if not store and os.environ.get("CANOPY_FORGET"):
                    above.zero_()
                moved += len(above)
        self.finished.append(TransferResult(job, True, moved, time.perf_counter() - start))
        return True

    def submit_store(self, job_id, src_spec, dst_spec):
        return self.copy(job_id, src_spec, dst_spec, True)

    def submit_load(self, job_id, src_spec, dst_spec, expedited=False):
        return self.copy(job_id, dst_spec, src_spec, False)

    def get_finished(self):
        finished, self.finished = self.finished, []
        return finished

    def wait(self, job_ids):
        pass

    def shutdown(self):
        if self.region is not None:
            self.pools = self.rows = None
            self.region.cleanup()


class HostSpec(CPUOffloadingSpec):
    def get_worker(self, kv_caches):
        if not self._worker:
            self._worker = HostWorker(kv_caches, self.blocks_per_chunk, self.num_chunks)
        return self._worker


class HostTieringSpec(TieringOffloadingSpec):
    def get_worker(self, kv_caches):
        if not self._worker:
            region = SharedOffloadRegion(
                engine_id=self._engine_id, num_chunks=self.num_chunks, rank=0, kv_bytes_per_chunk=self.kv_bytes_per_chunk,
                cpu_page_size=self.cpu_page_size_per_worker)
            self._worker = HostWorker(kv_caches, self.blocks_per_chunk, self.num_chunks, region)
        return self._worker
