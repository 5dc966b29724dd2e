"""When vLLM gets Canopy's order, when its own, and what an error costs. Beside vLLM itself: tests/peers/vllm_*.py."""
import ctypes
import importlib
import logging
import os
import sys
import types
from abc import ABC

import canopy
import pytest
from canopy.engines import vllm as backend

from test_chunks import Context, path


class ReqContext(Context):
    def __init__(self, req_id, keys=()):
        super().__init__(keys)

    def get_offload_key_position(self, key):
        return self._offload_key_positions.get(key)


class ChunkStatus(ctypes.Structure):
    _fields_ = [("ref_cnt", ctypes.c_int32), ("chunk_id", ctypes.c_int64)]


class CachePolicy(ABC):
    """The interface of vLLM 0.33."""

    def __init__(self, cache_capacity):
        self.cache_capacity = cache_capacity

    def get(self, key): ...
    def insert(self, key, chunk, req_context): ...
    def remove(self, key): ...
    def touch(self, keys, req_context): ...
    def on_store_miss(self, keys, req_context): ...
    def on_request_access(self, keys, req_context): ...
    def on_request_finished(self, key_groups, insertion_only_keys, reused_keys, req_context): ...
    def evict(self, n, protected): ...
    def clear(self): ...
    def mark_evictable(self, key): ...
    def mark_non_evictable(self, key): ...


class LRUCachePolicy(CachePolicy):
    """Evicts what was inserted first, as far as these tests go."""

    def __init__(self, cache_capacity):
        super().__init__(cache_capacity)
        self.chunks, self.calls = {}, []

    def get(self, key):
        return self.chunks.get(key)

    def insert(self, key, chunk, req_context):
        self.chunks[key] = chunk

    def remove(self, key):
        del self.chunks[key]

    def touch(self, keys, req_context):
        self.calls.append("touch")

    def on_request_access(self, keys, req_context):
        self.calls.append("on_request_access")

    def on_request_finished(self, key_groups, insertion_only_keys, reused_keys, req_context):
        self.calls.append("on_request_finished")

    def evict(self, n, protected):
        idle = [key for key, chunk in self.chunks.items() if chunk.ref_cnt == 0 and key not in protected]
        return [(key, self.chunks.pop(key)) for key in idle[:n]] if len(idle) >= n else None

    def clear(self):
        self.chunks.clear()

    def mark_evictable(self, key):
        self.calls.append(("mark_evictable", key))

    def mark_non_evictable(self, key):
        self.calls.append(("mark_non_evictable", key))


PACKAGE = "vllm.v1.kv_offload"


@pytest.fixture
def vllm(monkeypatch):
    """A vLLM that only has what is imported here."""
    names = ("vllm", "vllm._version", "vllm.v1", PACKAGE, f"{PACKAGE}.base", f"{PACKAGE}.cpu", f"{PACKAGE}.cpu.policies",
             f"{PACKAGE}.cpu.policies.base", f"{PACKAGE}.cpu.policies.lru", f"{PACKAGE}.tiering", f"{PACKAGE}.tiering.base")
    for name in names:
        module = types.ModuleType(name)
        module.__path__ = []
        monkeypatch.setitem(sys.modules, name, module)
    sys.modules["vllm._version"].__version__ = "0.33.0+cpu"
    sys.modules[f"{PACKAGE}.base"].ReqContext = ReqContext
    base = sys.modules[f"{PACKAGE}.cpu.policies.base"]
    base.CachePolicy, base.ChunkStatus = CachePolicy, ChunkStatus
    sys.modules[f"{PACKAGE}.cpu.policies.lru"].LRUCachePolicy = LRUCachePolicy
    monkeypatch.delitem(sys.modules, "canopy.engines.vllm_policy", raising=False)
    for name in ("CANOPY_POLICY", "CANOPY_FEED", "CANOPY_STRICT", "CANOPY_ANY_RELEASE"):
        monkeypatch.delenv(name, raising=False)
    backend.policy_class.cache_clear(), backend.interface.cache_clear()
    yield types.SimpleNamespace(version=sys.modules["vllm._version"], base=base)
    backend.policy_class.cache_clear(), backend.interface.cache_clear()
    sys.modules.pop("canopy.engines.vllm_policy", None)


class Mine(canopy.Policy):
    def rank(self, node):
        return node.last_access


@pytest.mark.parametrize("name, policy", [
    ("hazard", "hazard"), ("lfu", "lfu"), ("canopy", "hazard"), ("canopy:lru", "lru"), ("test_vllm:Mine", "Mine"),
    ("canopy:test_vllm:Mine", "Mine"), ('canopy:{"slru": {"protect_after": 3}}', "slru"),
])
def test_the_name_of_the_policy(vllm, name, policy):
    made = getattr(backend, name)(cache_capacity=8)
    assert isinstance(made, CachePolicy) and made._core.policy == policy and made.cache_capacity == 8


@pytest.mark.parametrize("given, policy", [
    ("s3_fifo", "s3_fifo"),
    ("canopy:lru", "lru"),
    ('canopy:{"slru": {"protect_after": 3}}', "slru"),
])
def test_the_policy_from_the_environment(vllm, monkeypatch, given, policy):
    monkeypatch.setenv("CANOPY_POLICY", given)
    assert backend.canopy(8)._core.policy == policy


def test_a_name_that_there_is_not(vllm):
    with pytest.raises(AttributeError, match="no policy 'hazrd'; expected one of .*hazard.*MODULE:CLASS"):
        backend.hazrd
    assert not hasattr(backend, "__wrapped__")


def test_an_unknown_release_gets_vllms_own_order(vllm, monkeypatch, caplog):
    vllm.version.__version__ = "0.99.0"
    assert backend.hazard is LRUCachePolicy
    assert "0.99.0 is not a release that this package was tested with (0.31.0, 0.32.0, 0.33.0)" in caplog.text
    backend.policy_class.cache_clear()
    monkeypatch.setenv("CANOPY_STRICT", "1")
    with pytest.raises(RuntimeError, match="CANOPY_STRICT=1 forbids"):
        backend.hazard
    monkeypatch.setenv("CANOPY_ANY_RELEASE", "1")
    assert backend.hazard(4)._core.policy == "hazard"


def test_another_interface_gets_vllms_own_order(vllm, monkeypatch, caplog):
    class Other(CachePolicy):
        def insert(self, key, chunk, req_context, more): ...

    monkeypatch.setattr(vllm.base, "CachePolicy", type("CachePolicy", (), {**vars(CachePolicy), "insert": Other.insert}))
    monkeypatch.setenv("CANOPY_ANY_RELEASE", "1")
    assert backend.hazard is LRUCachePolicy
    assert "the cache policies of vLLM 0.33.0 have another interface" in caplog.text


def test_a_tier_of_an_unknown_release_is_refused(vllm):
    vllm.version.__version__ = "0.99.0"
    with pytest.raises(RuntimeError, match="0.99.0 is not a release .*; remove the tier of type CanopyTier"):
        backend.CanopyTier


class Broken:
    """Every call fails."""

    def __init__(self, chunks):
        self.chunks = chunks

    def __getattr__(self, name):
        raise RuntimeError("on purpose")


CALLS = {
    "insert": lambda policy, keys: policy.insert(path("new")[0], ChunkStatus(-1, 9), ReqContext("r")),
    "remove": lambda policy, keys: policy.remove(keys[0]),
    "touch": lambda policy, keys: policy.touch(keys, ReqContext("r")),
    "on_request_access": lambda policy, keys: policy.on_request_access(keys, ReqContext("r")),
    "on_request_finished": lambda policy, keys: policy.on_request_finished([keys], set(), set(keys), ReqContext("r")),
    "evict": lambda policy, keys: policy.evict(1, set()),
    "mark_evictable": lambda policy, keys: policy.mark_evictable(keys[0]),
    "mark_non_evictable": lambda policy, keys: policy.mark_non_evictable(keys[0]),
    "clear": lambda policy, keys: policy.clear(),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_error_is_logged_once_and_vllms_own_order_goes_on(vllm, caplog, name):
    policy = backend.hazard(8)
    keys = path("a", 1, 2)
    context = ReqContext("r", keys)
    policy.on_request_access(keys, context)
    for number, key in enumerate(keys):
        chunk = ChunkStatus(-1, number)
        policy.insert(key, chunk, context)
        chunk.ref_cnt = 0
        policy.mark_evictable(key)
    policy._core = Broken(policy._core.chunks)
    with caplog.at_level(logging.ERROR):
        answer = CALLS[name](policy, keys)
        CALLS["touch"](policy, keys)
        assert policy.get(keys[2]) is None if name == "clear" else policy.get(keys[2]).chunk_id == 2
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "vLLM's own order of lru (3 chunks stay)" in caplog.text and "on purpose" in caplog.text
    if name == "evict":
        assert [key for key, _ in answer] == [keys[0]]
    if name == "remove":
        assert policy.get(keys[0]) is None
    if name == "insert":
        assert policy.get(path("new")[0]).chunk_id == 9


def test_the_chunks_that_it_is_given_come_back(vllm):
    policy = getattr(backend, "canopy:lru")(2)
    keys = path("a", 1)
    context = ReqContext("r", keys)
    chunks = [ChunkStatus(-1, 0), ChunkStatus(-1, 1)]
    policy.on_store_miss(keys, context)
    for key, chunk in zip(keys, chunks):
        policy.insert(key, chunk)  # as 0.32 calls it
        chunk.ref_cnt = 0
        policy.mark_evictable(key)
    policy.on_request_finished([keys], set(keys), set(), context)
    assert policy.get(keys[0]) is chunks[0] and policy.get(b"x") is None
    assert policy.evict(3, set()) is None
    ((key, chunk),) = policy.evict(1, set())
    assert key == keys[1] and chunk is chunks[1] and policy.get(key) is None


def test_a_chunk_that_is_offered_again_has_the_position_of_its_own_request(vllm, caplog):
    policy = getattr(backend, "canopy:lru")(4)
    keys, other = path("a", 1), path("b")
    mine, theirs = ReqContext("mine", keys), ReqContext("theirs", other)
    policy.on_store_miss(keys, mine)  # 0.32 calls once; then there was no room
    policy.on_store_miss(other, theirs)
    policy.on_request_finished([other], set(), set(), theirs)
    for number, key in enumerate(keys):
        policy.insert(key, chunk := ChunkStatus(-1, number))
        chunk.ref_cnt = 0
        policy.mark_evictable(key)
    policy.insert(other[0], ChunkStatus(-1, 3))  # a key of no known request
    assert [key for key, _ in policy.evict(1, set())] == [keys[1]]  # it continues the other, which came first
    policy.on_request_finished([keys], set(keys), set(), mine)
    assert not policy._missed and policy.get(other[0]).chunk_id == 3
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.fixture
def tier(vllm, monkeypatch):
    """Our module of the tier, on a vLLM whose modules have anything."""

    class Anything(types.ModuleType):
        def __getattr__(self, name):
            return types.SimpleNamespace(STORAGE="storage") if name == "Medium" else type(name, (), {})

    for name in (f"{PACKAGE}.base", f"{PACKAGE}.file_mapper", f"{PACKAGE}.tiering.async_lookup", f"{PACKAGE}.tiering.base"):
        monkeypatch.setitem(sys.modules, name, Anything(name))
    sys.modules[f"{PACKAGE}.tiering.base"].JobResult = lambda job, success: (job, success)
    monkeypatch.delitem(sys.modules, "canopy.engines.vllm_tier", raising=False)
    yield importlib.import_module("canopy.engines.vllm_tier")
    sys.modules.pop("canopy.engines.vllm_tier")


def test_a_job_of_the_tier_below_that_cannot_begin_ends_once(tier, caplog):
    made = object.__new__(tier.CanopyTier)  # without a storage: its jobs begin in Canopy's own thread
    missed = []
    made._jobs, made._failed, made._lookups = {}, [], types.SimpleNamespace(mark_miss=missed.extend)

    def begin(number, *_):
        if number == 2:
            raise ValueError("on purpose")

    def job(number):
        return types.SimpleNamespace(job_id=number, keys=[b"k"], chunk_ids=types.SimpleNamespace(tolist=list))

    made._core = types.SimpleNamespace(begin=begin, close=lambda: None)
    with caplog.at_level(logging.ERROR):
        made.submit_store(job(1)), made.submit_load(job(2)), made.submit_load(job(3))
    assert sorted(made.get_finished_jobs()) == [(1, False), (2, False), (3, False)] and missed == [b"k"] * 2
    assert made.get_finished_jobs() == [] and caplog.text.count("on purpose; the tier below the CPU is empty") == 1


class Engine:
    """The options of a running engine, as far as the tier looks at them, and what vLLM makes of them."""

    def __init__(self, layout="NHD", revision=None, commit=None, quantization=None, hf_overrides=None, draft=None, runner=False):
        values = types.SimpleNamespace
        model = values(model="org/model", revision=revision, quantization=quantization, hf_overrides=hf_overrides or {},
                       dtype="bfloat16", hf_config=values(_commit_hash=commit))
        self.config = values(
            cache_config=values(kv_cache_layout=layout, cache_dtype="auto"), model_config=model, use_v2_model_runner=runner,
            speculative_config=draft and values(draft_model_config=values(model=draft, revision=None)))

    def connector(self, call):
        """Calls as OffloadingConnector.__init__ does, several calls below it."""
        vllm_config = self.config  # noqa: F841
        return (lambda: call())()


def test_bytes_of_another_layout_or_model_have_another_meaning(tier, monkeypatch):
    mapper = types.SimpleNamespace(rank=0, get_run_config=lambda: {"model_name": "org/model"})
    monkeypatch.setattr(tier, "FileMapper", types.SimpleNamespace(from_offloading_spec=lambda **_: mapper))
    spec = types.SimpleNamespace(blocks_per_chunk=1)

    def meaning(engine, own=""):
        return engine.connector(lambda: tier.meaning_of(spec, 8192, own))

    rotate, widen = (lambda config: config), type("Widen", (), {"__call__": lambda self, config: config})
    engines = [
        Engine(), Engine(layout="HND"), Engine(revision="v2"), Engine(commit="abc"), Engine(quantization="fp8"),
        Engine(hf_overrides={"rope_theta": 1}), Engine(hf_overrides=rotate), Engine(draft="org/draft"), Engine(runner=True),
    ]
    texts = [meaning(engine) for engine in engines] + [meaning(Engine(), "weights 2")]
    assert len(set(texts)) == len(texts) and all(" at 0x" not in text for text in texts)
    again = [Engine(hf_overrides={"b": 1, "a": 2}), Engine(hf_overrides={"a": 2, "b": 1})]
    assert meaning(again[0]) == meaning(again[1]) and meaning(Engine()) == texts[0]
    for unknown in (Engine(layout=None), types.SimpleNamespace(connector=lambda call: call())):
        with pytest.raises(RuntimeError, match="does not say which layout .* remove the tier of type CanopyTier"):
            meaning(unknown)


@pytest.mark.parametrize("size, index, folder", [(1, 0, ""), (1, 1, "replica-1"), (2, 0, "replica-0"), (2, 1, "replica-1")])
def test_each_replica_has_a_folder(tier, size, index, folder):
    parallel = types.SimpleNamespace(data_parallel_size=size, data_parallel_index=index)
    assert tier.folder_of(types.SimpleNamespace(config=types.SimpleNamespace(parallel=parallel))) == folder


def test_the_length_of_a_chunk_comes_from_the_spec_that_makes_the_policy(vllm):
    class Spec:
        blocks_per_chunk = 2
        config = types.SimpleNamespace(groups=[types.SimpleNamespace(group_id=0, tokens_per_block=8)])

        def get_manager(self):
            return (lambda: getattr(backend, "canopy:lru")(4))()

    (part,) = path("short")
    for policy, length in ((Spec().get_manager(), 16), (getattr(backend, "canopy:lru")(4), 12)):
        context = ReqContext("r")
        context._offload_key_positions = {part: 12}
        policy.on_request_access([part], context)
        policy.insert(part, ChunkStatus(-1, 0), context)
        assert policy._core.facts()["page_size"] == length


def test_the_feed_ends_when_vllms_own_order_takes_over(vllm, monkeypatch):
    name = f"given-up-{os.getpid()}"
    monkeypatch.setenv("CANOPY_FEED", name)
    policy = backend.hazard(4)
    keys = path("a", 1)
    context = ReqContext("r", keys)
    for number, key in enumerate(keys):
        policy.insert(key, ChunkStatus(-1, number), context)
    assert name in canopy.Feed.names()
    policy.mark_evictable(b"no such key")
    assert policy._core is None and name not in canopy.Feed.names()
    assert policy.get(keys[1]).chunk_id == 1


def test_ctrl_c_in_a_policy_is_raised_and_the_policy_stays(vllm, monkeypatch):
    class Interrupted(canopy.Policy):
        now = False

        def rank(self, node):
            if self.now:
                raise KeyboardInterrupt
            return node.last_access

    module = types.ModuleType("interrupted")
    module.Mine = Interrupted
    monkeypatch.setitem(sys.modules, "interrupted", module)
    policy = getattr(backend, "interrupted:Mine")(4)
    keys = path("a", 1)
    context = ReqContext("r", keys)
    policy.insert(keys[0], ChunkStatus(0, 0), context)
    Interrupted.now = True
    policy.insert(keys[1], ChunkStatus(0, 1), context)
    Interrupted.now = False
    with pytest.raises(KeyboardInterrupt):
        policy.on_request_finished([keys], set(keys), set(), context)
    policy.on_request_finished([keys], set(keys), set(), context)
    assert policy._core is not None and policy._core.policy == "Interrupted"
