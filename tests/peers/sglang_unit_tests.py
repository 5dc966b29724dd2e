#!/usr/bin/env python3
"""SGLang's own unit tests of its radix cache, with our class in place of RadixCache.

    sglang_unit_tests.py WHEEL RELEASE TEST_FILE

TEST_FILE: test/registered/unit/mem_cache/test_radix_cache_unit.py of SGLang's repository (wheels carry no tests). The newest
one that was tried is of 2026-08-17, from before `checkpoint` and before matches lost their indices: the few lines of
Substitute give our cache these older names, and slots of whole pages for the numbers that the tests bring. Tests of TreeNode and of keys do not call the cache and are left out; a test, or
the part of one, that needs something that the cache does not have is printed with the reason.
"""
import dataclasses
import importlib.machinery
import importlib.util
import sys
import types
import unittest

import sglang_wheel

# These look inside RadixCache's nodes, which are its own.
INSIDE = {
    "test_init_variations": "reads the key of the root's TreeNode",
    "test_hash_value_storage": "walks TreeNode.children",
    "test_hash_value_split": "reads TreeNode.hash_value",
    "test_cache_salt_event_hashes_are_preserved_across_node_split": "reads TreeNode.event_hash_value",
}
ELSEWHERE = {
    "test_cache_unfinished_req_deferred_free_owns_original_indices": "calls cache_unfinished_req, which 0.5.22 removed; "
    "checkpoint frees through free_segment, whose deferral is the allocator's",
    "test_memory_allocated": "measures the memory of torch's device, and the index keeps no tensors",
}


def substitute(torch):
    """Our cache with what these tests call it by."""
    from sglang.srt.mem_cache.cache_init_params import CacheInitParams

    from canopy.engines.sglang_settings import Settings
    from canopy.engines.sglang_cache import CanopyRadixCache

    class Substitute(CanopyRadixCache):
        given = {0: 0}  # slots of pages that follow one another, and what the tests bring, which are any numbers

        @classmethod
        def create_simulated(cls, disable=False, mock_allocator=None, page_size=1, enable_kv_cache_events=False, **_):
            if disable:
                raise unittest.SkipTest("a disabled cache is SGLang's default one: the factory declines")
            allocator = mock_allocator or types.SimpleNamespace(device=torch.device("cpu"), page_size=page_size)
            allocator.size = None
            return cls(CacheInitParams(
                disable=False, req_to_token_pool=None, token_to_kv_pool_allocator=allocator, page_size=page_size,
                enable_kv_cache_events=enable_kv_cache_events), Settings())

        def match_prefix(self, params):
            found = super().match_prefix(params)
            slots = self.path_device_indices(found.last_device_node)
            indices = torch.tensor([self.given[slot] for slot in slots.tolist()], dtype=torch.int64)
            return types.SimpleNamespace(**found._asdict(), device_indices=indices)

        def insert(self, params):
            values = params.key.token_ids if params.value is None else params.value.tolist()
            first = (max(self.given) // self.page_size + 1) * self.page_size
            self.given.update(enumerate(values, first))
            return super().insert(dataclasses.replace(params, value=torch.arange(first, first + len(values))))

    return Substitute


def main():
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    sglang_wheel.load(*sys.argv[1:3])
    import torch

    for name in ("sglang.test", "sglang.test.ci", "sglang.test.ci.ci_register"):
        sys.modules[name] = sglang_wheel.EmptyModule(name)
    from sglang.srt.disaggregation import kv_events
    from sglang.srt.mem_cache import events

    # Then the recorder was a base class, and the salt of an event lay in a part of its own.
    events.KVCacheEventMixin = object
    kv_events.BlockStoredMetadata = kv_events.BlockStoredWithMetadata = kv_events.BlockStored
    kv_events.BlockStored.metadata = property(lambda event: event)
    sys.modules["sglang.srt.utils"].get_device = lambda: "cpu"
    spec = importlib.util.spec_from_loader("radix_cache_unit", importlib.machinery.SourceFileLoader("radix_cache_unit", sys.argv[3]))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.RadixCache = substitute(torch)
    names = unittest.defaultTestLoader.getTestCaseNames(module.TestRadixCache)
    left_out = {**INSIDE, **ELSEWHERE}
    tests = unittest.TestSuite(module.TestRadixCache(name) for name in names if name not in left_out)
    result = unittest.TextTestRunner(verbosity=0, buffer=True).run(tests)
    for name in names:
        if name in left_out:
            print(f"left out: {name}: {left_out[name]}")
    for test, reason in result.skipped:
        print(f"skipped: {str(test).split(' ')[0]} {getattr(test, '_subDescription', str)()}: {reason}")
    skipped = {str(getattr(test, "test_case", test)).split(" ")[0] for test, _ in result.skipped if not hasattr(test, "test_case")}
    print(f"{len(names)} tests of the cache: {tests.countTestCases() - len(skipped)} ran, {len(result.failures)} failed, "
          f"{len(result.errors)} raised; {len(skipped)} skipped as a whole, {len(names) - tests.countTestCases()} left out")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
