"""A tier below vLLM's CPU tier: records on a disk of this machine (`slots`) or on a server (`redis`), each checked when it is
read. It needs vLLM, so only vllm.tier_class() imports it. In the connector's options, beside the CPU tier's:

    "spec_name": "TieringOffloadingSpec",
    "secondary_tiers": [{"type": "CanopyTier", "module_path": "canopy.engines.vllm",
                         "storage": {"slots": {"path": "/var/tmp/canopy", "capacity": "100GiB"}}}]

The contract is SecondaryTierManager of vLLM 0.32 and 0.33: lookups, stores and loads are begun by the scheduler, and their
results are polled. Bytes are moved by a thread in C++ (canopy._core.ChunkStorage). A storage that is full, damaged, stopped or
out of reach costs hits, not answers: what it does not have is computed. An error here is logged once, and the tier is empty
from then on.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, Collection, Iterable

from vllm.v1.kv_offload.base import Locality, LookupResult, Medium, OffloadingEvent, RequestOffloadingContext
from vllm.v1.kv_offload.file_mapper import FileMapper
from vllm.v1.kv_offload.tiering.async_lookup import AsyncLookupManager
from vllm.v1.kv_offload.tiering.base import JobResult, SecondaryTierManager

from .. import _core
from .storages import LIMIT, STAGING, Troubles, in_folder, text_of
from .vllm import logger, release
from .vllm_callers import facts_of_model

if TYPE_CHECKING:
    from vllm.v1.kv_offload.base import OffloadingSpec, OffloadKey, ReqContext
    from vllm.v1.kv_offload.tiering.base import TransferJob


class Lookups(AsyncLookupManager):
    """Calls the storage in a thread of vLLM's, once for all keys of a step."""

    def __init__(self, tier: CanopyTier) -> None:
        self._tier = tier
        super().__init__(tier.tier_type)

    def batch_lookup(self, keys: list[OffloadKey], req_context: ReqContext) -> Iterable[bool]:
        return self._tier.have(keys)


class CanopyTier(SecondaryTierManager):
    medium: ClassVar[Medium] = Medium.STORAGE

    def __init__(
        self,
        offloading_spec: OffloadingSpec,
        primary_kv_view: memoryview,
        tier_type: str,
        storage: dict[str, Any],
        staging_bytes: int = STAGING,
        limit_s: float = LIMIT,
        meaning: str = "",
        locality: str | None = None,
        enable_kv_events: bool = False,
        backpressure_detector: Any = None,
    ) -> None:
        """storage: one storage with its options, as in an engine's file. staging_bytes: memory for records under way.
        limit_s: seconds after which a call of the storage is given up. meaning: a text of the server's own, such as the version of
        its weights: records with another one are never found."""
        super().__init__(offloading_spec, primary_kv_view, tier_type, backpressure_detector)
        _core.quiet_exit()
        self.locality = Locality(locality) if locality is not None else None
        events = enable_kv_events and offloading_spec.kv_events_config.enable_kv_cache_events
        self._events: list[OffloadingEvent] | None = [] if events else None
        self._jobs: dict[int, tuple[bool, list[OffloadKey]]] = {}
        self._failed: list[int] = []  # jobs that end without having begun
        self._core: _core.ChunkStorage | None = _core.ChunkStorage(
            in_folder(storage, folder_of(offloading_spec)), primary_kv_view, self.block_size_bytes,
            meaning_of(offloading_spec, self.block_size_bytes, meaning), int(staging_bytes), float(limit_s),
        )
        self._lookups = Lookups(self)
        self._troubles = Troubles(logger, "the tier below the CPU", "chunk")
        logger.info(
            "canopy: a tier below the CPU keeps chunks of %d bytes on %s (vLLM %s)",
            self.block_size_bytes, "".join(storage), release(),
        )

    def have(self, keys: list[OffloadKey]) -> list[bool]:
        """Returns which of the keys the storage has. Called by the thread of the lookups."""
        core = self._core  # it may be given up meanwhile
        return core.have(keys) if core is not None else [False] * len(keys)

    def lookup(self, key: OffloadKey, req_context: ReqContext) -> LookupResult:
        if self._core is None:
            return LookupResult.MISS
        found = self._lookups.lookup(key, req_context)
        return LookupResult.RETRY if found is None else LookupResult.HIT if found else LookupResult.MISS

    def submit_store(self, job_metadata: TransferJob) -> None:
        self._begin(job_metadata, False)

    def submit_load(self, job_metadata: TransferJob) -> None:
        self._begin(job_metadata, True)

    def _begin(self, job: TransferJob, load: bool) -> None:
        keys = list(job.keys)
        self._jobs[job.job_id] = load, keys
        try:
            if self._core is not None:
                return self._core.begin(job.job_id, load, keys, job.chunk_ids.tolist())
        except Exception as error:
            return self._give_up(error)  # every job has failed, this one as well
        self._failed.append(job.job_id)

    def get_finished_jobs(self) -> Iterable[JobResult]:
        results = []
        try:
            if self._core is not None:
                for one in self._core.ended():
                    results.append(self._ended(*one))
                self._troubles.look(self._core.figures())
        except Exception as error:
            self._give_up(error)
        failed, self._failed = self._failed, []
        for job in failed:
            load, keys = self._jobs.pop(job, (False, []))
            if load:
                self._lookups.mark_miss(keys)
            results.append(JobResult(job, False))
        return results

    def _ended(self, job: int, ok: bool, good: list[bool], seconds: float) -> JobResult:
        load, keys = self._jobs.pop(job)
        kept = [key for key, one in zip(keys, good) if one]
        if load and not ok:
            self._lookups.mark_miss([key for key, one in zip(keys, good) if not one])
        if not load and kept and self._events is not None:
            self._events.append(
                OffloadingEvent(keys=kept, medium=self.medium, removed=False, locality=self.locality)
            )
        return JobResult(
            job_id=job, success=ok, successful_keys=tuple(kept) if load and kept and not ok else None,
            transfer_time=seconds, transfer_bytes=len(kept) * self.block_size_bytes or None,
        )

    def take_events(self) -> Iterable[OffloadingEvent]:
        if not self._events:
            return ()
        events, self._events = self._events, []
        return events

    def touch(self, keys: Collection[OffloadKey], req_context: ReqContext) -> None:
        """The storage orders its records itself, by the loads."""

    def on_new_request(self, req_context: ReqContext) -> RequestOffloadingContext:
        return RequestOffloadingContext()

    def on_request_finished(self, req_context: ReqContext) -> None:
        self._lookups.cleanup(req_context.req_id)

    def on_schedule_end(self, context: Any) -> None:
        self._lookups.flush()

    def drain_jobs(self) -> None:
        try:
            if self._core is not None:
                self._core.drain()
        except Exception as error:
            self._give_up(error)

    def shutdown(self) -> None:
        core, self._core = self._core, None
        self._lookups.shutdown()
        if core is None:
            return
        try:
            figures = core.figures()
            core.close()
            logger.info("canopy: the tier below the CPU is closed: %s", text_of(figures))
        except Exception as error:
            logger.error("canopy: %s: %s; the tier below the CPU could not be closed", type(error).__name__, error)

    def figures(self) -> dict[str, Any]:
        """Returns counts of chunks: stored, known, loaded, absent, damaged, failed, refused; pauses; and the flaw of the
        last damaged record."""
        return self._core.figures() if self._core is not None else {}

    def _give_up(self, error: Exception) -> None:
        """Makes the tier empty. Jobs under way end first, so that nothing touches vLLM's memory afterwards."""
        logger.error("canopy: %s: %s; the tier below the CPU is empty from now on", type(error).__name__, error,
                     exc_info=error)
        core, self._core = self._core, None
        self._failed = list(self._jobs)
        try:
            if core is not None:
                core.close()
        except Exception as another:
            logger.error("canopy: %s: %s; its storage could not be closed", type(another).__name__, another)


def folder_of(spec: OffloadingSpec) -> str:
    """Returns the name of this data parallel replica; empty if it is the only one, or the first one of a model without experts."""
    parallel = spec.config.parallel
    # Each replica of a model without experts has size 1, and an index.
    several = parallel.data_parallel_size > 1 or parallel.data_parallel_index > 0
    return f"replica-{parallel.data_parallel_index}" if several else ""


def meaning_of(spec: OffloadingSpec, row_bytes: int, own: str) -> str:
    """Returns a text that says what the bytes of a chunk mean: the fields that vLLM's own tier of files goes by, those of the
    running engine that it does not, and a text of the server's options. Raises RuntimeError if they cannot be known."""
    mapper = FileMapper.from_offloading_spec(
        root_dir="", offloading_spec=spec, blocks_per_file=spec.blocks_per_chunk, parallel_agnostic=True
    )
    fields = mapper.get_run_config() | {"rank": mapper.rank, "row_bytes": row_bytes, "engine": facts_of_model(), "own": own}
    return "vLLM " + json.dumps(fields, sort_keys=True)
