import gc
import traceback

import canopy
import numpy
import pytest


class KeepShared(canopy.Policy):                      # the smallest is evicted first
    def rank(self, node):                             # node.hits, .length, .begin, .last_access, .space, .tag ...
        return node.hits * node.length, node.last_access


class Lru(canopy.Policy):
    """what was used longest ago is evicted first"""

    def rank(self, node):
        return node.last_access


class Calls(Lru):
    """Counts its calls."""

    def __init__(self):
        self.arrivals, self.ends, self.causes, self.clears = [], [], [], 0

    def arrived(self, request):
        self.arrivals.append((request.id, request.prompt))

    def ended(self, request, path):
        self.ends.append((request.ending, sum(node.length for node in path)))

    def evicted(self, node, eviction):
        self.causes.append((eviction.cause, node.length))

    def cleared(self):
        self.clears += 1


def three(policy) -> canopy.Index:
    """Prefixes 1, 2 and 3 of 1, 2 and 3 tokens, where 2 was used last."""
    tree = canopy.Index(1, policy=policy)
    for first in (1, 2, 3):
        tree.insert([first * 10 + i for i in range(first)], [first * 10 + i for i in range(first)])
    tree.match([20, 21])
    return tree


def order(tree: canopy.Index) -> list[int]:
    return [int(tree.evict(1)[0]) // 10 for _ in range(3)]


@pytest.mark.parametrize(
    "rank, expected",
    [
        (lambda node: node.last_access, [1, 3, 2]),
        (lambda node: -node.last_access, [2, 3, 1]),
        (lambda node: float(node.length), [1, 2, 3]),
        (lambda node: -float(node.length), [3, 2, 1]),
        (lambda node: (0, -node.length), [3, 2, 1]),
        (lambda node: (node.hits, -1.5 * node.length), [3, 2, 1]),
        (lambda node: numpy.int64(node.length), [1, 2, 3]),
        (lambda node: numpy.float64(-node.length), [3, 2, 1]),
        (lambda node: (float("-inf"), node.length), [1, 2, 3]),
        (lambda node: True, [1, 2, 3]),  # equal ranks: by slot
    ],
)
def test_ranks(rank, expected):
    policy = type("P", (), {"rank": lambda self, node: rank(node)})()
    assert order(three(policy)) == expected


@pytest.mark.parametrize(
    "answer, kind, words",
    [
        (None, TypeError, "must return a number or two numbers, not NoneType"),
        ("high", TypeError, "not str"),
        ((1, 2, 3), TypeError, "a tuple of 3"),
        (float("nan"), ValueError, "nan"),
        (2**53 + 1, OverflowError, "2\\*\\*53"),
        (-(2**70), OverflowError, "2\\*\\*53"),
    ],
)
def test_ranks_that_are_none(answer, kind, words):
    policy = type("P", (), {"rank": lambda self, node: answer})()
    with pytest.raises(kind, match=words):
        canopy.Index(1, policy=policy).insert([1], [1])


def test_ints_and_floats_compare():
    ranks = {1: 1.5, 2: 2, 3: -7}
    assert order(three(type("P", (), {"rank": lambda self, node: ranks[node.length]})())) == [3, 1, 2]


def test_an_exception_keeps_its_traceback_and_changes_no_page():
    class Broken(canopy.Policy):
        def rank(self, node):
            return 1 // (node.length - 2)

    tree = canopy.Index(1, policy=Broken())
    tree.insert([1, 2, 3], [1, 2, 3])
    with pytest.raises(ZeroDivisionError) as caught:
        tree.insert([7, 8], [7, 8])
    assert "return 1 // (node.length - 2)" in "".join(traceback.format_tb(caught.value.__traceback__))
    assert sorted(tree.columns()["length"]) == [2, 3]  # the insert was whole, and its result is not lost
    assert caught.value.canopy_result.length == 2
    assert tree.evict(5).size == 5

    class Leaves(Lru):
        def evicted(self, node, eviction):
            raise KeyError(node.length)

    tree = canopy.Index(1, policy=Leaves())
    tree.insert([1, 2], [7, 8])
    with pytest.raises(KeyError) as caught:
        tree.evict(2)
    assert caught.value.canopy_result.tolist() == [7, 8]


@pytest.mark.parametrize("answer, kind", [(float("nan"), ValueError), ("three", TypeError), ((1, 2, 3), TypeError)])
def test_an_answer_that_is_no_rank_keeps_the_result_of_the_call(answer, kind):
    class Late(canopy.Policy):
        answer = 0

        def rank(self, node):
            return self.answer

    policy = Late()
    tree = canopy.Index(1, policy=policy)
    tree.insert([1, 2], [7, 8])
    tree.insert([1, 2, 3], [7, 8, 9])
    policy.answer = answer
    with pytest.raises(kind) as caught:
        tree.evict(1)  # the node above is ranked now
    assert caught.value.canopy_result.tolist() == [9] and tree.evict(2).tolist() == [7, 8]


def test_an_error_outlives_a_policy_that_is_called_meanwhile():
    tree = canopy.Index(1, policy=Lru())
    tree.insert([1, 2], [1, 2])
    with pytest.raises(ValueError):
        tree.lock([1, 2]).insert([1, 2, 3], [])  # the hold ends with the call, and its node is ranked
    assert tree.protected == 0


def test_a_node_is_borrowed():
    kept = []

    class Keeps(Lru):
        def rank(self, node):
            kept.append(node)
            return node.last_access

    tree = canopy.Index(1, policy=Keeps())
    tree.insert([1], [1])
    tree.insert([2], [2])
    with pytest.raises(ReferenceError, match="borrowed"):
        kept[0].hits
    assert kept[0] is not kept[1]


def test_a_policy_may_not_call_its_index():
    class Calls(Lru):
        def rank(self, node):
            return self.tree.evict(1).size

    policy = Calls()
    policy.tree = tree = canopy.Index(1, policy=policy)
    with pytest.raises(RuntimeError, match="already in a call"):
        tree.insert([1], [1])
    assert len(tree) == 1
    del policy.tree


def test_a_hold_may_end_inside_a_policy():
    holds = []

    class Drops(Lru):
        def rank(self, node):
            holds.clear()
            gc.collect()
            return node.last_access

    tree = canopy.Index(1, policy=Drops())
    tree.insert([1, 2], [1, 2])
    holds.append(tree.lock([1, 2]))
    tree.insert([5], [5])
    assert tree.protected == 0 and tree.evictable == 3


def test_hooks_are_called():
    policy = Calls()
    engine = canopy.Engine({"page_size": 4, "groups": {"full": {"capacity": 16, "allocator": "free_list", "eviction": "lru"}}})
    engine.use_policy(policy)
    for start in (0, 100):
        with engine.begin(range(start, start + 12), min_uncached=0) as request:
            assert request.reserve(12)
            request.finish(12)
    assert [prompt for _, prompt in policy.arrivals] == [12, 12]
    assert policy.arrivals[0][0] != policy.arrivals[1][0]
    assert [how for how, _ in policy.ends] == ["finished", "finished"]
    assert policy.causes == [("room", 12)]


def test_tags_and_spare():
    class Second(canopy.Policy):
        """A second chance for each node, once."""

        def rank(self, node):
            return node.created

        def spare(self, node):
            first, node.tag = node.tag == 0, 1
            return first

    tree = three(Second())
    assert order(tree) == [1, 2, 3]
    class Count(canopy.Policy):
        def rank(self, node):
            node.tag += 1
            return node.tag

    tree = canopy.Index(1, policy=Count())
    tree.insert([1], [1])
    tree.insert([2], [2])
    tree.match([1])
    tree.match([1])
    assert tree.evict(1).tolist() == [2]


def test_use_policy_ranks_anew():
    tree = three("lru")
    tree.use_policy(type("Longest", (), {"rank": lambda self, node: -node.length})())
    assert tree.policy == "Longest"
    assert order(tree) == [3, 2, 1]


def test_a_policy_without_rank():
    with pytest.raises(NotImplementedError, match="has no rank"):
        canopy.Index(1, policy=canopy.Policy()).insert([1], [1])
    with pytest.raises(TypeError, match="`spare` cannot be called"):
        canopy.Index(1, policy=type("P", (), {"rank": lambda s, n: 0, "spare": 3})())


def test_an_index_with_an_order_of_its_own(source_tree):
    engine = canopy.Engine({"page_size": 4, "index": "hash_chain", "groups": {"full": {"capacity": 16, "allocator": "free_list", "eviction": "lru"}}})
    longest = type("Longest", (), {"rank": lambda self, node: -node.length})()
    for policy in ("lfu", longest):
        with pytest.raises(ValueError, match="an order of its own"):
            engine.use_policy(policy)
    engine.use_policy("lru")
    chat = source_tree / "configs/workloads/chat.yaml"
    with pytest.raises(ValueError, match="an order of its own"):
        canopy.replay(workload=chat, capacity=60_000, index="hash_chain", policy=longest, limit=10)
    with pytest.raises(ValueError, match="an order of its own"):
        canopy.compare(workload=chat, capacities=[60_000], policies=[longest], index="hash_chain")


def test_many_ranks_at_once():
    class Many(canopy.Policy):
        answer = None

        def rank(self, node):
            return node.length

        def rank_many(self, nodes):
            return self.answer(nodes) if self.answer else (nodes.hits * 0, -nodes.length.astype("i8"))

    tree = three("lru")
    tree.use_policy(Many())
    assert order(tree) == [3, 2, 1]
    for answer, kind, words in (
        (lambda nodes: nodes.length[:1], ValueError, "a number for each node"),
        (lambda nodes: 1 / 0, ZeroDivisionError, "zero"),
    ):
        tree, policy = three("lru"), Many()
        policy.answer = answer
        with pytest.raises(kind, match=words):
            tree.use_policy(policy)
        assert sum(tree.columns()["length"]) == 6


def test_prints_are_read_where_they_are_wanted():
    class Reads(Calls):
        def arrived(self, request):
            self.arrivals.append(len(request.prefix_prints))

        def evicted(self, node, eviction):
            self.causes.append(len(eviction.prefix_prints))

    for wanted, arrivals, evictions in ((False, [0], [0]), ("requests", [2], [0]), ("all", [2], [2])):
        policy = Reads()
        policy.reads_prints = wanted
        engine = canopy.Engine({"page_size": 64, "groups": {"full": {"capacity": 2048, "allocator": "free_list", "eviction": "lru"}}})
        engine.use_policy(policy)
        with engine.begin(range(1100), min_uncached=0) as request:
            request.reserve(1088)
            request.finish(1088)
        engine.make_free(32)
        assert (policy.arrivals, policy.causes) == (arrivals, evictions)
    policy.reads_prints = "some"
    with pytest.raises(ValueError, match="'requests' or 'all'"):
        canopy.Index(1, policy=policy)


class Raises(canopy.Policy):
    """Raises once, in the method that is named."""

    where, what = "", staticmethod(lambda: KeyError("mine"))

    def _once(self, where):
        if self.where == where:
            self.where = ""
            raise self.what()

    def rank(self, node):
        self._once("rank")
        return -node.last_access  # mru

    def spare(self, node):
        self._once("spare")
        return False

    def evicted(self, node, why):
        self._once("evicted")


@pytest.mark.parametrize("where, call", [("rank", "insert"), ("rank", "match"), ("rank", "release"), ("spare", "evict"),
                                         ("evicted", "evict"), ("evicted", "evict_buffer")])
@pytest.mark.parametrize("group", [False, True])
def test_a_policy_that_raises_is_replaced_by_lru_where_that_is_requested(where, call, group):
    policy, failures = Raises(), []
    if group:
        tree = canopy._core.GroupIndex(1, policy, [], on_policy_failure=failures.append)
        insert = lambda ids: tree.insert(ids, [0]).hold.release()
        evict = lambda: sum(len(numbers) for numbers in tree.evict(0))
    else:
        tree = canopy.Index(1, policy, on_policy_failure=failures.append)
        insert = lambda ids: tree.insert(ids, list(range(ids[0], ids[0] + len(ids))))
        evict = lambda: len(tree.evict(4) if call == "evict" else tree.evict_buffer(4))
    for first in (1, 10, 20):
        insert(list(range(first, first + 4)))
    policy.where = where
    if call == "insert":
        insert([30, 31, 32, 33])
    elif call == "match":  # it splits a node
        tree.find([1, 2]) if group else tree.match([1, 2])
        policy.where = ""
    elif call == "release":
        hold = tree.insert([1, 2, 3, 4], [4]).hold if group else tree.lock([1, 2, 3, 4])
        hold.release()
        tree.find([9]) if group else tree.match([9])
    before = sum(tree.sizes(0)) if group else len(tree)
    assert evict() == before - (sum(tree.sizes(0)) if group else len(tree)) > 0
    if call != "match":
        assert failures == ["the policy 'Raises' raised KeyError: 'mine'; the order is that of lru from now on"]
        assert tree.policy == "lru"
    while before := evict():
        pass
    assert not (sum(tree.sizes(0)) if group else len(tree))


def test_ctrl_c_is_not_the_policys():
    policy, failures = Raises(), []
    tree = canopy.Index(1, policy, on_policy_failure=failures.append)
    tree.insert([1, 2], [1, 2])
    policy.where, policy.what = "evicted", KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt) as raised:
        tree.evict(2)
    assert list(raised.value.canopy_result) == [1, 2] and tree.policy == "Raises" and not failures
