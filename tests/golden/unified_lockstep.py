#!/usr/bin/env python3
"""Scenarios recorded from SGLang's UnifiedRadixCache.

    unified_lockstep.py SGLANG OUT [--seed S] [--sequences N] [--operations N]

Runs random operations on the tree core of SGLang 0.5.23 (SGLANG: its wheel, unpacked; msgspec and numpy on PYTHONPATH) and
writes them to OUT as scenario files (tests/support/scenario.h), with what the original answered as expectations: lengths of
matches, what inserts found, and every evicted page in order. Run on Canopy with `accounting: sglang_unified` a file that
passes is a sequence without a difference. Without the wheel it says so and ends with 77, which CTest counts as skipped.

Only the tree core runs: torch is replaced by lists of slot numbers, everything else that SGLang imports by empty modules.
"""
import argparse
import importlib.abc
import importlib.machinery
import importlib.util
import pathlib
import random
import sys
import types
from array import array

REAL = (
    "sglang.srt.mem_cache.base_prefix_cache", "sglang.srt.mem_cache.radix_cache", "sglang.srt.mem_cache.evict_policy",
    "sglang.srt.mem_cache.utils", "sglang.srt.mem_cache.cache_init_params", "sglang.srt.mem_cache.unified_cache",
)


class AnyClass(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()


class Anything(metaclass=AnyClass):
    """Stands for whatever the tree core imports and this recording does not use."""

    def __init__(self, *_, **__):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *_, **__):
        return Anything()

    def __bool__(self):
        return False

    def __mro_entries__(self, _bases):
        return (object,)

    def __or__(self, other):
        return other

    __ror__ = __or__

    def __class_getitem__(cls, _item):
        return cls


class EmptyModule(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return AnyClass(name, (Anything,), {})


class EmptyModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands for all of a package but the modules whose names begin with one of `real`."""

    def __init__(self, real=REAL, package="sglang"):
        self.real, self.package = real, package

    def find_spec(self, name, _path, _target=None):
        if name.split(".")[0] != self.package or name.startswith(self.real):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return EmptyModule(spec.name)

    def exec_module(self, module):
        pass


class Slots(list):
    """The functions of a tensor that the tree core calls."""

    def __getitem__(self, at):
        return Slots(list.__getitem__(self, at)) if isinstance(at, slice) else list.__getitem__(self, at)

    def clone(self):
        return Slots(self)

    def numel(self):
        return len(self)


def load(sglang):
    torch = types.ModuleType("torch")
    torch.Tensor, torch.int64, torch.device = Slots, "int64", lambda name: name
    torch.empty = lambda *_, **__: Slots()
    torch.tensor = lambda values, **_: Slots(values)
    torch.cat = lambda parts: Slots(sum((list(part) for part in parts), []))
    sys.modules["torch"] = torch
    sys.path.insert(0, str(sglang))
    finder = EmptyModules()
    sys.meta_path.insert(0, finder)
    # Packages whose own __init__ would import the whole server.
    for name in ("sglang", "sglang.srt", "sglang.srt.mem_cache", "sglang.srt.mem_cache.unified_cache"):
        module = types.ModuleType(name)
        module.__path__ = [str(sglang / name.replace(".", "/"))]
        sys.modules[name] = module
    from sglang.srt.mem_cache.unified_cache import unified_tree_core
    from sglang.srt.mem_cache.unified_cache.components import full
    from sglang.srt.mem_cache.radix_cache import RadixKey
    from sglang.srt.mem_cache.base_prefix_cache import InsertParams, MatchPrefixParams
    return unified_tree_core, full, RadixKey, InsertParams, MatchPrefixParams


class Original:
    def __init__(self, loaded, page, eagle, policy, options):
        core, full, self.key_type, self.insert_params, self.match_params = loaded
        params = types.SimpleNamespace(
            page_size=page, is_eagle=eagle, enable_session_radix_cache=False, eviction_policy=policy,
            eviction_policy_config=options, token_to_kv_pool_allocator=None, enable_kv_cache_events=False,
            dynamo_kv_event_format=False, kv_event_lora_names=None)
        cache = types.SimpleNamespace(enable_session_radix_cache=False)
        self.full = full.FullComponent(cache, params)
        self.kind = self.full.component_type
        self.tree = core.UnifiedTreeCore(params, {self.kind: self.full})
        self.tree.kv_events = Anything()
        self.slot, self.word = 1, {}

    def key(self, words, space):
        return self.key_type(array("q", words), "tenant" + str(space) if space else None)

    def match(self, words, space):
        found = self.tree.match_prefix(self.match_params(key=self.key(words, space)))
        lock = self.tree.inc_lock_ref(found.last_device_node)
        return found.device_prefix_len, (found.last_device_node, lock)

    def insert(self, words, space, priority, inserted, lock):
        slots = Slots(range(self.slot, self.slot + len(words)))
        self.slot += len(words)
        self.word.update(zip(slots, words))
        step = self.tree.begin_insert(self.insert_params(
            key=self.key(words, space), value=slots, priority=priority, inserted_len=inserted))
        assert step.result is not None
        node = step.result.last_device_node
        deeper = (node, self.tree.inc_lock_ref(node))
        self.release(lock)
        return step.result.prefix_len, deeper

    def release(self, lock):
        self.tree.dec_lock_ref(lock[0], lock[1].to_dec_params())

    def evict(self, tokens, page):
        freed, done = [], {self.kind: 0}
        self.tree.evict_device_start(self.kind, tokens)
        while done[self.kind] < tokens:
            step = self.tree.evict_device_next_node(self.kind, done)
            if step.node_id is None:
                break
            leaf = self.tree.evict_device_leaf(step.node_id, False)
            for kind, count in leaf.tracker.items():
                done[kind] += count
            for value in leaf.device_frees.pop(self.kind, []):
                freed += value
        self.tree.evict_device_end(self.kind)
        return [self.word[slot] for slot in freed[::page]]

    def sizes(self):
        return self.tree.evictable_size(), self.tree.protected_size()


def units(words, page, eagle):
    return max(len(words) - eagle, 0) // page * page


# Policies with the options that they have in SGLang, and those here.
POLICIES = {
    "lru": ("lru", None, "{}"), "lfu": ("lfu", None, "{}"), "fifo": ("fifo", None, "{}"), "filo": ("filo", None, "{}"),
    "mru": ("mru", None, "{}"), "priority": ("priority", None, "{}"), "slru": ("slru", None, "{}"),
    "slru3": ("slru", {"protected_threshold": 3}, '{"protect_after":3}'),
    "tlru": ("tlru", {"threshold": 12, "next_prompt_estimate": 2}, '{"threshold":12,"next_prompt":2}'),
}


def sequence(loaded, seed, operations, page, eagle, name):
    """The lines of a scenario."""
    prng = random.Random(f"{seed} {page} {eagle} {name}")
    policy, options, ours = POLICIES[name]
    original = Original(loaded, page, eagle, policy, options)
    lines = [f"# Recorded from UnifiedRadixCache of SGLang 0.5.23: seed {seed}.",
             f"engine page_size={page} overlap={int(eagle)} capacity=100000 namespaces=2 policy={policy} "
             f'policy_options={ours} options={{"accounting":sglang_unified}}']
    open_requests, texts, named = [], [[] for _ in range(2)], 0

    def prompt(space):
        texts_here = texts[space]
        words = list(prng.choice(texts_here)) if texts_here and prng.random() < 0.8 else []
        words = words[:prng.randrange(len(words) + 1)] if words and prng.random() < 0.6 else words
        words += [prng.randrange(1, 4) for _ in range(prng.randrange(0, 6 * page))]
        texts_here.append(words)
        return words or [1]

    def text_of(words):
        return " ".join(map(str, words))

    for _ in range(operations):
        choice = prng.random()
        if choice < 0.45 or not open_requests:
            space, named = prng.randrange(2), named + 1
            words = prompt(space)
            length, lock = original.match(words, space)
            lines.append(f"match as=r{named} in={space} {said(words)} -> {length}")
            open_requests.append({"name": f"r{named}", "space": space, "words": words, "lock": lock, "length": length,
                                  "inserted": 0, "priority": prng.randrange(-2, 3)})
        elif choice < 0.75:
            request = prng.choice(open_requests)
            if prng.random() < 0.3:
                request["words"] = request["words"] + [prng.randrange(1, 4) for _ in range(prng.randrange(1, 2 * page + 2))]
            least = request["length"]
            words = request["words"]
            if prng.random() < 0.4:  # a chunk
                words = words[:prng.randrange(min(least + eagle, len(words)), len(words) + 1)]
            if units(words, page, eagle) < least or units(words, page, eagle) == 0:
                continue
            had, request["lock"] = original.insert(words, request["space"], request["priority"], request["inserted"],
                                                   request["lock"])
            request["length"] = request["inserted"] = units(words, page, eagle)
            lines.append(f"insert as={request['name']} below={request['name']} in={request['space']} "
                         f"priority={request['priority']} {said(words)} -> had {had}")
        elif choice < 0.9:
            request = open_requests.pop(prng.randrange(len(open_requests)))
            original.release(request["lock"])
            lines.append(f"release {request['name']}")
        else:
            pages = prng.randrange(1, 12)
            left = original.evict(pages * page, page)
            lines.append(f"evict {pages} -> left {said(left) or 'none'}")
        evictable, protected = original.sizes()
        lines.append(f"state -> evictable {evictable}, protected {protected}")
    for request in open_requests:
        original.release(request["lock"])
        lines.append(f"release {request['name']}")
    lines.append(f"evict 100000 -> left {said(original.evict(10 ** 9, page)) or 'none'}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sglang", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sequences", type=int, default=2)
    parser.add_argument("--operations", type=int, default=200)
    args = parser.parse_args()
    if not (args.sglang / "sglang/srt/mem_cache/unified_cache/unified_tree_core.py").exists():
        print(f"SKIPPED: {args.sglang} is no unpacked wheel of sglang 0.5.23", file=sys.stderr)
        return 77
    try:
        import msgspec, numpy  # noqa: F401  the tree core needs them
    except ImportError as missing:
        print(f"SKIPPED: {missing}", file=sys.stderr)
        return 77
    loaded = load(args.sglang)
    args.out.mkdir(parents=True, exist_ok=True)
    for seed in range(args.seed, args.seed + args.sequences):
        for policy in POLICIES:
            for page in (1, 4, 16):
                for eagle in (False, True):
                    lines = sequence(loaded, seed, args.operations, page, eagle, policy)
                    name = f"{policy}_page{page}{'_bigram' if eagle else ''}_{seed}.scenario"
                    (args.out / name).write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
