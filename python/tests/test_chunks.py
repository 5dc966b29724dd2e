"""The order in which chunks leave, with contexts and chunks like vLLM's. Beside vLLM itself: tests/peers/vllm_lockstep.py."""
import gc
import hashlib
import random

import canopy
import pytest
from canopy import _core

PAGE = 16


class Context:
    """As much of vLLM's ReqContext as is used."""

    def __init__(self, keys=(), page=PAGE):
        self._state, self._offload_key_positions = {}, {key: (at + 1) * page for at, key in enumerate(keys)}

    def get_state(self, kind):
        return self._state.get(kind)

    def set_state(self, value):
        self._state[type(value)] = value


class Chunk:
    def __init__(self, number, ref_cnt=-1):
        self.chunk_id, self.ref_cnt = number, ref_cnt


def path(*words, group=0):
    """Keys of a prompt: each is a hash of all words up to it."""
    keys, last = [], b""
    for word in words:
        last = hashlib.sha256(last + str(word).encode()).digest()
        keys.append(last + group.to_bytes(4, "big"))
    return keys


class Manager:
    """The calls that vLLM's manager makes."""

    def __init__(self, capacity, policy="lru", feed=""):
        self.core = _core.Chunks(capacity, policy, feed)
        self.free, self.capacity = list(range(capacity)), capacity

    def store(self, keys, context, stored=True):
        new = [key for key in keys if key not in self.core.chunks]
        self.core.accessed(keys, context)
        evicted = []
        if len(new) > len(self.free):
            gone = self.core.evict(len(new) - len(self.free), set(keys))
            if gone is None:
                return None
            evicted = [key for key, _ in gone]
            self.free += [chunk.chunk_id for _, chunk in gone]
        for key in new:
            self.core.insert(key, Chunk(self.free.pop()), context)
        if stored:
            self.stored(new)
        return evicted

    def stored(self, keys):
        for key in keys:
            self.core.chunks[key].ref_cnt = 0
            self.core.mark_evictable(key)

    def request(self, keys, reused=None):
        context = Context(keys)
        evicted = self.store(keys, context)
        self.core.finished([keys], set(keys if reused is None else reused), context)
        return evicted


def test_the_oldest_request_leaves_first_its_end_before_its_beginning():
    manager = Manager(6)
    a, b = path("a", 1, 2), path("b", 1, 2)
    manager.request(a)
    manager.request(b)
    assert manager.request(path("c", 1)) == [a[2], a[1]]
    manager.request(b[:2])  # a use of the beginning
    assert manager.request(path("d", 1, 2)) == [a[0], b[2], path("c", 1)[1]]


def test_a_shared_beginning_outlives_what_continues_it():
    manager = Manager(5)
    trunk = path("t", 1)
    manager.request([*trunk, path("t", 1, "x")[2]])
    manager.request([*trunk, path("t", 1, "y")[2]])
    assert manager.request(path("n", 1, 2)) == [path("t", 1, "x")[2], path("t", 1, "y")[2]]
    assert manager.request(path("m", 1)) == [trunk[1], trunk[0]]


def test_exactly_as_many_leave_as_requested_or_none():
    manager = Manager(4)
    a = path("a", 1, 2, 3)
    manager.request(a)
    core = manager.core
    for protected, count in (([a[3]], 1), ([a[1]], 3), (a, 1), ([], 5)):
        assert core.evict(count, set(protected)) is None and len(core.chunks) == 4
    assert [key for key, _ in core.evict(2, {a[1]})] == [a[3], a[2]]
    assert core.evict(0, set()) == []
    assert core.facts()["chunks"] == 2 and core.facts()["movable"] == 2


def test_a_pinned_chunk_keeps_what_it_continues():
    manager = Manager(4)
    a = path("a", 1, 2, 3)
    manager.request(a)
    core = manager.core
    core.mark_non_evictable(a[1])
    assert core.facts()["movable"] == 2 and core.facts()["protected"] == 2 * PAGE
    assert core.evict(3, set()) is None
    assert [key for key, _ in core.evict(2, set())] == [a[3], a[2]]
    assert core.evict(1, set()) is None
    core.mark_evictable(a[1])
    assert [key for key, _ in core.evict(2, set())] == [a[1], a[0]]


def test_a_chunk_under_way_stays():
    manager = Manager(3)
    a = path("a", 1, 2)
    context = Context(a)
    manager.store(a, context, stored=False)
    assert manager.core.facts()["movable"] == 0
    assert manager.request(path("b")) is None
    manager.stored(a)
    assert manager.request(path("b")) == [a[2]]


def test_a_failed_store_and_the_chunks_behind_it():
    manager = Manager(4)
    a = path("a", 1, 2)
    context = Context(a)
    manager.store(a, context, stored=False)
    manager.core.remove(a[1])
    manager.free.append(1)
    manager.stored([a[0], a[2]])
    assert a[1] not in manager.core.chunks and manager.core.facts()["movable"] == 2
    with pytest.raises(KeyError):
        manager.core.remove(a[1])
    manager.request(a[:2])  # the middle comes back, by a request that knows nothing of the end: it continues again
    assert [key for key, _ in manager.core.evict(3, set())] == [a[2], a[1], a[0]]


def test_a_chunk_without_what_it_continues_is_found_by_it():
    manager = Manager(8)
    a = path("a", 1, 2)
    context = Context(a)
    manager.store(a[1:], context)
    manager.core.finished([a[1:]], set(), context)
    manager.request(path("b"))
    manager.request(a[:1])
    assert [key for key, _ in manager.core.evict(4, set())] in ([a[2], path("b")[0], a[1], a[0]], [a[2], a[1], path("b")[0], a[0]])


def test_groups_have_chunks_of_their_own():
    manager = Manager(8)
    full, window = path("a", 1, group=0), path("a", 1, group=1)
    context = Context(full)
    context._offload_key_positions.update({window[0]: PAGE, window[1]: 2 * PAGE})
    manager.store([*full, window[1]], context)
    manager.core.finished([full, window[1:]], set(), context)
    assert manager.core.facts()["chunks"] == 3
    assert {key for key, _ in manager.core.evict(2, set())} == {full[1], window[1]}  # both end at the same token


def test_clear_forgets_all_and_old_contexts():
    manager = Manager(4)
    a = path("a", 1)
    context = Context(a)
    manager.store(a, context)
    manager.core.clear()
    manager.free = list(range(4))
    assert not manager.core.chunks and manager.core.facts()["chunks"] == 0
    manager.store(a, context)  # the request goes on
    manager.core.finished([a], set(), context)
    assert len(manager.core.evict(2, set())) == 2


@pytest.mark.parametrize("policy", ["lru", "hazard", "s3_fifo", "arc", "sieve", {"slru": {"protect_after": 2}}])
def test_random_requests_keep_the_rules(policy):
    prng, manager, texts = random.Random(str(policy)), Manager(40, policy), []
    parent = {}
    for _ in range(1500):
        words = list(prng.choice(texts))[: prng.randrange(1, 12)] if texts and prng.random() < 0.8 else []
        words += [prng.randrange(4) for _ in range(prng.randrange(1, 8))]
        texts.append(words)
        del texts[:-40]
        keys = path(*words)
        parent.update(dict(zip(keys, [None, *keys])))
        there = set(manager.core.chunks)
        evicted = manager.request(keys, [key for key in keys if key in there])
        for key in evicted:
            there.discard(key)
            assert not any(parent[other] == key for other in there)
        assert set(manager.core.chunks) == there | set(keys) and len(manager.core.chunks) <= 40
    assert manager.core.facts()["movable"] == manager.core.facts()["chunks"]
    assert not manager.core.take_failure()


class Few(canopy.Policy):
    """The chunk with the fewest hits leaves first."""

    def __init__(self):
        self.seen = []

    def rank(self, node):
        assert node.length == PAGE and node.begin % PAGE == 0
        return node.hits, node.last_access

    def ended(self, request, nodes):
        self.seen.append((request.prompt, request.matched, sum(1 for _ in nodes)))


def test_a_policy_in_python():
    policy = Few()
    manager = Manager(4, policy)
    a, b = path("a", 1), path("b", 1)
    manager.request(a, [])
    manager.request(b, [])
    manager.request(a)
    assert manager.request(path("c", 1), []) == [b[1], b[0]]
    assert policy.seen == [(32, 0, 2), (32, 0, 2), (32, 32, 2), (32, 0, 2)]
    assert not manager.core.take_failure()


class Raises(canopy.Policy):
    def rank(self, node):
        raise ZeroDivisionError("on purpose")


def test_a_policy_that_raises_is_left_out():
    manager = Manager(4, Raises())
    a = path("a", 1, 2)
    manager.request(a)
    assert "on purpose" in manager.core.take_failure()
    assert manager.core.take_failure() == ""
    assert manager.request(path("b", 1)) == [a[2]]  # lru


@pytest.mark.parametrize("call, why", [
    (lambda core: core.insert("text", Chunk(0), Context()), TypeError),
    (lambda core: core.insert(b"abc", Chunk(0), Context()), ValueError),
    (lambda core: core.insert(path("x")[0], object(), Context(path("x"))), AttributeError),
    (lambda core: core.insert(path("x")[0], Chunk(0), object()), AttributeError),
    (lambda core: core.mark_evictable(path("x")[0]), KeyError),
    (lambda core: core.mark_non_evictable(path("x")[0]), KeyError),
    (lambda core: core.evict(1, 5), TypeError),
])
def test_wrong_arguments_raise_and_change_nothing(call, why):
    manager = Manager(4)
    a = path("a", 1)
    manager.request(a)
    with pytest.raises(why):
        call(manager.core)
    assert set(manager.core.chunks) == set(a)
    assert len(manager.core.evict(2, set())) == 2


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match="lru"):
        _core.Chunks(4, "lruu")
    with pytest.raises(ValueError, match="feed"):
        _core.Chunks(4, "lru", "a b")


def test_the_feed_has_the_tier():
    manager = Manager(8, "hazard", "canopy-test-chunks")
    manager.request(path("a", 1, 2))  # the feed begins with the first request
    source = _core.FeedSource.attach("canopy-test-chunks")
    for number in range(6):
        manager.request(path("a", 1, number))
        source.poll()
    pinned = path("a", 1, 5)[2]
    manager.core.mark_non_evictable(pinned)
    for _ in range(13):  # the engine's own sums come with each 13th operation
        manager.request(path("a", 1))
    source.poll()
    sums, (pool,) = source.sums(), source.pools()
    assert sums["in_step"] and sums["drift"] == 0 and sums["damaged"] == 0 and sums["nodes"] == 8
    assert pool["policy"] == "hazard" and pool["pages"] == 8 and pool["free"] == 0
    assert pool["protected"] == 3  # the chunk and the two that it continues
    assert sums["requests"] >= 6 and source.page_size == PAGE


def test_the_feed_counts_a_hit_of_each_chunk_that_a_request_found():
    manager = Manager(8, "lru", "canopy-test-chunk-hits")
    manager.request(path("a", 1))
    source = _core.FeedSource.attach("canopy-test-chunk-hits")
    manager.request(path("a", 1, 2), reused=[])  # the chunks that it found were not loaded, since the GPU has them
    manager.request(path("b"), reused=[])
    source.poll()
    nodes = source.nodes()
    assert sorted(zip(nodes["begin"], nodes["hits"])) == [(0, 0), (0, 1), (PAGE, 1), (2 * PAGE, 0)]


def test_nothing_is_left_of_it():
    manager = Manager(4)
    for number in range(50):
        manager.request(path(number, 1))
    del manager
    gc.collect()


@pytest.mark.parametrize("policy", ["lru", "s3_fifo"])
def test_the_length_of_a_chunk_is_not_that_of_the_part_at_the_end_of_a_prompt(policy):
    def facts(tokens, short):
        core = _core.Chunks(8, policy, tokens=tokens)
        if short:  # vLLM looks for a part of a chunk, which ends at token 12
            (part,) = path("short")
            context = Context()
            context._offload_key_positions = {part: 12}
            core.accessed([part], context)
            core.insert(part, Chunk(7), context)
            core.finished([[part]], set(), context)
        keys = path("a", 1, 2, 3)
        context = Context(keys)
        for number, key in enumerate(keys):
            core.insert(key, Chunk(number), context)
            core.mark_evictable(key)
        core.finished([keys], set(), context)
        gone = [key for key, _ in core.evict(2, set())]
        assert gone == [keys[3], keys[2]] or short
        return core.facts()["page_size"]

    assert facts({}, False) == facts({0: PAGE}, False) == facts({0: PAGE}, True) == PAGE
    core = _core.Chunks(8, policy)  # no call reports it: an empty tier takes the next one
    context = Context()
    context._offload_key_positions = {path("short")[0]: 12}
    core.accessed(path("short"), context)
    assert core.facts()["page_size"] == 12
    keys = path("a", 1)
    core.insert(keys[0], Chunk(0), Context(keys))
    assert core.facts()["page_size"] == PAGE


def test_ctrl_c_is_not_the_policys():
    class Raises(canopy.Policy):
        what = None

        def rank(self, node):
            if self.what:
                raise self.what
            return node.last_access

    policy = Raises()
    core = _core.Chunks(4, policy)
    keys = path("a", 1, 2)
    context = Context(keys)
    for number, key in enumerate(keys):
        core.insert(key, Chunk(number), context)
        core.mark_evictable(key)
    policy.what = KeyboardInterrupt()
    assert len(core.evict(1, {keys[0]})) == 1
    with pytest.raises(KeyboardInterrupt):  # it is the user's, and the policy stays
        core.take_failure()
    policy.what = None
    assert core.policy == "Raises" and core.take_failure() == "" and len(core.chunks) == 2
    policy.what = ZeroDivisionError("mine")
    core.mark_non_evictable(keys[1])
    core.mark_evictable(keys[1])
    assert "ZeroDivisionError: mine; chunks leave in the order of lru" in core.take_failure() and core.policy == "lru"
