"""When SGLang gets Canopy's cache, and when its own. The cache itself needs torch: tests/peers/sglang_lockstep.py."""
import importlib.metadata
import logging
import sys
import types

import pytest
from canopy.engines import sglang as backend


class Registry(types.ModuleType):
    """SGLang's registry of caches."""

    def __init__(self):
        super().__init__("sglang.srt.mem_cache.registry")
        self.factories = {}

    def get_radix_cache_factory(self, name):
        return self.factories.get(name)

    def register_radix_cache_backend(self, name, factory):
        assert name not in self.factories
        self.factories[name] = factory

    def default_radix_cache_factory(self, context):
        return "the default cache"


def values(**given):
    return types.SimpleNamespace(**given)


def context(**changes):
    params = values(
        disable=False, enable_kv_cache_events=False, component_registry_override=None, enable_session_radix_cache=False,
        page_size=16, token_to_kv_pool_allocator=values(page_size=16), eviction_policy="lru", eviction_policy_config=None,
        pp_rank=0, pp_size=1, swa_gates_prefix_match=True, req_to_token_pool=None)
    made = values(
        params=params, server_args=None, disable_radix_cache=False, is_hybrid_swa=False, is_hybrid_ssm=False,
        enable_hierarchical_cache=False, tp_size=1, tp_rank=0, full_tokens_per_layer=1000)
    for name, value in changes.items():
        vars(made if hasattr(made, name) else params)[name] = value
    return made


@pytest.fixture
def sglang(monkeypatch):
    """An SGLang that only has the functions that are called here."""
    registry, running = Registry(), values(memory=values(), serving=values(), disagg=values())
    for name in ("sglang", "sglang.srt", "sglang.srt.mem_cache"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, registry.__name__, registry)
    sys.modules["sglang.srt.mem_cache"].registry = registry
    runtime_context = types.ModuleType("sglang.srt.runtime_context")
    runtime_context.get_memory, runtime_context.get_serving, runtime_context.get_disagg = (
        lambda: running.memory, lambda: running.serving, lambda: running.disagg)
    monkeypatch.setitem(sys.modules, runtime_context.__name__, runtime_context)
    monkeypatch.setattr(backend, "release", lambda: "0.5.23")
    for name in ("CANOPY_POLICY", "CANOPY_ACCOUNTING", "CANOPY_FEED", "CANOPY_SLOTS", "CANOPY_STRICT"):
        monkeypatch.delenv(name, raising=False)
    return values(registry=registry, running=running)


def test_sglang_finds_the_entry_point():
    points = [point for point in importlib.metadata.entry_points(group="sglang.srt.plugins") if point.name == "canopy"]
    assert points and points[0].load() is backend.register


def test_registering_twice_changes_nothing(sglang):
    backend.register()
    backend.register()
    assert sglang.registry.factories == {"canopy": backend.make}


def test_an_sglang_without_backends_is_logged(sglang, monkeypatch, caplog):
    monkeypatch.delattr(Registry, "get_radix_cache_factory")
    backend.register()
    assert "has no --radix-cache-backend" in caplog.text and len(caplog.records) == 1


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"disable_radix_cache": True}, "disabled"),
        ({"is_hybrid_swa": True, "full_tokens_per_layer": 0}, "without full attention"),
        ({"is_hybrid_swa": True, "swa_gates_prefix_match": False}, "belong to requests"),
        ({"is_hybrid_ssm": True, "req_to_token_pool": type("Shared", (), {"__module__": "a.unified_memory_pool"})()}, "(Shared)"),
        ({"is_hybrid_ssm": True, "req_to_token_pool": values(req_to_c128_sidecar=1)}, "C128"),
        ({"enable_hierarchical_cache": True}, "host tier"),
        ({"enable_session_radix_cache": True}, "session"),
        ({"server_args": values(kv_canary_sweep_interval=8)}, "KV canary"),
        ({"token_to_kv_pool_allocator": values(page_size=64)}, "64 tokens"),
        ({"eviction_policy": "tlru"}, "'tlru'"),
        ({"eviction_policy": "slru", "eviction_policy_config": {"ghosts": 1}}, "no option 'ghosts'"),
    ],
)
def test_what_is_not_supported_gets_the_default_cache(sglang, caplog, changes, words, monkeypatch):
    with caplog.at_level(logging.WARNING):
        assert backend.make(context(**changes)) == "the default cache"
    assert len(caplog.records) == 1 and words in caplog.text and "default prefix cache is used" in caplog.text
    monkeypatch.setenv("CANOPY_STRICT", "1")
    with pytest.raises(RuntimeError, match="CANOPY_STRICT"):
        backend.make(context(**changes))


def test_a_release_that_is_tried_and_has_another_interface_gets_the_default_cache(sglang, caplog, monkeypatch):
    def build(context, settings):
        context.params.tree_core_backend = "canopy-1"
        raise TypeError("an abstract method")

    given = context(is_hybrid_swa=True)
    monkeypatch.setattr(backend, "build_hybrid", build)
    with pytest.raises(TypeError, match="an abstract method"):
        backend.make(given)
    monkeypatch.setattr(backend, "release", lambda: "0.5.22")  # tested without windows and states only
    monkeypatch.setenv("CANOPY_ANY_RELEASE", "1")
    given.params.tree_core_backend = "theirs"
    assert backend.make(given) == "the default cache" and given.params.tree_core_backend == "theirs"
    del given.params.swa_gates_prefix_match
    assert backend.make(given) == "the default cache"
    assert "0.5.22 has another interface (an abstract method)" in caplog.text and "swa_gates_prefix_match" in caplog.text
    monkeypatch.setenv("CANOPY_STRICT", "1")
    with pytest.raises(RuntimeError, match="another interface"):
        backend.make(given)


@pytest.mark.parametrize(
    "part, name, value, words",
    [
        ("memory", "enable_lmcache", True, "enable_lmcache"),
        ("serving", "enable_streaming_session", True, "streaming"),
        ("disagg", "disaggregation_mode", "decode", "disaggregated"),
    ],
)
def test_launch_arguments_that_need_another_cache(sglang, part, name, value, words):
    setattr(getattr(sglang.running, part), name, value)
    assert words in backend.reason_against(context())


@pytest.mark.parametrize("kind", ["is_hybrid_swa", "is_hybrid_ssm"])
def test_windows_and_states_get_a_tree_core(sglang, monkeypatch, kind):
    built = []
    monkeypatch.setattr(backend, "build_hybrid", lambda context, settings: built.append(settings) or "a hybrid cache")
    assert backend.make(context(**{kind: True})) == "a hybrid cache"
    assert built == [backend.Settings("lru", "sglang_unified", None)]
    monkeypatch.setattr(backend, "release", lambda: "0.5.22")
    assert "supported with 0.5.23 only" in backend.reason_against(context(**{kind: True}))
    assert backend.reason_against(context()) == ""


def test_an_unknown_release_is_logged(sglang, monkeypatch, caplog):
    assert backend.reason_against(context()) == ""
    monkeypatch.setattr(backend, "release", lambda: "0.5.24")
    assert backend.make(context()) == "the default cache"
    assert "SGLang 0.5.24 is not a release that this package was tested with (0.5.22, 0.5.23)" in caplog.text
    monkeypatch.setenv("CANOPY_ANY_RELEASE", "1")
    assert backend.reason_against(context()) == backend.reason_against(context(is_hybrid_ssm=True)) == ""


def test_settings(sglang, monkeypatch):
    assert backend.settings_of(context()) == backend.Settings("lru", "sglang_unified", None)
    slru = context(eviction_policy="SLRU", eviction_policy_config={"protected_threshold": 3})
    assert backend.settings_of(slru).policy == {"slru": {"protect_after": 3}}
    monkeypatch.setenv("CANOPY_FEED", "serve")
    monkeypatch.setenv("CANOPY_ACCOUNTING", "default")
    monkeypatch.setenv("CANOPY_POLICY", "test_policy:KeepShared")
    settings = backend.settings_of(context(tp_size=2, tp_rank=1))
    assert settings.feed == "serve-0-1" and settings.accounting == "default"
    assert type(settings.policy).__name__ == "KeepShared"
    assert backend.reason_of_policy("tlru", None) == ""
    assert settings.slots is None
    monkeypatch.setenv("CANOPY_SLOTS", "table")
    assert backend.settings_of(context()).slots == "table"
    parallel = types.SimpleNamespace(dp_rank=3)
    monkeypatch.setattr(sys.modules["sglang.srt.runtime_context"], "get_parallel", lambda: parallel, raising=False)
    assert backend.settings_of(context()).feed == "serve-dp3"
    assert backend.settings_of(context(tp_size=2, tp_rank=1)).feed == "serve-dp3-0-1"
    parallel.dp_rank = None  # the only one
    assert backend.settings_of(context()).feed == "serve"
    monkeypatch.setenv("CANOPY_SLOTS", "tabel")
    with pytest.raises(ValueError, match="expected slots or table"):
        backend.settings_of(context())
