"""Canopy as the tree core of SGLang's UnifiedRadixCache, for models with sliding windows or recurrent states.

Only sglang_hybrid.py imports it: it needs SGLang and torch. UnifiedRadixCache keeps what it does for such models: it allocates
and copies states, frees what is behind a window, and calls its core to find which prefix is there, what a lock holds, and what
leaves next. Here the answers are those of a GroupIndex. The index uses numbers of its own; a tensor on the device, the
table, has the slot of each number, so nothing is copied back and nothing waits for the device.
"""

from __future__ import annotations

import itertools
from array import array

import torch
from sglang.srt.mem_cache.base_prefix_cache import DecLockRefResult, IncLockRefResult, InsertResult, MatchResult
from sglang.srt.mem_cache.unified_cache.cache_action import (
    FreeComponentDeviceSlot,
    FreeDeviceKV,
    FreeDeviceKVFullOnly,
    RecoverSWAWithLockedFull,
)
from sglang.srt.mem_cache.unified_cache.component_type import ComponentType
from sglang.srt.mem_cache.unified_cache.unified_tree_core_interface import (
    DecSwaLockOnlyResult,
    EvictDeviceNextNodeResult,
    InsertStepResult,
    UnifiedTreeCoreInterface,
)

from .. import _core
from .sglang_cache import open_index, space_of, log_unfit, tensor_of
from .sglang_events import CoreEvents
from .sglang_settings import Settings

FULL, SWA, MAMBA = ComponentType.FULL, ComponentType.SWA, ComponentType.MAMBA
ROOT = 0


def refusal(name: str):
    def refuse(self, *_, **__):
        raise NotImplementedError(f"{name}: SGLang asked Canopy's tree core for what it does not have; start without "
                                  "--radix-cache-backend canopy")

    return refuse


# A core has some 80 functions, most of them for tiers below the device, which are refused when the server starts.
Refusing = type("Refusing", (UnifiedTreeCoreInterface,),
                {name: refusal(name) for name in UnifiedTreeCoreInterface.__abstractmethods__})


class Tables:
    """The slots that the numbers of the index stand for, in tensors on the device, one for each group."""

    def __init__(self, groups: int, page: int, device: torch.device):
        self.page, self.device = page, device
        self._first = [torch.zeros(1024, dtype=torch.int64, device=device) for _ in range(groups)]
        self._within = torch.arange(page, device=device)

    def numbers(self, buffer: _core.SlotBuffer) -> torch.Tensor:
        return tensor_of(buffer).to(self.device, non_blocking=True)

    def put(self, group: int, buffer: _core.SlotBuffer, first: torch.Tensor) -> None:
        """Sets the first slots of pages."""
        most = max(memoryview(buffer))
        have = self._first[group]
        if most >= len(have):
            self._first[group] = torch.cat([have, torch.zeros(max(most + 1 - len(have), len(have)), dtype=torch.int64,
                                                              device=self.device)])
        self._first[group][self.numbers(buffer)] = first

    def first(self, group: int, buffer: _core.SlotBuffer) -> torch.Tensor:
        return self._first[group][self.numbers(buffer)]

    def at(self, group: int, number: int) -> torch.Tensor | None:
        """Returns the first slot of one page, of shape (1,), without a copy to or from the device."""
        return self._first[group][number : number + 1].clone() if number else None

    def slots(self, group: int, buffer: _core.SlotBuffer) -> torch.Tensor:
        return self.expand(self.first(group, buffer))

    def expand(self, first: torch.Tensor) -> torch.Tensor:
        """Returns all slots of pages."""
        return (first[:, None] + self._within).flatten() if self.page > 1 else first


class CanopyTreeCore(Refusing):
    """The answers of a GroupIndex: group 0 is full attention, the others are the components in SGLang's order. A node id
    is the index's; a receipt has the number of a canopy.Hold in place of SGLang's boundary ids."""

    enable_hicache = enable_storage = enable_external_cache_linker = False
    is_write_back = has_swa_host_pool = is_host_memory_buffer_only = False
    write_through_threshold = 256

    def __init__(self, params, settings: Settings, max_states_per_path: int = -1, state_grid: int = 1):
        """max_states_per_path: SGLang's mamba_max_states_per_path, below 0: any number. state_grid: the multiple of tokens
        at which SGLang can take a state."""
        self.components = tuple(params.tree_components)
        self.page_size, self._grid = params.page_size, state_grid
        self.window = params.swa_retain_window
        self.is_eagle = params.is_eagle and MAMBA not in self.components
        allocator = params.token_to_kv_pool_allocator
        self.device = torch.device(getattr(allocator, "device", "cpu"))
        reaches = []
        for component in self.components[1:]:
            if component == SWA:
                reaches.append(_core.Reach("window", self.window, getattr(allocator, "size_swa", None)))
            else:
                most = max(max_states_per_path, 1) if max_states_per_path >= 0 else 0
                reaches.append(_core.Reach("state", 1, max_per_path=most))
        self.index, self.feed = open_index(
            _core.GroupIndex,
            self.page_size,
            settings.policy,
            reaches,
            getattr(allocator, "size_full", None) or getattr(allocator, "size", None),
            accounting=settings.accounting,
            overlap=int(self.is_eagle),
            changes=params.enable_kv_cache_events,
            feed=settings.feed,
        )
        self._group = {component: group for group, component in enumerate(self.components)}
        self._tables = Tables(len(self.components), self.page_size, self.device)
        self._none = torch.empty(0, dtype=torch.int64, device=self.device)
        self._wanted: dict[ComponentType, int] = {}
        self._holds: dict[int, _core.Hold] = {}
        self._tickets = itertools.count(1)
        self._fresh: _core.Hold | None = None  # hold of the last insert, until SGLang locks its node
        self.kv_events = CoreEvents(params, self.index)
        self._empty = MatchResult(0, ROOT, ROOT, ROOT, cache_actions=[])

    def reset(self) -> None:
        self.index.clear()
        self._holds.clear()
        self._fresh = None

    # ---- Matches and locks ----

    @property
    def empty_match_result(self) -> MatchResult:
        return self._empty

    def root_node_handle(self, extra_key=None) -> int:
        return ROOT

    def is_root(self, node_id: int) -> bool:
        return node_id == ROOT

    def is_backuped(self, node_id: int) -> bool:
        return False

    def match_prefix(self, params) -> MatchResult:
        self._fresh = None
        key = params.key
        try:
            length, node, full = self.index.find(key.token_ids, space=space_of(key), limit=key.limit)
        except _core.UnfitKey as why:
            log_unfit(f"UnfitKey: {why}")
            return self._empty
        grids = {SWA: self.page_size, MAMBA: self._grid}
        branching = {name: full // grid * grid for name, grid in grids.items()
                     if name in self._group and full // grid * grid > length}
        if not full:
            return self._empty
        return MatchResult(
            length, node, node, node,
            swa_branching_seqlen=branching.get(SWA),
            mamba_branching_seqlen=branching.get(MAMBA),
            full_kv_hit_length=full,
            cache_actions=[],
        )

    def collect_full_device_indices(self, from_node_id: int, until_node_id: int) -> torch.Tensor:
        if from_node_id == ROOT:
            return self._none
        numbers = self.index.path(from_node_id)
        if not len(numbers):
            raise RuntimeError("the prefix of this node was evicted between the match and the lock")
        return self._tables.slots(0, numbers)

    def is_full_device_evicted(self, node_id: int) -> bool:
        return node_id != ROOT and not len(self.index.path(node_id))

    def get_component_device_value(self, node_id: int, component: ComponentType):
        if node_id == ROOT or component not in self._group:
            return None
        numbers = self.index.path(node_id, self._group[component])
        if component != MAMBA:
            return self._tables.slots(self._group[component], numbers)
        return self._tables.at(self._group[MAMBA], memoryview(numbers)[-1]) if len(numbers) else None

    def set_component_device_value(self, node_id: int, component: ComponentType, value) -> None:
        """Does nothing for windows: an insert has noted already what a recovered window stands for."""
        if component != SWA:
            raise NotImplementedError(f"set_component_device_value of {component}")

    def component_has_host_value_only(self, node_id: int, component: ComponentType) -> bool:
        return False

    def inc_lock_ref(self, node_id: int, skip_lock_components=()) -> IncLockRefResult:
        result = IncLockRefResult(node_id=node_id, skipped_lock_components=tuple(skip_lock_components))
        if node_id == ROOT:
            return result
        hold, self._fresh = self._fresh, None
        if hold is None or hold.node != node_id:
            hold = self.index.hold_node(node_id)
        if hold is None:
            raise RuntimeError("the prefix of this node was evicted between the match and the lock")
        ticket = next(self._tickets)
        self._holds[ticket] = hold
        result.set_lock_uuid(FULL, ticket)
        if SWA in self._group:  # None: the lock reaches the root, and SGLang does not release its window early
            result.set_lock_uuid(SWA, ticket if hold.length >= self.window else None)
        self._relax(hold, result.skipped_lock_components)
        return result

    def dec_lock_ref(self, node_id: int, params, skip_swa: bool = False) -> DecLockRefResult:
        assert params.node_id == node_id, f"the receipt of node {params.node_id} was given for node {node_id}"
        if node_id == ROOT:
            return DecLockRefResult()
        ticket = params.component_lock_uuids[FULL]
        if FULL not in params.skipped_lock_components:
            self._holds.pop(ticket).release()
        else:
            self._relax(self._holds[ticket], set(self.components) - set(params.skipped_lock_components))
        return DecLockRefResult()

    def dec_swa_lock_only(self, node_id: int, params) -> DecSwaLockOnlyResult:
        if node_id != ROOT:
            self._relax(self._holds[params.component_lock_uuids[FULL]], self.components[1:])
        return DecSwaLockOnlyResult()

    def _relax(self, hold: _core.Hold, components) -> None:
        for component in components:
            self.index.relax(hold, self._group[component])

    # ---- Inserts ----

    def has_ongoing_insert(self) -> bool:
        return False

    def end_insert(self) -> list:
        return []

    def begin_insert(self, params) -> InsertStepResult:
        """Inserts in one step: the index has nothing that must wait for an action."""
        assert not params.track_adopted_ranges and params.rotation_base is None
        self._fresh = None
        key, value = params.key.maybe_to_bigram_view(self.is_eagle, params.value)
        page, units = self.page_size, len(key) // self.page_size * self.page_size
        if not units:
            return InsertStepResult(actions=[], result=InsertResult(0, mamba_exist=True, last_device_node=ROOT))
        mine = params.prev_prefix_len
        dead = -(-params.get_evicted_seqlen(SWA) // page) * page
        first = {FULL: mine, SWA: max(mine, dead), MAMBA: units - page}
        try:
            grown = self.index.insert(
                key.token_ids,
                [first[component] for component in self.components],
                space=space_of(key),
                priority=params.priority or 0,
                inserted=params.inserted_len,
                limit=key.limit,
            )
        except (_core.UnfitKey, MemoryError) as why:
            log_unfit(f"{type(why).__name__}: {why}")
            # SGLang's word for an insert that has kept nothing: all slots stay the request's own.
            return InsertStepResult(actions=[], result=InsertResult(0, rotation_tail_declined=True, mamba_exist=True))
        if grown.length < units:
            why = "the system has no memory for the index"
            if any(len(grown.taken(group)) for group in range(len(self.components))):
                raise MemoryError(f"canopy: {why}, which has taken a part of the windows or states")
            grown.hold.release()
            log_unfit(f"MemoryError: {why}")
            return InsertStepResult(actions=[], result=InsertResult(0, rotation_tail_declined=True, mamba_exist=True))
        self._fresh, had, actions = grown.hold, grown.had, []
        if had < units:
            self._tables.put(0, grown.taken(0), value[had:units:page])
        recovered = self._publish_window(grown, value, actions) if SWA in self._group else ()
        self._free_duplicates(value, mine, had, dead if SWA in self._group else 0, recovered, actions)
        state = self._group.get(MAMBA)
        if state and len(grown.evicted(state)):
            actions.append(FreeComponentDeviceSlot(
                indices=[self._tables.first(state, grown.evicted(state))], component_type=MAMBA))
        if state and len(grown.taken(state)):
            self._tables.put(state, grown.taken(state), params.mamba_value)
        branch = params.swa_branching_seqlen
        return InsertStepResult(actions=actions, result=InsertResult(
            had,
            total_len=units,
            last_device_node=grown.hold.node,
            mamba_exist=bool(state) and not len(grown.taken(state)),
            swa_branch_inserted=branch is not None and len(params.key) >= branch,
        ))

    def _publish_window(self, grown, value: torch.Tensor, actions: list) -> list[int]:
        """Notes the slots of window pages that the index took. Where full attention has pages of another request, these
        stay, and get the window of the ones that are freed. Returns the positions of such pages."""
        group, page = self._group[SWA], self.page_size
        at, taken = memoryview(grown.at(group)).tolist(), grown.taken(group)
        if not at:
            return at
        slots = value[self._tables.numbers(array("q", at)) * page]
        recovered = [position for position in at if position * page < grown.had]
        if recovered:
            path = memoryview(self.index.path(grown.hold.node))
            kept = self._tables.first(0, array("q", [path[i] for i in recovered]))
            actions.append(RecoverSWAWithLockedFull(
                grown.hold.node, self._tables.expand(kept), self._tables.expand(slots[: len(recovered)])))
            slots = torch.cat([kept, slots[len(recovered) :]])
        self._tables.put(group, taken, slots)
        return recovered

    def _free_duplicates(self, value, mine: int, had: int, dead: int, recovered, actions: list) -> None:
        """Frees the request's pages that the tree has: both pools, except where the window left before or was taken."""
        page = self.page_size
        if mine < min(dead, had):
            actions.append(FreeDeviceKVFullOnly([value[mine : min(dead, had)]]))
        start = max(mine, dead)
        for position in [*recovered, had // page]:  # the runs between recovered pages
            if start < position * page:
                actions.append(FreeDeviceKV([value[start : position * page]]))
            start = max(start, (position + 1) * page)

    # ---- Evictions ----

    def evict_device_start(self, component: ComponentType, request_cnt: int) -> None:
        self._fresh = None
        self._wanted[component] = request_cnt

    def evict_device_next_node(self, component: ComponentType, tracker) -> EvictDeviceNextNodeResult:
        result = EvictDeviceNextNodeResult()
        if tracker.get(component, 0) >= self._wanted[component]:
            return result
        for (name, group), numbers in zip(self._group.items(), self.index.evict(self._group[component])):
            if len(numbers):
                slots = self._tables.first(group, numbers) if name == MAMBA else self._tables.slots(group, numbers)
                result.device_frees[name].append(slots)
                result.tracker[name] = len(slots)
        result.made_progress = bool(result.tracker)
        return result

    def evict_device_end(self, component: ComponentType) -> None:
        del self._wanted[component]

    # ---- Sizes: tokens, and states ----

    def _size(self, component: ComponentType, which: int) -> int:
        if component not in self._group:
            return 0
        self._fresh = None
        size = self.index.sizes(self._group[component])[which]
        return size // self.page_size if component == MAMBA else size

    def component_evictable_size(self, component: ComponentType) -> int:
        return self._size(component, 0)

    def component_protected_size(self, component: ComponentType) -> int:
        return self._size(component, 1)

    def evictable_size(self) -> int:
        return self._size(FULL, 0)

    def protected_size(self) -> int:
        return self._size(FULL, 1)

    full_evictable_size, full_protected_size = evictable_size, protected_size

    def swa_evictable_size(self) -> int:
        return self._size(SWA, 0)

    def swa_protected_size(self) -> int:
        return self._size(SWA, 1)

    def mamba_evictable_size(self) -> int:
        return self._size(MAMBA, 0)

    def mamba_protected_size(self) -> int:
        return self._size(MAMBA, 1)

    def total_size(self) -> tuple[int, int]:
        sizes = [self._size(component, 0) + self._size(component, 1) for component in self.components]
        return sizes[0], sum(sizes[1:])

    def all_values_flatten(self) -> torch.Tensor:
        return self._tables.slots(0, self.index.all(0))

    def all_mamba_values_flatten(self) -> torch.Tensor:
        return self._tables.first(self._group[MAMBA], self.index.all(self._group[MAMBA]))

    # ---- For schedulers and people ----

    def dfs_weight_order(self, node_ids) -> list[int]:
        return self.index.weight_order(list(node_ids))

    def take_events(self) -> list:
        return self.kv_events.take()

    def sanity_check(self, ongoing_write_through, ongoing_load_back) -> None:
        held = [self._size(component, 1) for component in self.components]
        assert not any(held), f"an idle server has locks on {held} tokens"

    def pretty_print(self) -> None:
        print(self.index.tree())
