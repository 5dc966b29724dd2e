"""When vLLM's own prefix cache gets Canopy's order, when its own, and what an error costs. Beside vLLM itself:
tests/peers/vllm_device_*.py."""
import sys
import types

import canopy
import pytest
from canopy import _core
from canopy.engines import vllm as backend

PAGE = 16


class KVCacheBlock:
    __slots__ = ("block_id", "_block_hash", "ref_cnt", "is_null")

    def __init__(self, block_id):
        self.block_id, self._block_hash, self.ref_cnt, self.is_null = block_id, None, 0, False

    @property
    def block_hash(self):
        return self._block_hash


class FreeKVCacheBlockQueue:
    """The interface of vLLM 0.31 to 0.33, with a list."""

    def __init__(self, blocks):
        self.blocks = list(blocks)

    @property
    def num_free_blocks(self):
        return len(self.blocks)

    def popleft(self):
        return self.blocks.pop(0)

    def popleft_n(self, n):
        return [self.blocks.pop(0) for _ in range(n)]

    def remove(self, block):
        self.blocks.remove(block)

    def append(self, block):
        self.blocks.append(block)

    def append_n(self, blocks):
        self.blocks += blocks

    def prepend_n(self, blocks):
        self.blocks[:0] = blocks

    def get_all_free_blocks(self):
        return list(self.blocks)

    def iter_blocks_after(self, cursor): ...


class BlockPool:
    hash_block_size = PAGE

    def __init__(self, count):
        self.num_gpu_blocks, self.blocks = count, [KVCacheBlock(number) for number in range(count)]
        self.free_block_queue = FreeKVCacheBlockQueue(self.blocks)
        self.null_block = self.free_block_queue.popleft()
        self.null_block.is_null = True
        self.cached = {}

    def free_blocks(self, blocks):
        for block in blocks:
            block.ref_cnt -= 1
        free = [block for block in blocks if block.ref_cnt == 0]
        self.free_block_queue.prepend_n([block for block in free if block.block_hash is None])
        self.free_block_queue.append_n([block for block in free if block.block_hash is not None])


class FullAttentionManager:
    block_size = PAGE

    def __init__(self, pool, group=0):
        self.block_pool, self.kv_cache_group_id, self.req_to_blocks = pool, group, {}


class KVCacheManager:
    """As much of vLLM's as these tests need: prompts of whole blocks, of which all are hit that are there."""

    enable_caching = True

    def __init__(self, *pools):
        managers = [FullAttentionManager(pool, number) for number, pool in enumerate(pools)]
        self.coordinator = types.SimpleNamespace(single_type_managers=managers)

    def get_computed_blocks(self, request, max_cache_hit_length=None):
        pool, found = self.coordinator.single_type_managers[0].block_pool, []
        for name in request.block_hashes:
            if name not in pool.cached:
                break
            found.append(pool.cached[name])
        return found, len(found) * PAGE, 0

    def get_computed_blocks_for_connector(self, request, max_cache_hit_length=None):
        return (*self.get_computed_blocks(request), False)

    def allocate_slots(self, request, found):
        for manager in self.coordinator.single_type_managers:
            pool = manager.block_pool
            for block in found:
                if block.ref_cnt == 0:
                    pool.free_block_queue.remove(block)
            new = pool.free_block_queue.popleft_n(len(request.block_hashes) - len(found))
            for block in new:
                pool.cached.pop((block._block_hash or b"")[:-4], None)
            table = [*found, *new]
            for name, block in zip(request.block_hashes, table):
                block._block_hash, block.ref_cnt = name + manager.kv_cache_group_id.to_bytes(4, "big"), block.ref_cnt + 1
                pool.cached.setdefault(name, block)
            manager.req_to_blocks[request.request_id] = table

    def free(self, request):
        for manager in self.coordinator.single_type_managers:
            manager.block_pool.free_blocks(manager.req_to_blocks.pop(request.request_id, [])[::-1])

    def pop_blocks_for_free(self, request):
        return [block for one in self.coordinator.single_type_managers for block in one.req_to_blocks.pop(request.request_id, ())]

    def reset_prefix_cache(self):
        for manager in self.coordinator.single_type_managers:
            for block in manager.block_pool.blocks:
                block._block_hash = None
            manager.block_pool.cached.clear()
        return True


class Request:
    def __init__(self, name, words):
        self.request_id, self.block_hashes = name, [f"{words[:at + 1]}".encode().ljust(32, b"-") for at in range(len(words))]
        self.num_prompt_tokens = self.num_tokens = len(words) * PAGE
        self.done, self.status = False, types.SimpleNamespace(name="RUNNING")

    def is_finished(self):
        return self.done


class Scheduler:
    """vLLM's own."""

    def __init__(self, vllm_config, log_stats):
        self.kv_cache_manager, self.log_stats = KVCacheManager(*vllm_config.pools), log_stats


class AsyncScheduler(Scheduler):
    pass


class SchedulerConfig:
    scheduler_cls, async_scheduling = "canopy.engines.vllm.scheduler", True

    def get_scheduler_cls(self):
        assert self.scheduler_cls is None
        return AsyncScheduler if self.async_scheduling else Scheduler


def config(**more):
    return types.SimpleNamespace(**{"scheduler_config": SchedulerConfig(), "additional_config": {}, "pools": [BlockPool(9)],
                                    "kv_transfer_config": None, "diffusion_config": None} | more)


@pytest.fixture
def vllm(monkeypatch):
    """A vLLM that only has what is imported here."""
    names = ("vllm", "vllm._version", "vllm.v1", "vllm.v1.core", "vllm.v1.core.kv_cache_utils", "vllm.v1.core.kv_cache_manager",
             "vllm.v1.core.sched", "vllm.v1.core.sched.diffusion_scheduler")
    for name in names:
        module = types.ModuleType(name)
        module.__path__ = []
        monkeypatch.setitem(sys.modules, name, module)
    sys.modules["vllm._version"].__version__ = "0.33.0"
    utils = sys.modules["vllm.v1.core.kv_cache_utils"]
    utils.FreeKVCacheBlockQueue, utils.KVCacheBlock = FreeKVCacheBlockQueue, KVCacheBlock
    sys.modules["vllm.v1.core.kv_cache_manager"].KVCacheManager = KVCacheManager
    sys.modules["vllm.v1.core.sched.diffusion_scheduler"].DiffusionAsyncScheduler = Scheduler
    monkeypatch.delitem(sys.modules, "canopy.engines.vllm_device", raising=False)
    for name in ("CANOPY_POLICY", "CANOPY_FEED", "CANOPY_STRICT", "CANOPY_ANY_RELEASE"):
        monkeypatch.delenv(name, raising=False)
    yield types.SimpleNamespace(version=sys.modules["vllm._version"], utils=utils)
    sys.modules.pop("canopy.engines.vllm_device", None)


def started(**more):
    """Returns the manager of a server that was started with the flag, and its pools."""
    given = config(**more)
    return backend.scheduler(vllm_config=given, log_stats=True).kv_cache_manager, given.pools


def run(manager, name, words, end=True):
    request = Request(name, words)
    found, *_ = manager.get_computed_blocks(request)
    manager.allocate_slots(request, found)
    if end:
        request.done = True
        manager.free(request)
    return request


def test_the_flag_makes_vllms_own_scheduler_and_puts_its_cache_in_the_order_of_a_policy(vllm, caplog):
    given = config()
    with caplog.at_level("INFO", logger="vllm.canopy"):
        made = backend.scheduler(vllm_config=given, log_stats=True)
    assert type(made) is AsyncScheduler and made.log_stats and given.scheduler_config.scheduler_cls.startswith("canopy")
    queue = given.pools[0].free_block_queue
    assert isinstance(queue, _core.BlockQueue) and queue.policy == "hazard" and queue.num_free_blocks == 8
    assert "vLLM's own prefix cache of 8 blocks evicts in the order of hazard (vLLM 0.33.0)" in caplog.text


@pytest.mark.parametrize("given, environment, policy", [
    ("lfu", None, "lfu"), ("canopy:lru", "lfu", "lru"), (None, "s3_fifo", "s3_fifo"), ("canopy", "lfu", "lfu"),
    ('{"slru": {"protect_after": 3}}', None, "slru"), ('canopy:{"slru": {"protect_after": 3}}', None, "slru"),
    ({"slru": {"protect_after": 3}}, None, "slru"), ("", "lfu", "lfu"),
    ("test_vllm_device:Mine", None, "Mine"),
])
def test_the_name_of_the_policy(vllm, monkeypatch, given, environment, policy):
    if environment:
        monkeypatch.setenv("CANOPY_POLICY", environment)
    extra = {} if given is None else {"canopy": given}
    assert started(additional_config=extra)[1][0].free_block_queue.policy == policy


class Other:
    """A pool of which nothing else is known."""

    free_block_queue = FreeKVCacheBlockQueue([])


class Mine(canopy.Policy):
    def rank(self, node):
        return node.last_access


@pytest.mark.parametrize("name, says", [
    ("hazrd", "no policy 'hazrd'"), ('canopy:{"slru": {"protect": 3}}', "protect"), ({"slru": {"protect": 3}}, "protect"), ({}, ""),
    (7, "'canopy' is 7; expected the name"), (["lru"], "'canopy' is ..lru..; expected the name"), (False, "'canopy' is False"),
])
def test_a_policy_that_there_is_not_ends_the_start(vllm, name, says):
    with pytest.raises(ValueError, match=says):
        started(additional_config={"canopy": name})


def connector(name, **extra):
    return types.SimpleNamespace(kv_connector=name, kv_connector_extra_config=extra)


LAZY = {"kv_connector": "SimpleCPUOffloadConnector", "kv_connector_extra_config": {"lazy_offload": True}}


@pytest.mark.parametrize("more, says", [
    ({"kv_transfer_config": connector("SimpleCPUOffloadConnector", lazy_offload=True)}, "a lazy SimpleCPUOffloadConnector"),
    ({"kv_transfer_config": connector("MultiConnector", connectors=[LAZY])}, "a lazy SimpleCPUOffloadConnector"),
    ({"diffusion_config": object()}, "a diffusion model was not tested"),
    ({"pools": [Other()]}, "AttributeError"),
])
def test_what_is_not_known_to_work_keeps_vllms_own_order(vllm, monkeypatch, caplog, more, says):
    _, (pool,) = started(**more)
    assert isinstance(pool.free_block_queue, FreeKVCacheBlockQueue)
    assert says in caplog.text and "vLLM's own prefix cache evicts in vLLM's own order" in caplog.text
    monkeypatch.setenv("CANOPY_STRICT", "1")
    with pytest.raises(RuntimeError, match="CANOPY_STRICT=1 forbids vLLM's own order"):
        started(**more)


def test_another_connector_is_served(vllm):
    _, (pool,) = started(kv_transfer_config=connector("SimpleCPUOffloadConnector", lazy_offload=False))
    assert isinstance(pool.free_block_queue, _core.BlockQueue)


def test_without_prefix_caching_nothing_is_replaced(vllm, monkeypatch, caplog):
    monkeypatch.setattr(KVCacheManager, "enable_caching", False)
    assert isinstance(started()[1][0].free_block_queue, FreeKVCacheBlockQueue) and "prefix caching is off" in caplog.text


def test_an_unknown_release_keeps_vllms_own_order(vllm, monkeypatch, caplog):
    vllm.version.__version__ = "0.99.0"
    assert isinstance(started()[1][0].free_block_queue, FreeKVCacheBlockQueue)
    assert "0.99.0 is not a release that this package was tested with" in caplog.text
    monkeypatch.setenv("CANOPY_ANY_RELEASE", "1")
    assert isinstance(started()[1][0].free_block_queue, _core.BlockQueue)


@pytest.mark.parametrize("owner, name", [
    (FreeKVCacheBlockQueue, "append_n"), (FreeKVCacheBlockQueue, "a_new_one"), (KVCacheManager, "free"),
])
def test_another_interface_keeps_vllms_own_order(vllm, monkeypatch, caplog, owner, name):
    def other(self, blocks, more): ...

    monkeypatch.setattr(owner, name, other, raising=False)
    assert isinstance(started()[1][0].free_block_queue, FreeKVCacheBlockQueue)
    assert f"the prefix cache of vLLM 0.33.0 has another interface ({name})" in caplog.text


def test_a_policy_learns_begin_hits_preemption_and_end(vllm, monkeypatch):
    seen, lengths = [], []

    class Learns(canopy.Policy):
        def rank(self, node):
            return node.last_access

        def arrived(self, request):
            seen.append(("arrived", request.id))

        def ended(self, request, path):
            seen.append((request.ending, request.id, request.matched // PAGE, [node.hits for node in path]))
            lengths.append((request.prompt // PAGE, request.output))

    module = types.ModuleType("learns")
    module.Mine = Learns
    monkeypatch.setitem(sys.modules, "learns", module)
    manager, _ = started(additional_config={"canopy": "learns:Mine"})
    run(manager, "a", "xyz")
    second = run(manager, "b", "xyw", end=False)
    manager.free(second)  # preempted
    manager.get_computed_blocks(second), manager.get_computed_blocks(second)  # looked up twice, since there was no room
    found, *_ = manager.get_computed_blocks(second)
    manager.allocate_slots(second, found)
    second.done = True
    second.num_tokens += 7  # its answer
    manager.free(second)
    waiting = Request("c", "q")
    manager.get_computed_blocks(waiting)
    waiting.done, waiting.status.name = True, "FINISHED_ABORTED"
    manager.free(waiting)  # its client went away before it ran
    assert [one[0] for one in seen] == ["arrived", "finished", "arrived", "retracted", "arrived", "finished", "arrived", "aborted"]
    assert seen[1][2:] == (0, [0, 0, 0]) and seen[3][2] == 2 and seen[5][2] == 3 and seen[2][1] == seen[4][1] == seen[5][1]
    assert seen[7][2:] == (0, []) and lengths == [(3, 0), (3, 0), (3, 7), (1, 0)]


def test_the_order_is_the_policys(vllm):
    manager, (pool,) = started(additional_config={"canopy": "canopy:lru"})
    run(manager, "a", "xyz"), run(manager, "b", "pq")
    run(manager, "c", "xy")  # newer than "pq" now; z is the oldest
    assert [block.block_id for block in pool.free_block_queue.popleft_n(8)] == [6, 7, 8, 3, 5, 4, 2, 1]


def test_blocks_that_are_freed_later_keep_their_path(vllm):
    manager, (pool,) = started()
    request = run(manager, "a", "xyz", end=False)
    request.done = True
    blocks = manager.pop_blocks_for_free(request)
    assert pool.free_block_queue.facts()["nodes"] == 3 and pool.free_block_queue.num_free_blocks == 5
    pool.free_blocks(blocks[::-1])
    assert [block.block_id for block in pool.free_block_queue.popleft_n(8)] == [4, 5, 6, 7, 8, 3, 2, 1]


def test_a_reset_makes_all_blocks_spare(vllm):
    manager, (pool,) = started()
    run(manager, "a", "xyz")
    assert pool.free_block_queue.facts()["nodes"] == 3
    assert manager.reset_prefix_cache() and pool.free_block_queue.facts()["spare"] == 8


def test_each_pool_has_a_queue(vllm):
    manager, pools = started(pools=[BlockPool(6), BlockPool(9)])
    run(manager, "a", "xyz")
    assert [pool.free_block_queue.facts() for pool in pools] == [
        {"blocks": 6, "free": 5, "spare": 2, "nodes": 3, "movable": 3},
        {"blocks": 9, "free": 8, "spare": 5, "nodes": 3, "movable": 3}]


@pytest.mark.parametrize("fault", ["queue", "begin", "end"])
def test_after_an_error_vllms_own_queue_has_the_free_blocks(vllm, monkeypatch, caplog, fault):
    manager, (pool,) = started()
    run(manager, "a", "xyz")
    running = run(manager, "b", "pq", end=False)
    if fault == "queue":
        pool.free_block_queue.append_n([pool.blocks[1]])  # it is free already
        pool.free_block_queue.blocks.pop()
    elif fault == "begin":
        monkeypatch.setattr(Request, "num_prompt_tokens", property(lambda self: 1 / 0, lambda self, value: None), raising=False)
        run(manager, "c", "r", end=False)
    else:
        running.block_hashes = None
        running.done = True
        manager.free(running)
    queue = pool.free_block_queue
    assert isinstance(queue, FreeKVCacheBlockQueue)
    assert "from now on vLLM's own prefix cache evicts in vLLM's own order" in caplog.text
    free = {block.block_id for block in pool.blocks if block.ref_cnt == 0 and not block.is_null}
    assert {block.block_id for block in queue.blocks} == free and len(queue.blocks) == len(free)
    assert "free" not in vars(manager)
    run(manager, "d", "xyz")  # vLLM goes on alone


def test_the_feed_of_the_device_has_a_name_of_its_own(vllm, monkeypatch):
    monkeypatch.setenv("CANOPY_FEED", "canopy-test-device")
    manager, _ = started()
    run(manager, "a", "xyz")
    assert "canopy-test-device-gpu" in canopy.Feed.names()
