import array
import gc
import types
import typing

import canopy
import numpy
import pytest
from canopy import _core


def slots(first_page: int, tokens: int, page: int = 16) -> numpy.ndarray:
    return numpy.arange(first_page * page, first_page * page + tokens, dtype=numpy.int64)


def filled(page: int = 16, **options) -> canopy.Index:
    tree = canopy.Index(page, **options)
    tree.insert(range_of(0, 64), slots(1, 64, page))
    return tree


def range_of(first: int, count: int) -> list[int]:
    return list(range(first, first + count))


IDS = range_of(0, 64)


class Strange:
    """A sequence that is neither a list nor a buffer."""

    def __len__(self):
        return 64

    def __getitem__(self, at):
        return IDS[at]


@pytest.mark.parametrize(
    "ids",
    [
        IDS,
        tuple(IDS),
        range(64),
        Strange(),
        array.array("q", IDS),
        array.array("I", IDS),
        array.array("i", IDS),
        array.array("H", IDS),
        bytes(IDS),
        memoryview(array.array("q", IDS)),
        *(numpy.array(IDS, dtype=kind) for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")),
        numpy.repeat(numpy.array(IDS), 2)[::2],
        numpy.array(IDS)[::-1][::-1],
        [numpy.int64(i) for i in IDS],
    ],
    ids=lambda ids: f"{type(ids).__name__}-{getattr(ids, 'dtype', getattr(ids, 'typecode', ''))}",
)
def test_token_ids_of_every_kind(ids):
    tree = filled()
    assert tree.match(ids).length == 64
    other = canopy.Index(16)
    other.insert(ids, slots(1, 64))
    assert other.match(IDS).length == 64


def test_dlpack_tensors_are_read():
    class Tensor:
        """Supports only DLPack, as a torch tensor does."""

        def __init__(self, values):
            self.values = values

        def __dlpack__(self, **options):
            return self.values.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.values.__dlpack_device__()

    assert filled().match(Tensor(numpy.array(IDS))).length == 64
    assert filled().match(Tensor(numpy.array(IDS, dtype=numpy.uint32))).length == 64
    with pytest.raises(TypeError, match="floating point"):
        filled().match(Tensor(numpy.array(IDS, dtype=float)))


@pytest.mark.parametrize(
    "ids, kind, words",
    [
        ([1, -1], ValueError, "from 0 to 4294967295"),
        ([1, 2**32], ValueError, "from 0 to 4294967295"),
        (numpy.array([-1], dtype=numpy.int32), ValueError, "from 0 to 4294967295"),
        (numpy.array([2**40]), ValueError, "from 0 to 4294967295"),
        (numpy.array([2**63], dtype=numpy.uint64), ValueError, "beyond 63 bits"),
        ([2**70], ValueError, "beyond 64 bits"),
        ([1.0], TypeError, "must be integers, not float"),
        (["a"], TypeError, "must be integers, not str"),
        ("text", TypeError, "not str"),
        (numpy.array([1.5]), TypeError, "buffer format"),
        (numpy.zeros((2, 2), dtype=int), ValueError, "1 dimension, not 2"),
        (array.array("d", [1]), TypeError, "buffer format"),
    ],
)
def test_what_is_no_token_id_is_refused(ids, kind, words):
    tree = filled()
    with pytest.raises(kind, match=words):
        tree.match(ids)
    assert tree.match(IDS).length == 64  # nothing broke
    if isinstance(ids, array.array):
        ids.append(ids[0])  # its buffer was given back


def test_match_hold_slots():
    tree = filled()
    hit = tree.match(IDS + [7] * 20)
    assert (hit.length, len(hit)) == (64, 64) and hit.node != 0
    with tree.hold(hit) as held:
        assert held.slots().dtype == numpy.int64
        assert held.slots().tolist() == slots(1, 64).tolist()
        assert held.slots(32).tolist() == slots(3, 32).tolist()
        assert tree.protected == 64 and tree.evict(64).size == 0
        with pytest.raises(ValueError, match="multiple of the page size"):
            held.slots(8)
        with pytest.raises(ValueError, match="multiple of the page size"):
            held.slots(80)
    assert (tree.protected, tree.evictable) == (0, 64)
    held.release()
    with pytest.raises(ValueError, match="was released"):
        held.slots()


def test_a_hit_that_was_evicted_holds_nothing():
    tree = filled()
    hit = tree.match(IDS)
    tree.evict(64)
    with tree.hold(hit) as held:
        assert held.length == 0


def test_insert_gives_back_what_was_there():
    tree = filled()
    added = tree.insert(IDS + range_of(100, 40), slots(20, 104))
    assert (added.length, added.had) == (96, 64)  # 104 tokens are 6 whole pages
    assert added.spare.tolist() == slots(20, 64).tolist()
    with tree.lock(IDS + range_of(100, 40)) as held:
        assert held.slots().tolist() == [*slots(1, 64), *slots(24, 32)]


def test_insert_below_a_hold():
    tree = filled()
    with tree.lock(IDS) as held:
        added = held.insert(IDS + range_of(500, 32), slots(9, 32))
        assert (added.length, added.had, held.length) == (96, 64, 96)
        assert tree.protected == 96
        with pytest.raises(ValueError, match="fewer tokens than the hold"):
            held.insert(IDS, slots(30, 64))
    assert tree.evictable == 96


@pytest.mark.parametrize(
    "given, words",
    [
        (slots(1, 32), "64 are needed"),
        (slots(1, 64) + 1, "in a row"),
        (numpy.zeros(64, dtype=int), "padding sink"),
        (-slots(1, 64), "in a row"),
        (numpy.array([*slots(1, 16), *slots(2, 8), *slots(7, 8), *slots(3, 32)]), "in a row"),
        (slots(2**33, 64), "in a row"),
    ],
)
def test_slots_that_are_no_pages_are_refused(given, words):
    tree = canopy.Index(16)
    with pytest.raises(ValueError, match=words):
        tree.insert(IDS, given)
    assert len(tree) == 0


def test_pages_of_one_token():
    tree = canopy.Index(1)
    given = numpy.array([9, 3, 7, 100], dtype=numpy.int32)
    tree.insert([1, 2, 3, 4], given)
    with tree.lock([1, 2, 3, 5]) as held:
        assert held.slots().tolist() == [9, 3, 7]
    with pytest.raises(ValueError, match="page 0"):
        tree.insert([8, 9], [1, 0])


def test_evict_flush_and_clear_return_slots():
    tree = filled()
    tree.insert(range_of(1000, 32), slots(10, 32), space="tenant-a")
    assert tree.match(range_of(1000, 32)).length == 0
    assert tree.match(range_of(1000, 32), space="tenant-a").length == 32
    assert tree.evict(1).tolist() == slots(1, 64).tolist()  # whole nodes, the least recently used
    assert tree.flush("tenant-a").tolist() == slots(10, 32).tolist()
    tree.insert(IDS, slots(1, 64))
    held = tree.lock(IDS)
    assert sorted(tree.clear()) == slots(1, 64).tolist() and len(tree) == 0
    held.release()


def test_namespaces():
    tree = canopy.Index(1)
    tree.insert([1, 2], [1, 2], space=("tenant", "lora", "salt"))
    assert tree.match([1, 2], space=("tenant", "lora", "salt")).length == 2
    assert tree.match([1, 2], space=("tenant", "lora")).length == 0
    assert tree.match([1, 2], space=("tenant", None, "lora")).length == 0
    assert "tenant/lora/*" in tree.tree()
    tree.insert([1, 2], [3, 4], space=("tenant", "lora", "another salt"))
    assert "tenant/lora/*1  2 tokens" in tree.tree() and "tenant/lora/*2  2 tokens" in tree.tree(), "two secrets"
    with pytest.raises(TypeError, match="space"):
        tree.match([1], space=7)


def test_bigrams():
    tree = canopy.Index(2, overlap=1)
    assert tree.insert([1, 2, 3, 4, 5], slots(1, 4, 2)).length == 4  # 4 bigrams
    assert tree.match([1, 2, 3, 4, 5]).length == 4
    assert tree.match([1, 2, 3, 4]).length == 2
    assert tree.hold(tree.match([1, 2, 3, 4])).length == 2


def test_a_hold_that_is_forgotten_is_released():
    tree = filled()
    tree.lock(IDS)
    gc.collect()
    assert tree.protected == 0


def test_a_hold_keeps_its_index():
    held = filled().lock(IDS)
    gc.collect()
    assert held.slots().size == 64


def test_what_cannot_be_made_says_why():
    with pytest.raises(ValueError, match="page_size"):
        canopy.Index(0)
    with pytest.raises(ValueError, match="capacity"):
        canopy.Index(1, capacity=0)
    with pytest.raises(ValueError, match="Did you mean.*lru"):
        canopy.Index(1, policy="lruu")
    with pytest.raises(ValueError, match="protect_after"):
        canopy.Index(1, policy={"slru": {"protect_afer": 3}})
    with pytest.raises(ValueError, match="accounting"):
        canopy.Index(1, accounting="none")
    with pytest.raises(TypeError, match="rank"):
        canopy.Index(1, policy=object())
    other = filled()
    with pytest.raises(ValueError, match="another index"):
        filled().hold(other.match(IDS))


def test_tree_in_text_and_columns():
    tree = filled()
    tree.insert(IDS[:32] + range_of(700, 32), slots(40, 64))
    columns = tree.columns()
    assert columns["length"].tolist() == [32, 32, 32]
    assert columns["parent"][1] == columns["node"][0]
    text = tree.tree()
    assert text.splitlines()[0] == "(shared)  96 tokens in 3 nodes" and text.count("32 tokens") == 3
    assert "2 more nodes, 64 tokens" in tree.tree(lines=3)
    with pytest.raises(ValueError, match="text"):
        tree.tree("xml")


def test_tree_as_frame():
    pandas = pytest.importorskip("pandas")
    frame = filled().tree("frame")
    assert isinstance(frame, pandas.DataFrame) and frame.length.sum() == 64


def test_deep_trees_are_drawn_without_recursion():
    tree = canopy.Index(1)
    ids = list(range(3000))
    for end in range(1, 3000):
        tree.insert(ids[:end], list(range(1, end + 1)))
    assert tree.tree(lines=8000).count("\n") >= 2999


def test_slots_without_numpy():
    tree = canopy.Index(page_size=4)
    tree.insert(range(12), range(40, 52))
    hit = tree.match(range(12))
    buffer = tree.slot_buffer(hit, 4)
    view = memoryview(buffer)
    assert (view.format, view.itemsize, view.shape, len(buffer)) == ("q", 8, (8,), 8)
    assert view.tolist() == tree.slots(hit, 4).tolist() == list(range(44, 52))
    assert memoryview(tree.all_slot_buffer()).tolist() == tree.all_slots().tolist()
    assert memoryview(tree.slot_buffer(tree.match(()))).tolist() == []
    del buffer
    assert view[0] == 44  # the memory is the buffer's own, as long as a view of it lives
    left = tree.evict_buffer(4)
    assert memoryview(left).tolist() == list(range(40, 52)) and len(tree.evict_buffer(1)) == 0
    tree.insert(range(12), range(40, 52))
    assert memoryview(tree.evict_buffer(1, 1)).tolist() == [10, 11, 12], "numbers of pages"
    with pytest.raises(RuntimeError, match="evicted between"):
        tree.hold_whole(hit)
    with pytest.raises(ValueError, match="evicted"):
        tree.slot_buffer(hit)


def test_an_index_of_page_numbers():
    tree = canopy.Index(page_size=4, slots_a_page=1)
    added = tree.insert(range(12), [7, 3, 9])
    assert added.length == 12
    hit = tree.match(range(8))
    assert tree.slots(hit).tolist() == [7, 3] and memoryview(tree.slot_buffer(hit, 4)).tolist() == [3]
    with tree.hold_whole(hit) as held:
        assert held.slots().tolist() == [7, 3]
        assert held.insert([*range(8), 1, 2, 3, 4], [5]).had == 8
    assert tree.insert(range(12), [11, 12, 13]).spare.tolist() == [11, 12, 13]
    assert sorted(tree.evict(100).tolist()) == [3, 5, 7, 9]
    with pytest.raises(ValueError, match="page 0"):
        tree.insert(range(4), [0])


class Key(typing.NamedTuple):
    token_ids: object
    limit: int | None = None
    extra_key: str | None = None
    cache_salt: str | None = None


class Result(typing.NamedTuple):
    length: int
    first: canopy.Hit
    second: canopy.Hit
    third: canopy.Hit
    more: int = 7


def test_keys_that_are_objects():
    tree = canopy.Index(page_size=4)
    tree.insert(range(12), range(4, 16))
    tree.insert(range(8), range(20, 28), space=("lora", None, "salt"))
    matcher = canopy._core.KeyMatcher(tree, Result, (7,))
    match = lambda *key: matcher.match(types.SimpleNamespace(key=Key(*key)))  # noqa: E731
    result = match(array.array("q", range(12)))
    assert type(result) is Result and result.length == 12 and result.more == 7
    assert result.first is result.second is result.third and tree.slots(result.first).tolist() == list(range(4, 16))
    assert match(range(12), 11).length == 8
    assert match(range(12), None, "lora", "salt").length == 8
    assert match(range(12), None, "lora").length == match(range(12), None, None, "salt").length == 0
    for wrong, error in ((types.SimpleNamespace(key=Key("text")), TypeError), (types.SimpleNamespace(key=3), AttributeError),
                         (types.SimpleNamespace(key=Key(range(4), -1)), OverflowError)):
        with pytest.raises(error):
            matcher.match(wrong)
    tree.match(range(12))
    matcher.touch(Key(range(12), None, "lora", "salt"))
    assert sorted(tree.evict(1).tolist()) == list(range(12, 16)), "what was touched last stays"
    with pytest.raises(TypeError, match="tuple"):
        canopy._core.KeyMatcher(tree, int, (7,))


def test_hits_and_holds_that_are_used_again():
    tree = filled()
    kept = [tree.match(IDS) for _ in range(600)]
    holds = [tree.hold(hit) for hit in kept]
    assert {hit.length for hit in kept} == {64} and tree.protected == 64
    del kept[::2], holds[::2]
    assert tree.match(IDS[:16]).length == 16 and {hit.length for hit in kept} == {64}
    assert tree.protected == 64 and {hold.length for hold in holds} == {64}
    del holds
    gc.collect()
    assert tree.protected == 0


def test_nothing_is_released_twice():
    tree = canopy.Index()
    tree.insert([1, 2], [1, 2])
    held = tree.hold(tree.match([1, 2]))
    canopy._core.release(held)
    canopy._core.release(held)
    canopy._core.release(None)
    assert tree.protected == 0


def test_changes_say_what_came_and_left():
    index = canopy.Index(page_size=2, changes=True)
    words = lambda *tokens: numpy.array(tokens, dtype=numpy.int64).tobytes()  # noqa: E731
    index.insert([1, 2, 3, 4, 5, 6], range(2, 8), space=("lora", None, "salt"))
    index.insert([1, 2, 3, 4, 7, 8], range(8, 14), space=("lora", None, "salt"))
    changes = index.take_changes()
    (kind, node, parent, space, added), split, (_, other, below, _, rest) = changes
    assert (kind, parent, space, added) == ("added", 0, ("lora", None, "salt"), words(1, 2, 3, 4, 5, 6))
    assert split == ("split", node, below, 4) and rest == words(7, 8)
    assert index.take_changes() == []
    index.evict(2)
    assert index.take_changes() == [("removed", node)]
    index.clear()
    assert index.take_changes() == [("cleared",)]
    assert index.request_begun(4, 0) == 0  # a log is no feed
    with pytest.raises(ValueError, match="changes=True"):
        canopy.Index().take_changes()


def test_a_look_up_makes_no_namespace_and_one_that_nothing_needs_is_forgotten():
    tree = canopy.Index(16)
    ids = array.array("q", IDS[:32])
    early = tree.match(ids, space=(None, None, "early"))  # nothing is there, and it keeps its name
    for number in range(3000):
        assert tree.match(ids, space=(None, None, f"salt {number}")).length == 0
    assert len(tree.flush(("a", None, "b"))) == 0 and tree.use()["spaces"] == 1
    kept = tree.lock(ids, space="kept")  # a hold of nothing
    hits = {}
    for number in range(3000):
        space = (None, None, f"salt {number}")
        tree.insert(ids, slots(1 + 2 * number, 32), space=space)
        if number % 100 == 0:
            hits[space] = tree.match(ids, space=space)
        if number >= 10:
            tree.evict(32)  # the oldest
    assert tree.use()["spaces"] < 2100 and len(tree) == 320
    for space, hit in hits.items():  # a prefix that is not in the tree has no slots of another salt
        assert tree.hold(hit).length == tree.match(ids, space=space).length == 0
    kept.insert(ids, slots(7000, 32))
    tree.hold(early).insert(ids, slots(8000, 32))
    assert tree.slots(tree.match(ids, space="kept"))[0] == 7000 * 16
    assert tree.slots(tree.match(ids, space=(None, None, "early")))[0] == 8000 * 16
    assert tree.match(ids).length == tree.match(ids, space=(None, None, "later")).length == 0


def test_changes_name_the_namespaces_that_they_had():
    tree = canopy.Index(16, changes=True)
    alive = {}
    for number in range(5000):
        space = (None, None, f"salt {number}")
        tree.insert(IDS[:16], slots(1 + number, 16), space=space)
        if number % 3 == 0:
            tree.evict(16)
        if number % 7 == 0:
            for kind, *facts in tree.take_changes():
                if kind == "added":
                    alive[facts[0]] = facts[2]
                else:
                    del alive[facts[0]]
            assert len(alive) == tree.use()["nodes"]
            assert all(tree.match(IDS[:16], space=space).length == 16 for space in list(alive.values())[-20:])


def test_half_of_a_surrogate_pair_is_a_name_like_others():
    tree = canopy.Index(16)
    tree.insert(IDS, slots(1, 64), space=(None, None, "\ud800"))
    assert tree.match(IDS, space=(None, None, "\ud800")).length == 64
    assert not any(tree.match(IDS, space=(None, None, salt)).length for salt in ("\udc00", "\\ud800", "?", "\ufffd"))
    tree.insert(IDS, slots(10, 64), space="\udfff")
    assert "\ufffd" in tree.tree()  # names are shown by marks
    with pytest.raises(ValueError, match="null character"):
        canopy.Index(16, feed="a\0b")


def test_a_prompt_that_cannot_be_a_key_may_be_one_that_is_not_cached():
    tree = filled(1)
    Result = typing.NamedTuple("Result", [("length", int), ("a", object), ("b", object), ("c", object)])
    keys = types.SimpleNamespace
    messages = []
    for unfit in (array.array("q", [-1, 2]), array.array("q", [2**32, 2]), array.array("i", [-1])):
        key = keys(key=keys(token_ids=unfit, extra_key=None, cache_salt=None, limit=None))
        with pytest.raises(_core.UnfitKey, match="from 0 to 4294967295"):
            _core.KeyMatcher(tree, Result, ()).match(key)
        found = _core.KeyMatcher(tree, Result, (), messages.append).match(key)
        assert found.length == 0 and tree.hold_whole(found.a).length == 0
    assert len(messages) == 3 and "from 0 to 4294967295" in messages[0] and issubclass(_core.UnfitKey, ValueError)


def test_a_class_that_does_not_make_its_index():
    class Mine(canopy.Index):
        def __init__(self): ...

    class Engine(canopy.Engine):
        def __init__(self): ...

    class Groups(_core.GroupIndex):
        def __init__(self): ...

    for call in (lambda: Mine().match([1]), lambda: Mine().insert([1], [1]), lambda: Mine().lock([1]),
                 lambda: Mine().evict(1), lambda: _core.KeyMatcher(Mine(), tuple, ()), lambda: Groups().find([1]),
                 lambda: Groups().insert([1], [0]), lambda: Groups().evict(0), lambda: Engine().begin([1, 2, 3]),
                 lambda: Engine().fetch([1, 2]), lambda: memoryview(_core.SlotBuffer.__new__(_core.SlotBuffer))):
        with pytest.raises(TypeError):
            call()
