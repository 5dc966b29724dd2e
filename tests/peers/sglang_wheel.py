"""SGLang's caches from its wheel, on a machine without a GPU.

The caches, their tree cores (the Rust one too), keys, policies and the registry of caches are the wheel's own, and torch is
real. All else that SGLang imports is replaced by empty modules; pools are the few lines below.
"""
import hashlib
import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import types
from array import array

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/golden"))
from unified_lockstep import Anything, EmptyModule, EmptyModules  # noqa: E402

M = "sglang.srt.mem_cache."
REAL = (
    M + "base_prefix_cache", M + "radix_cache", M + "evict_policy", M + "utils", M + "cache_init_params", M + "registry",
    M + "unified_cache", M + "unified_radix_cache", M + "rust_tree_core", M + "events", "sglang.srt.rust_extensions",
    "sglang.srt.disaggregation.kv_events", "sglang.srt.environ", "sglang.srt.utils.rank_consensus_checker",
)
PACKAGES = ("sglang", "sglang.srt", "sglang.srt.mem_cache", "sglang.srt.utils", "sglang.srt.disaggregation")


def load(folder, release):
    """Puts the unpacked wheel under `folder` on the path and imports torch. Ends with 77 where one of them is missing."""
    os.environ.setdefault("SGLANG_RUST_BUILD_MODE", "never")
    folder = pathlib.Path(folder)
    if not (folder / "sglang/srt/mem_cache/unified_radix_cache.py").exists():
        print(f"SKIPPED: {folder} is no unpacked wheel of sglang {release}", file=sys.stderr)
        raise SystemExit(77)
    try:
        import msgspec  # noqa: F401
        import torch  # before the empty modules: it looks at all modules that there are
    except ImportError as missing:
        print(f"SKIPPED: {missing}", file=sys.stderr)
        raise SystemExit(77) from None
    torch.set_num_threads(1)
    sys.path.insert(0, str(folder))
    sys.meta_path.insert(0, EmptyModules(REAL))
    for name in PACKAGES:  # their own __init__ would import the whole server
        module = types.ModuleType(name)
        module.__path__ = [str(folder / name.replace(".", "/"))]
        sys.modules[name] = module
    linker = M + "unified_cache.unified_cache_linker"  # needs a device when it is imported
    sys.modules[linker] = EmptyModule(linker)
    swa = M + "allocator.swa"
    sys.modules[swa] = EmptyModule(swa)
    sys.modules[swa].is_swa_req_ring = lambda allocator: False
    common = types.ModuleType("sglang.srt.utils.common")
    common.ceil_align = lambda value, to: -(-value // to) * to
    sys.modules["sglang.srt.utils.common"] = common
    sys.modules["sglang.srt.utils"].assert_int64_array = assert_int64_array
    session = types.ModuleType("sglang.srt.session.streaming_session")
    session.StreamingSession, session.is_virtual_node = NoSession, lambda node: False
    sys.modules["sglang.srt.session.streaming_session"] = session
    for name in ("zmq", "pydantic"):  # imports of the events' publisher, which is not used
        if importlib.util.find_spec(name) is None:
            sys.modules[name] = EmptyModule(name)
    native = types.ModuleType(M + "cpp_utils.native_hash")
    native.get_native_hash = native_hash
    sys.modules[native.__name__] = native
    interleave = types.ModuleType(M + "allocator.page_interleave")
    interleave.page_interleave_shard_size = lambda allocator: 1
    sys.modules[M + "allocator.page_interleave"] = interleave
    context = EmptyModule("sglang.srt.runtime_context")
    for name in ("get_disagg", "get_exec", "get_memory", "get_observability", "get_parallel", "get_serving", "get_spec"):
        setattr(context, name, Settings)
    sys.modules[context.__name__] = context


def assert_int64_array(values, name):
    assert isinstance(values, array) and values.typecode == "q" and values.itemsize == 8, name


class Settings(Anything):
    """The launch arguments: nothing is on."""

    disaggregation_mode = "null"


class NoSession:
    """Streaming sessions are not in use: each question is answered as SGLang answers it then."""

    def __init__(self, cache):
        self.slots = {}

    def __getattr__(self, name):
        return lambda *_, **__: False if name == "try_cache_finished_req" or name == "try_checkpoint" else None


def native_hash(key, prior=None, page=None):
    """Returns what SGLang's compiled function returns for a RadixKey: a chain of SHA-256 over the tokens of each page."""
    tokens, units, hashes = key.raw_token_ids(), len(key), []
    for start in range(0, units, page or max(units, 1)):
        end = min(start + (page or units), units)
        words = [tokens[i + j] for i in range(start, end) for j in range(1 + key.is_bigram)]
        prior = hashlib.sha256((prior or b"") + b"".join(word.to_bytes(4, "little") for word in words)).digest()
        hashes.append(prior.hex())
    return hashes if page else hashes[-1]


def pools(torch, size, page, rows, width):
    """A row pool and an allocator with SGLang's functions on CPU tensors."""

    class Allocator:
        device = "cpu"

        def __init__(self):
            self.size, self.page_size = size, page
            self.clear()

        def clear(self):
            self.free_pages = list(range(size // page, 0, -1))

        def available_size(self):
            return len(self.free_pages) * page

        def alloc(self, tokens):
            """Slots of new pages for so many tokens (int64), or None."""
            count = -(-tokens // page)
            if count > len(self.free_pages):
                return None
            taken = self.free_pages[-count:] if count else []
            del self.free_pages[len(self.free_pages) - count:]
            first = torch.tensor(taken[::-1], dtype=torch.int64) * page
            return (first[:, None] + torch.arange(page)).flatten()[:tokens]

        def free(self, slots):
            self.free_pages += torch.unique(slots // page).tolist()

        def free_segment(self, slots, *, start_pos):
            assert start_pos % page == 0
            self.free_page_ids(slots[::page] // page)

        def free_page_ids(self, pages):
            self.free_pages += pages.tolist()

        def get_kvcache(self):
            return None

    class Rows:
        def __init__(self):
            self.req_to_token = torch.zeros((rows, width), dtype=torch.int32)

        def write(self, at, values):
            self.req_to_token[at] = values.to(torch.int32)

    return Allocator(), Rows()


class Request:
    """As much of SGLang's Req as a cache looks at."""

    def __init__(self, rid, tokens, row, space=(None, None), priority=0):
        self.rid, self.origin_input_ids, self.output_ids = rid, array("q", tokens), array("q")
        self.full_untruncated_fill_ids = self.origin_input_ids
        self.extra_key, self.cache_salt = space
        self.priority, self.session_id, self.kv_rotation_base = priority, None, None
        self.lock = self.last_node = None
        self.kv = types.SimpleNamespace(
            req_pool_idx=row, cache_protected_len=0, cache_inserted_len=0, swa_evict_floor=0)
        self.done = False

    def finished(self):
        return self.done


def unified(core, params):
    """UnifiedRadixCache for full attention, with the tree core of that name."""
    import dataclasses

    from sglang.srt.mem_cache.unified_cache.component_type import ComponentType
    from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache
    return UnifiedRadixCache(
        dataclasses.replace(params, tree_components=(ComponentType.FULL,), tree_core_backend=core))
