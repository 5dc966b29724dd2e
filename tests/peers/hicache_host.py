"""SGLang's own hierarchical cache from its wheel, on a machine without a GPU.

The cache, its controller with its threads for the storage, the pools of the device and of the host, and the storages are the
wheel's own; the small models come from the wheel's test kit. Two things need a GPU and are replaced: memory is not pinned, and
the copies between device and host are torch's.
"""
import importlib
import os
import pathlib
import sys
import types
import unittest
import warnings

KIT = "sglang.test.kits.unified_radix_cache."


def load(folder):
    """Makes sglang importable from an unpacked wheel. Returns the modules of its test kit. Ends with 77 where something is
    missing."""
    os.environ.setdefault("SGLANG_RUST_BUILD_MODE", "never")
    folder = pathlib.Path(folder)
    if not (folder / (KIT.replace(".", "/") + "storage.py")).exists():
        print(f"SKIPPED: {folder} is no unpacked wheel of sglang with {KIT}storage", file=sys.stderr)
        raise SystemExit(77)
    warnings.filterwarnings("ignore")
    sys.path.insert(0, str(folder))
    utilities = types.ModuleType("sglang.test.test_utils")  # its own imports benchmarks and data sets
    utilities.CustomTestCase = unittest.TestCase
    sys.modules[utilities.__name__] = utilities
    try:
        import torch

        torch.set_num_threads(1)
        kit = types.SimpleNamespace(**{name: importlib.import_module(KIT + name) for name in ("config", "fixtures", "storage")})
        copy_with_torch()
    except ImportError as missing:
        print(f"SKIPPED: {missing} (the wheel needs torch and what SGLang imports)", file=sys.stderr)
        raise SystemExit(77) from None
    kit.fixtures.get_device = lambda: "cpu"
    kit.torch = torch
    return kit


def copy_with_torch():
    """Replaces what of SGLang's pools needs a GPU. REQUIRES: sglang can be imported."""
    from sglang.srt.mem_cache.pool_host import base, common
    from sglang.srt.mem_cache.pool_host.mamba import MambaPoolHost
    from sglang.srt.mem_cache.pool_host.mha import MHATokenToKVPoolHost

    base.HICACHE_HOST_MEMORY_RESERVE_BYTES = 1 << 30  # SGLang does not start where less than 10 GiB would stay free
    common._cuda_host_register = common._cuda_host_unregister = lambda *_: None
    MHATokenToKVPoolHost.backup_from_device_all_layer = to_host
    MHATokenToKVPoolHost.load_to_device_per_layer = to_device
    MambaPoolHost.backup_from_device_all_layer = states_to_host
    MambaPoolHost.load_to_device_per_layer = states_to_device


def layers(pool, host_indices):
    """For each layer the tensors of keys and values on the host and the device, and the places on the host."""
    by_page = pool.layout in ("page_first_direct", "page_head")
    places = (host_indices // pool.page_size, host_indices % pool.page_size) if by_page else host_indices
    for layer in range(pool.layer_num):
        yield layer, places, pool.k_data_refs[layer], pool.device_k_buffers[layer]
        yield layer, places, pool.v_data_refs[layer], pool.device_v_buffers[layer]


def to_host(self, device_pool, host_indices, device_indices, io_backend):
    for _, places, host, device in layers(self, host_indices):
        host[places] = device[device_indices]


def to_device(self, device_pool, host_indices, device_indices, layer_id, io_backend, *, is_draft=False):
    for layer, places, host, device in layers(self, host_indices):
        if layer == layer_id:
            device[device_indices] = host[places]


def states(pool):
    """The states of each layer as pairs of tensors, host and device, with a row for each place."""
    page_first = pool.layout.startswith("page_first")
    info = pool.buffer_info
    for layer in range(pool.num_mamba_layers):
        for host, device in [(pool.temporal_buffer, info.temporal), *zip(pool.conv_buffer, info.conv)]:
            yield layer, (host[:, layer] if page_first else host[layer]), device[layer]


def states_to_host(self, device_pool, host_indices, device_indices, io_backend="kernel"):
    for _, host, device in states(self):
        host[host_indices] = device[device_indices]


def states_to_device(self, device_pool, host_indices, device_indices, layer_id, io_backend="kernel", *, is_draft=False):
    for layer, host, device in states(self):
        if layer == layer_id:
            device[device_indices] = host[host_indices]
