"""Canopy below SGLang's HiCache: what is refused at the start, what comes back, and what an error costs. Beside SGLang itself:
tests/peers/hicache_*.py."""
import dataclasses
import enum
import logging
import mmap
import random
import sys
import types
from abc import ABC

import numpy as np
import pytest
from canopy.engines import hicache

HICACHE = "sglang.srt.mem_cache.hicache_storage"


class HiCacheStorage(ABC):
    """The interface of SGLang 0.5.23."""

    def register_mem_pool_host(self, mem_pool_host): ...
    def register_mem_host_pool_v2(self, host_pool, host_pool_name): ...
    def on_host_pools_registered(self): ...
    def batch_exists_v2(self, keys, pool_transfers=None, extra_info=None): ...
    def batch_get_v2(self, transfers, extra_info=None): ...
    def batch_set_v2(self, transfers, extra_info=None): ...
    def batch_get_v1(self, keys, host_indices, extra_info=None): ...
    def batch_set_v1(self, keys, host_indices, extra_info=None): ...
    def get(self, key, target_location=None, target_sizes=None): ...
    def batch_get(self, keys, target_locations=None, target_sizes=None): ...
    def set(self, key, value=None, target_location=None, target_sizes=None): ...
    def batch_set(self, keys, values=None, target_locations=None, target_sizes=None): ...
    def exists(self, key): ...
    def batch_exists(self, keys, extra_info=None): ...
    def clear(self): ...
    def get_stats(self): ...


class PoolName(str, enum.Enum):
    KV, MAMBA, SWA = "kv", "mamba", "swa"

    def __str__(self):
        return self.value


class PoolHitPolicy(str, enum.Enum):
    ALL_PAGES, TRAILING_PAGES, BLOCK_GROUPS = "all_pages", "trailing_pages", "block_groups"


@dataclasses.dataclass
class HiCacheStorageConfig:
    tp_rank: int = 0
    tp_size: int = 1
    pp_rank: int = 0
    pp_size: int = 1
    attn_cp_rank: int = 0
    attn_cp_size: int = 1
    dp_rank: int = 0
    is_mla_model: bool = False
    model_name: str = "model"
    enable_storage_metrics: bool = False
    extra_config: dict = None


@dataclasses.dataclass
class PoolTransfer:
    name: PoolName
    host_indices: object = None
    keys: list = None
    hit_policy: PoolHitPolicy = PoolHitPolicy.ALL_PAGES


@dataclasses.dataclass
class PoolTransferResult:
    kv_hit_pages: int
    extra_pool_hit_pages: dict
    restorable_prefix_pages: list = None


class Tensor:
    """Memory with an address, as a torch.Tensor has it."""

    def __init__(self, size):
        self.array = np.frombuffer(mmap.mmap(-1, size), dtype=np.uint8)
        self.nbytes = size

    def data_ptr(self):
        return self.array.ctypes.data


class Pool:
    """A host pool with keys and values apart, like SGLang's for the layout page_first."""

    page_size, layout, dtype, start_layer, end_layer = 4, "page_first", "bf16", 0, 2

    def __init__(self, pages=16, part=4096, shift=0):
        self.size, self.part, self.shift = pages * self.page_size, part, shift
        self.kv_buffer = [Tensor(pages * part), Tensor(pages * part)]

    def get_page_buffer_meta(self, indices):
        addresses = [one.data_ptr() + index // self.page_size * self.part + self.shift * (index // self.page_size) ** 2
                     for index in indices.tolist()[:: self.page_size] for one in self.kv_buffer]
        return addresses, [self.part] * len(addresses)

    def page(self, number):
        return b"".join(one.array[number * self.part : (number + 1) * self.part].tobytes() for one in self.kv_buffer)

    def fill(self, number, data):
        for at, one in enumerate(self.kv_buffer):
            one.array[number * self.part : (number + 1) * self.part] = np.frombuffer(data, np.uint8)[at * self.part :][: self.part]


def places(pages, pool=Pool):
    return np.concatenate([np.arange(page * pool.page_size, (page + 1) * pool.page_size) for page in pages])


def bytes_of(number, size=8192):
    return random.Random(number).randbytes(size)


def keys_of(numbers):
    return [random.Random(-number - 1).randbytes(32).hex() for number in numbers]


@pytest.fixture
def sglang(monkeypatch):
    """A SGLang that only has what is imported here, and numpy in the place of torch."""
    for name in ("sglang", "sglang.srt", "sglang.srt.mem_cache", HICACHE, "torch"):
        module = types.ModuleType(name)
        module.__path__ = []
        monkeypatch.setitem(sys.modules, name, module)
    parent = sys.modules["sglang.srt.mem_cache"]
    module = parent.hicache_storage = sys.modules[HICACHE]
    for kind in (HiCacheStorage, PoolName, PoolHitPolicy, HiCacheStorageConfig, PoolTransfer, PoolTransferResult):
        setattr(module, kind.__name__, kind)
    torch = sys.modules["torch"]
    torch.Tensor, torch.arange, torch.cat = Tensor, np.arange, np.concatenate
    monkeypatch.setattr(hicache, "release", lambda: "0.5.23")
    monkeypatch.delenv("CANOPY_ANY_RELEASE", raising=False)
    monkeypatch.delitem(sys.modules, "canopy.engines.hicache_storage", raising=False)
    yield module
    sys.modules.pop("canopy.engines.hicache_storage", None)


def slots(folder, name="kv"):
    return {"slots": {"path": str(folder / name), "capacity": "1MiB"}}


def opened(options, pools=None, **config):
    """A storage as SGLang makes it, with its pools registered."""
    storage = hicache.CanopyStorage(HiCacheStorageConfig(extra_config=options, **config), {})
    pools = pools or {PoolName.KV: Pool()}
    storage.register_mem_pool_host(pools[PoolName.KV])
    for name, pool in pools.items():
        storage.register_mem_host_pool_v2(pool, name)
    storage.on_host_pools_registered()
    return storage, pools


# ---- What is refused at the start ----

def test_an_unknown_release_is_refused(sglang, monkeypatch):
    monkeypatch.setattr(hicache, "release", lambda: "0.9.0")
    with pytest.raises(RuntimeError, match=r"SGLang 0\.9\.0 is not a release .* \(0\.5\.23\).*CANOPY_ANY_RELEASE=1"):
        hicache.CanopyStorage
    monkeypatch.setenv("CANOPY_ANY_RELEASE", "1")
    assert hicache.CanopyStorage.__name__ == "CanopyStorage"


@pytest.mark.parametrize("change, named", [
    (lambda: setattr(HiCacheStorage, "batch_get_v1", lambda self, keys: ...), "batch_get_v1"),
    (lambda: delattr(HiCacheStorage, "on_host_pools_registered"), "on_host_pools_registered"),
    (lambda: HiCacheStorageConfig.__dataclass_fields__.pop("dp_rank"), "dp_rank"),
])
def test_another_interface_is_refused_by_name(sglang, monkeypatch, change, named):
    kept = dict(vars(HiCacheStorage)), dict(HiCacheStorageConfig.__dataclass_fields__)
    try:
        change()
        with pytest.raises(RuntimeError, match=named):
            hicache.CanopyStorage
    finally:
        for name in ("batch_get_v1", "on_host_pools_registered"):
            setattr(HiCacheStorage, name, kept[0][name])
        HiCacheStorageConfig.__dataclass_fields__.update(kept[1])


@pytest.mark.parametrize("options, why", [
    ({}, '"storage": {"slots"'),
    ({"storage": {}, "staging_byte": 1}, "do you mean 'staging_bytes'"),
    ({"storage": {}, "pool": {}}, "do you mean 'pools'"),
    ({"storage": {"slot": {}}}, "slots"),
    ({"storage": {"slots": {"pth": "x"}}}, "path"),
    ({"storage": "slots"}, "one name with its options"),
])
def test_wrong_options_are_refused_with_the_right_ones(sglang, options, why):
    with pytest.raises(ValueError, match=why):
        opened(options)


def test_options_of_others_are_logged_and_ignored(sglang, tmp_path, caplog):
    storage, _ = opened({"storage": slots(tmp_path), "metadata_ttl": 5})
    assert "'metadata_ttl' has no meaning here" in caplog.text
    storage.close()


def test_a_further_pool_needs_a_storage_of_its_own(sglang, tmp_path):
    pools = {PoolName.KV: Pool(), PoolName.MAMBA: Pool(part=512)}
    with pytest.raises(ValueError, match=r'"pools": {"mamba"'):
        opened({"storage": slots(tmp_path)}, pools)


def test_a_pool_of_another_shape_is_refused(sglang, tmp_path):
    with pytest.raises(ValueError, match="not at regular places"):
        opened({"storage": slots(tmp_path)}, {PoolName.KV: Pool(shift=8)})
    with pytest.raises(ValueError, match="not at regular places"):
        opened({"storage": slots(tmp_path)}, {PoolName.KV: Pool(shift=-1)})
    small = Pool()
    small.kv_buffer[1].nbytes -= 1  # the last page ends behind it
    with pytest.raises(ValueError, match="not at regular places"):
        opened({"storage": slots(tmp_path)}, {PoolName.KV: small})


def test_ranks_that_read_each_others_pages_need_a_shared_storage(sglang, tmp_path):
    with pytest.raises(RuntimeError, match="such as redis"):
        opened({"storage": slots(tmp_path)}, is_mla_model=True, tp_size=2)
    storage, _ = opened({"storage": slots(tmp_path)}, is_mla_model=True)
    storage.close()


def test_each_rank_has_a_folder(sglang, tmp_path):
    one, _ = opened({"storage": slots(tmp_path)}, tp_rank=0, tp_size=2)
    other, _ = opened({"storage": slots(tmp_path)}, tp_rank=1, tp_size=2)
    assert {path.name for path in (tmp_path / "kv").iterdir()} == {"tp0", "tp1"}
    one.close(), other.close()


# ---- What comes back ----

def test_what_is_stored_comes_back(sglang, tmp_path):
    options = {"storage": slots(tmp_path)}
    storage, pools = opened(options)
    assert options["interface_v1"] == 1  # for SGLang, which reads it afterwards
    pool = pools[PoolName.KV]
    for page in range(8):
        pool.fill(page, bytes_of(page))
    keys = keys_of(range(8))
    assert storage.batch_set_v1(keys, places(range(8))) == [True] * 8
    assert storage.batch_exists([*keys, "no key"]) == 8 and storage.exists(keys[3]) and not storage.exists("no key")
    storage.close()
    storage, pools = opened({"storage": slots(tmp_path)})
    pool = pools[PoolName.KV]
    order = [5, 9, 7, 0]
    assert storage.batch_get_v1(keys_of([7, 99, 1, 3]), places(order)) == [True, False, True, True]
    assert [pool.page(page) for page in order] == [bytes_of(7), bytes(8192), bytes_of(1), bytes_of(3)]
    assert storage.figures()["kv"]["loaded"] == 3
    assert storage.clear() and storage.batch_exists(keys) == 0
    storage.close()


def test_each_pool_has_its_pages(sglang, tmp_path):
    made = {PoolName.KV: Pool(), PoolName.MAMBA: Pool(part=512)}
    storage, pools = opened({"storage": slots(tmp_path), "pools": {"mamba": slots(tmp_path, "mamba")}}, made)
    kv, states = pools[PoolName.KV], pools[PoolName.MAMBA]
    for page in range(6):
        kv.fill(page, bytes_of(page))
    states.fill(2, bytes_of(77, 1024))
    keys = keys_of(range(6))
    storage.batch_set_v1(keys, places(range(6)))
    transfer = PoolTransfer(PoolName.MAMBA, places([2]), [keys[3]], PoolHitPolicy.TRAILING_PAGES)
    assert storage.batch_set_v2([transfer]) == {"mamba": [True]}
    found = storage.batch_exists_v2(keys, [transfer])
    assert (found.kv_hit_pages, found.extra_pool_hit_pages) == (4, {"kv": 6, "mamba": 4})
    assert found.restorable_prefix_pages == [4]
    states.fill(2, bytes(1024))
    assert storage.batch_get_v2([dataclasses.replace(transfer, host_indices=places([9]))]) == {"mamba": [True]}
    assert states.page(9) == bytes_of(77, 1024)
    storage.close()


@pytest.mark.parametrize("policy, window, expected", [
    (PoolHitPolicy.ALL_PAGES, 1, [1, 2]),  # pages 0, 1, 3, 4, 5 of 7 are there
    (PoolHitPolicy.TRAILING_PAGES, 1, [1, 2, 4, 5, 6]),
    (PoolHitPolicy.TRAILING_PAGES, 2, [1, 2, 5, 6]),
    (PoolHitPolicy.TRAILING_PAGES, 3, [1, 2, 6]),
    (PoolHitPolicy.BLOCK_GROUPS, 1, [1, 2, 3, 4, 5, 6, 7]),  # no verdict
])
def test_which_beginnings_a_pool_can_bring_back(sglang, tmp_path, policy, window, expected):
    pools = {PoolName.KV: Pool(), PoolName.SWA: Pool()}
    storage, _ = opened({"storage": slots(tmp_path), "pools": {"swa": slots(tmp_path, "swa")}}, pools)
    keys = keys_of(range(7))
    storage.batch_set_v1(keys, places(range(7)))
    there = [keys[at] for at in (0, 1, 3, 4, 5)]
    storage.batch_set_v2([PoolTransfer(PoolName.SWA, places(range(5)), there)])
    found = storage.batch_exists_v2(keys, [PoolTransfer(PoolName.SWA, None, keys[:window], policy)])
    assert found.restorable_prefix_pages == expected and found.kv_hit_pages == expected[-1]
    storage.close()


def test_only_windows_are_looked_for_behind_a_gap(sglang, tmp_path):
    """A storage with other writers is asked for each page then, which costs more."""
    pools = {PoolName.KV: Pool(), PoolName.SWA: Pool()}
    storage, _ = opened({"storage": slots(tmp_path), "pools": {"swa": slots(tmp_path, "swa")}}, pools)
    calls = []

    class Core:
        def have(self, keys, gaps):
            calls.append(gaps)
            return [True] * len(keys)

    held = {name: pool.core for name, pool in storage._pools.items()}
    for pool in storage._pools.values():
        pool.core = Core()
    for policy in (PoolHitPolicy.ALL_PAGES, PoolHitPolicy.TRAILING_PAGES):
        storage.batch_exists_v2(keys_of(range(4)), [PoolTransfer(PoolName.SWA, None, keys_of([3]), policy)])
    assert calls == [False, False, False, True]
    for name, core in held.items():
        storage._pools[name].core = core
    storage.close()


def test_a_pool_that_only_gives_out_numbers_hinders_nothing(sglang, tmp_path):
    pool = Pool()
    pool.get_page_buffer_meta = lambda indices: None
    storage, _ = opened({"storage": slots(tmp_path)}, {PoolName.KV: pool})
    keys = keys_of(range(3))
    assert storage.batch_exists(keys) == 3 and storage.batch_get_v1(keys, places(range(3))) == [True] * 3
    storage.close()


def test_sglangs_metrics_have_the_calls_since_the_last_time(sglang, tmp_path, monkeypatch):
    @dataclasses.dataclass
    class StorageMetrics:
        prefetch_pgs: list = dataclasses.field(default_factory=list)
        backup_pgs: list = dataclasses.field(default_factory=list)
        prefetch_bandwidth: list = dataclasses.field(default_factory=list)
        backup_bandwidth: list = dataclasses.field(default_factory=list)

    for name in ("sglang.srt.observability", "sglang.srt.observability.metrics_collector"):
        module = types.ModuleType(name)
        module.__path__, module.StorageMetrics = [], StorageMetrics
        monkeypatch.setitem(sys.modules, name, module)
    storage, _ = opened({"storage": slots(tmp_path)}, enable_storage_metrics=True)
    keys = keys_of(range(3))
    storage.batch_set_v1(keys, places(range(3)))
    storage.batch_get_v1(keys[:2], places(range(2)))
    stats = storage.get_stats()
    assert (stats.backup_pgs, stats.prefetch_pgs) == ([3], [2])
    assert len(stats.backup_bandwidth) == 1 and stats.prefetch_bandwidth[0] > 0
    assert storage.get_stats() is None
    storage.close()


# ---- What an error costs ----

def test_an_error_costs_the_hits_of_its_pool(sglang, tmp_path, caplog):
    class Broken:
        def __getattr__(self, name):
            raise RuntimeError("on purpose")

    for call, none in ((lambda one, keys: one.batch_exists(keys), 0),
                       (lambda one, keys: one.batch_get_v1(keys, places(range(2))), [False] * 2),
                       (lambda one, keys: one.batch_set_v1(keys, places(range(2))), [False] * 2)):
        storage, _ = opened({"storage": slots(tmp_path)})
        held, storage._pools["kv"].core = storage._pools["kv"].core, Broken()
        with caplog.at_level(logging.ERROR):
            assert call(storage, keys_of(range(2))) == none
            assert call(storage, keys_of(range(2))) == none
        assert storage.figures() == {}
        storage.close()
        held.close()
    assert caplog.text.count("is empty from now on") == 3


def test_places_of_another_number_move_nothing(sglang, tmp_path):
    storage, _ = opened({"storage": slots(tmp_path)})
    keys = keys_of(range(2))
    for wrong in (places(range(3)), places(range(2))[:-1], None):
        assert storage.batch_set_v1(keys, wrong) == [False] * 2
    assert storage.batch_exists(keys) == 0
    assert storage.batch_set_v1(keys, places(range(2))) == [True] * 2  # it goes on
    storage.close()


def test_a_damaged_page_is_logged_once(sglang, tmp_path, caplog):
    storage, pools = opened({"storage": slots(tmp_path)})
    keys = keys_of(range(8))
    for page in range(8):
        pools[PoolName.KV].fill(page, bytes_of(page))
    storage.batch_set_v1(keys, places(range(8)))
    for path in (tmp_path / "kv").rglob("*"):
        if path.is_file() and path.stat().st_size > 1 << 18:
            data = path.read_bytes()
            with open(path, "r+b") as file:
                for page in (2, 5):
                    file.seek(data.find(bytes_of(page)[:64]) + 100)
                    file.write(b"flip")
    good = storage.batch_get_v1(keys, places(range(8)))
    assert good == [page not in (2, 5) for page in range(8)]
    assert storage.figures()["kv"]["damaged"] == 2
    assert caplog.text.count("was not as it should be") == 1
    storage.close()


def test_a_pool_that_comes_later_and_cannot_be_served_ends_nothing(sglang, tmp_path, caplog):
    storage, _ = opened({"storage": slots(tmp_path)})
    storage.register_mem_host_pool_v2(Pool(), "draft")
    assert "pool draft has no storage" in caplog.text
    assert storage.batch_get_v2([PoolTransfer("draft", places([0]), keys_of([0]))]) == {"draft": [False]}
    storage.close()
