"""The index of several groups, which is under SGLang's hybrid models."""
import pathlib

import canopy
import pytest
from canopy import _core

IDS = list(range(32))


def index(page=4, window=8, states=False, **options):
    reaches = [_core.Reach("window", window), *([_core.Reach("state", 1)] if states else [])]
    return _core.GroupIndex(page, "lru", reaches, accounting="sglang_unified", **options)


def numbers(buffer):
    return list(memoryview(buffer))


def test_a_window_behind_which_nothing_is_kept():
    tree = index()
    grown = tree.insert(IDS, [0, 16])
    assert (grown.length, grown.had, grown.hold.length) == (32, 0, 32)
    assert numbers(grown.at(0)) == list(range(8)) and numbers(grown.at(1)) == [4, 5, 6, 7]
    assert tree.sizes(0) == (0, 32) and tree.sizes(1) == (8, 8)  # the hold has the last 8 tokens of the window
    assert tree.held_from(grown.hold, 1) == 24
    tree.relax(grown.hold, 1)
    assert tree.sizes(1) == (16, 0) and tree.sizes(0) == (0, 32)


def test_a_match_needs_its_window():
    tree = index()
    tree.insert(IDS, [0, 16])
    assert tree.find(IDS[:16])[0] == 0 and tree.find(IDS[:16])[2] == 16  # no window there
    assert tree.find(IDS[:24])[0] == 24
    assert tree.find([7] * 8) == (0, 0, 0)


def test_pages_that_another_request_brought_first():
    tree = index()
    tree.insert(IDS, [0, 16])
    grown = tree.insert(IDS, [0, 0])
    assert grown.had == 32 and not len(grown.taken(0))
    assert numbers(grown.at(1)) == [0, 1, 2, 3]  # the window that was missing
    path = numbers(tree.path(grown.hold.node))
    assert len(path) == 8 and all(path)
    # Numbers that were not taken are handed out again, and none is handed out twice.
    more = tree.insert([9] * 8, [0, 0])
    used = numbers(tree.all(1))
    assert len(set(used)) == len(used) == 10 and more.had == 0


def test_the_start_must_be_resident():
    tree = index()
    with pytest.raises(ValueError, match="first"):
        tree.insert(IDS, [8, 8])
    with pytest.raises(ValueError, match="one number for each group"):
        tree.insert(IDS, [0])
    assert tree.sizes(0) == (0, 0)


def test_a_leaf_that_nothing_can_match_leaves_at_its_release():
    tree = index()
    grown = tree.insert(IDS, [0, 32])  # nothing of the window
    node = grown.hold.node
    assert tree.hold_node(node) is None
    del grown
    assert tree.sizes(0) == (32, 0)  # out of the tree, and given out by the next eviction
    assert tree.find(IDS) == (0, 0, 0)
    left = tree.evict(1)
    assert len(left[0]) == 8 and len(left[1]) == 0
    assert tree.sizes(0) == (0, 0)


def test_evictions_return_the_pages_of_all_groups():
    tree = index(states=True)
    hold = tree.insert(IDS, [0, 0, 28]).hold
    assert numbers(tree.path(hold.node, 2))[-1] > 0
    hold.release()
    assert [tree.sizes(group) for group in range(3)] == [(32, 0), (32, 0), (4, 0)]
    left = [0, 0, 0]
    while any(got := [len(numbers) for numbers in tree.evict(0)]):
        left = [a + b for a, b in zip(left, got)]
    assert left == [8, 8, 1]


def test_states_of_a_path_are_limited():
    tree = _core.GroupIndex(4, "lru", [_core.Reach("state", 1, max_per_path=2)])
    evicted = []
    for end in range(4, 33, 4):
        evicted += numbers(tree.insert(IDS[:end], [0, end - 4]).evicted(1))
    assert len(evicted) == 6 and tree.sizes(1) == (8, 0)


def test_functions_of_one_group_are_refused():
    tree = index()
    for call in (lambda: tree.evict_buffer(4), lambda: tree.flush("tenant"), lambda: tree.lock(IDS).insert(IDS, IDS)):
        with pytest.raises(TypeError, match="groups with a reach"):
            call()


def test_a_feed_follows_all_groups(tmp_path: pathlib.Path):
    recording = tmp_path / "hybrid.canopy"
    tree = index(states=True, feed=recording)
    tree.insert(IDS, [0, 16, 28])
    tree.evict(1)
    tree.clear()
    assert tree.insert(IDS, [0, 16, 28]).had == 0
    del tree
    assert recording.stat().st_size > 0


def test_a_policy_that_raises_loses_no_page():
    class Bad(canopy.Policy):
        def rank(self, node):
            raise RuntimeError("no rank")

    tree = _core.GroupIndex(4, Bad(), [_core.Reach("window", 8)])
    with pytest.raises(RuntimeError, match="no rank") as raised:
        tree.insert(IDS, [0, 0]).hold.release()
        tree.insert(IDS, [0, 0])
        tree.evict(0)
    result = raised.value.canopy_result  # result of the part that was done before it raised
    assert isinstance(result, (list, _core.Grown))
