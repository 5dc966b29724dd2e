"""The free blocks of a pool of vLLM's, in the order of a policy."""
import gc
import weakref

import canopy
import pytest
from canopy import _core

PAGE = 16


class Block:
    def __init__(self, block_id):
        self.block_id, self._block_hash = block_id, None


class Plain:
    """A queue that takes the place of one that failed."""

    def __init__(self):
        self.errors, self.calls = [], []

    def __call__(self, error):
        self.errors.append(error)
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *given: self.calls.append((name, given))


class Pool:
    def __init__(self, count=16, policy="lru", groups=((0, PAGE, True),), feed=""):
        self.blocks = [Block(number) for number in range(count)]
        self.plain = Plain()
        self.queue = _core.BlockQueue(self.blocks, self.blocks[1:], list(groups), PAGE, policy, feed, self.plain)

    def take(self, count):
        taken = self.queue.popleft_n(count)
        for block in taken:
            block._block_hash = None
        return taken

    def serve(self, names, hit=0, table=None, ending="finished"):
        """Runs a request whose blocks have these contents; `table`: blocks that it found. Returns its blocks."""
        table = [*(table or []), *self.take(len(names) - len(table or []))]
        for name, block in zip(names, table):
            block._block_hash = key(name)
        self.end([table], names, hit, ending)
        return table

    def end(self, tables, names, hit=0, ending="finished"):
        """Runs a request that has these tables: its prompt is all of its tokens."""
        tokens = len(names) * PAGE
        self.queue.ended(self.queue.arrived(0, tokens), tokens, tokens, tables, [key(name)[:-4] for name in names], hit, ending)

    def numbers(self, count):
        return [block.block_id for block in self.take(count)]


def key(name, group=0):
    return name.encode().ljust(32, b"-") + group.to_bytes(4, "big")


def test_blocks_without_content_leave_in_the_order_of_vllm():
    pool = Pool(8)
    taken = pool.take(4)
    assert [block.block_id for block in taken] == [1, 2, 3, 4] and pool.queue.num_free_blocks == 3
    pool.queue.prepend_n([taken[2], taken[0]])
    assert [block.block_id for block in pool.queue.get_all_free_blocks()] == [3, 1, 5, 6, 7]
    assert pool.queue.popleft().block_id == 3 and pool.numbers(4) == [1, 5, 6, 7] and pool.queue.num_free_blocks == 0


def test_lru_gives_away_the_last_block_of_the_oldest_request_first():
    pool = Pool(9)
    first, second = pool.serve("abc"), pool.serve("xyz")
    pool.queue.append_n(first[::-1])
    pool.queue.append_n(second[::-1])
    assert pool.queue.num_free_blocks == 8
    assert pool.numbers(8) == [7, 8, 3, 2, 1, 6, 5, 4]


def test_a_block_that_is_hit_leaves_the_queue_and_comes_back_as_the_newest():
    pool = Pool(7)
    first, second = pool.serve("abc"), pool.serve("xyz")
    pool.queue.append_n(first[::-1])
    pool.queue.append_n(second[::-1])
    for block in first[:2]:
        pool.queue.remove(block)
    assert pool.queue.num_free_blocks == 4 and pool.queue.facts()["movable"] == 4
    again = pool.serve("abd", hit=32, table=first[:2])  # takes the block of "c", which is the oldest
    assert again[2] is first[2]
    pool.queue.append_n(again[::-1])
    assert pool.numbers(6) == [6, 5, 4, 3, 2, 1]


def test_a_prefix_stays_while_a_request_that_continues_it_runs():
    pool = Pool(6)
    shared = pool.take(2)
    for name, block in zip("ab", shared):
        block._block_hash = key(name)
    ended = pool.serve("abc", hit=32, table=shared)  # a second request still has the two
    pool.queue.append_n([ended[2]])
    assert pool.queue.facts() == {"blocks": 6, "free": 3, "spare": 2, "nodes": 3, "movable": 1}
    assert pool.numbers(3) == [4, 5, 3] and pool.queue.num_free_blocks == 0
    pool.queue.append_n(shared[::-1])
    assert pool.numbers(2) == [2, 1]


def test_each_free_block_can_leave_also_where_one_that_continues_it_is_in_use():
    pool = Pool(6)
    table = pool.serve("abcde")
    pool.queue.append_n(table[::-1])
    pool.queue.remove(table[2])  # alone, as a connector does
    assert pool.queue.num_free_blocks == 4 and pool.queue.facts()["movable"] == 4
    assert sorted(pool.numbers(4)) == [1, 2, 4, 5]
    pool.queue.append_n([table[2]])
    assert pool.numbers(1) == [3]


def test_a_block_comes_back_before_one_that_continues_it():
    pool = Pool(4)
    table = pool.serve("abc")
    pool.queue.append_n(table[:2])
    assert pool.queue.facts()["movable"] == pool.queue.num_free_blocks == 2
    assert pool.numbers(2) == [1, 2]


def test_two_blocks_with_one_content_leave_as_vllm_lets_them():
    pool = Pool(7)
    first, second = pool.serve("abc"), pool.serve("abd")
    pool.queue.append_n(first[::-1])
    pool.queue.append_n(second[::-1])
    for block in (*first[:2], second[2]):  # vLLM finds the older copies
        pool.queue.remove(block)
    assert pool.queue.facts()["movable"] == pool.queue.num_free_blocks == 3
    pool.end([[*first[:2], second[2]]], "abd", hit=48)
    pool.queue.append_n([second[2], first[1], first[0]])
    assert pool.numbers(6) == [3, 5, 4, 6, 2, 1]


def test_a_block_that_lost_its_hash_in_use_leaves_first():
    pool = Pool(4)
    table = pool.serve("abc")
    pool.queue.append_n(table[::-1])
    for block in table:
        pool.queue.remove(block)
    table[1]._block_hash = None  # evict_blocks
    pool.end([table], "", hit=48)
    pool.queue.prepend_n([table[1]])
    pool.queue.append_n([table[2], table[0]])
    assert pool.numbers(3) == [2, 3, 1]


def test_blocks_of_a_window_have_no_parent():
    pool = Pool(8, groups=((0, PAGE, True), (1, PAGE, False)))
    full, window = pool.take(3), pool.take(3)
    for name, block, other in zip("abc", full, window):
        block._block_hash, other._block_hash = key(name), key(name, 1)
    pool.queue.append_n([window[0]])  # the window has passed it
    pool.end([full, [pool.blocks[0], *window[1:]]], "abc")
    pool.queue.append_n(full[::-1])
    pool.queue.append_n(window[:0:-1])
    assert pool.numbers(7) == [7, 4, 3, 2, 1, 6, 5]


def test_a_reset_takes_the_content_and_keeps_the_order():
    pool = Pool(6)
    table = pool.serve("abc")
    pool.queue.append_n(table[::-1])
    pool.queue.reset()
    assert pool.queue.facts() == {"blocks": 6, "free": 5, "spare": 5, "nodes": 0, "movable": 0}
    assert pool.numbers(5) == [4, 5, 3, 2, 1]


def test_a_policy_decides():
    class Keeps(canopy.Policy):
        """Keeps what was hit."""

        def rank(self, node):
            return node.hits, node.last_access

    pool = Pool(5, policy=Keeps())
    first, second = pool.serve("ab"), pool.serve("xy")
    pool.queue.append_n(first[::-1])
    for block in first:
        pool.queue.remove(block)
    pool.end([first], "ab", hit=32)
    pool.queue.append_n(first[::-1])
    pool.queue.append_n(second[::-1])
    assert pool.numbers(4) == [4, 3, 2, 1]


def test_a_policy_that_raises_is_replaced_by_lru():
    class Raising(canopy.Policy):
        def rank(self, node):
            raise KeyError("a fault on purpose")

    pool = Pool(4, policy=Raising())
    pool.queue.append_n(pool.serve("abc")[::-1])
    assert "a fault on purpose" in pool.queue.take_failure() and pool.queue.policy == "lru"
    assert pool.numbers(3) == [3, 2, 1] and not pool.plain.errors


def test_a_policy_learns_each_request_once():
    class Learns(canopy.Policy):
        def __init__(self):
            self.seen = []

        def rank(self, node):
            return node.last_access

        def arrived(self, request):
            self.seen.append(("arrived", request.id))

        def ended(self, request, path):
            self.seen.append((request.ending, request.id, request.prompt, request.matched, len(list(path))))

    policy = Learns()
    pool = Pool(6, policy=policy)
    number = pool.queue.arrived(0, 32)
    pool.queue.ended(number, 32, 32, [[]], [], 0, "retracted")
    assert pool.queue.arrived(number, 32) == number
    table = pool.take(2)
    for name, block in zip("ab", table):
        block._block_hash = key(name)
    pool.queue.ended(number, 32, 32, [table], [key(name)[:-4] for name in "ab"], 16, "finished")
    assert [one[0] for one in policy.seen] == ["arrived", "retracted", "arrived", "finished"]
    assert {one[1] for one in policy.seen} == {number} and policy.seen[-1][2:] == (32, 16, 2)


@pytest.mark.parametrize("name, given", [
    ("append_n", lambda pool: [pool.blocks[1], object()]),
    ("append_n", lambda pool: [pool.blocks[5]]),  # it is free
    ("append_n", lambda pool: [pool.blocks[1], pool.blocks[2], pool.blocks[1]]),
    ("prepend_n", lambda pool: [pool.blocks[1], pool.blocks[1], Block(99)]),
    ("remove", lambda pool: pool.blocks[1]),  # it is in use
    ("popleft_n", lambda pool: 99),
])
def test_after_an_error_another_queue_is_called_and_no_block_is_lost(name, given):
    pool = Pool(8)
    pool.take(3)
    argument = given(pool)
    getattr(pool.queue, name)(argument)
    assert pool.plain.calls == [(name, (argument,))] and len(pool.plain.errors) == 1
    assert [pool.queue.is_free(number) for number in range(8)] == [False] * 4 + [True] * 4


@pytest.mark.parametrize("groups, policy, says", [
    ((), "lru", "has a group"), (((0, 0, True),), "lru", "has tokens"), (((0, 16, True),), "no_policy", "no_policy"),
])
def test_what_is_refused(groups, policy, says):
    with pytest.raises(ValueError, match=says):
        Pool(4, policy, groups)


@pytest.mark.parametrize("name", ["append_n", "prepend_n"])
def test_the_blocks_of_an_iterator_come_back_once(name):
    pool = Pool(6)
    table = pool.serve("abc")
    getattr(pool.queue, name)(iter(table))
    assert pool.queue.num_free_blocks == 5 and sorted(pool.numbers(5)) == [1, 2, 3, 4, 5] and not pool.plain.errors
    getattr(pool.queue, name)(iter([table[0], table[0]]))
    assert pool.plain.calls == [(name, ([table[0], table[0]],))]  # the other queue has them too


class Keeps(canopy.Policy):
    """Refers to the pool, as a policy may."""

    def rank(self, node):
        return node.last_access

    def evicted(self, node, eviction):
        pass


@pytest.mark.parametrize("policy", ["lru", Keeps()])
def test_a_pool_and_its_queue_are_collected(policy):
    pool = Pool(4, policy)
    pool.blocks[1].pool = pool  # as vLLM's blocks have it
    gone = weakref.ref(pool)
    del pool
    gc.collect()
    assert gone() is None


def test_a_policy_that_refers_to_its_pool_is_collected():
    policy = Keeps()
    policy.pool = Pool(8, policy)
    policy.pool.queue.append_n(policy.pool.serve("abc")[::-1])
    policy.pool.take(6)
    gone = weakref.ref(policy.pool)
    del policy
    gc.collect()
    assert gone() is None


def test_a_policy_learns_the_prompt_and_the_answer():
    class Learns(canopy.Policy):
        reads_prints = "all"

        def __init__(self):
            self.seen = []

        def rank(self, node):
            return node.last_access

        def arrived(self, request):
            self.seen.append((request.ending, request.prompt, request.output))

        def ended(self, request, path):
            self.seen.append((request.ending, request.prompt, request.output, len(request.prefix_prints)))

    policy = Learns()
    pool = Pool(80, policy=policy)
    names = [f"block {number}" for number in range(70)]
    table = pool.take(70)
    for name, block in zip(names, table):
        block._block_hash = key(name)
    number = pool.queue.arrived(0, 600)
    pool.queue.ended(number, 600, 1125, [table], [key(name)[:-4] for name in names], 16, "finished")
    # 1125 tokens have two whole strides of 512 tokens, the prompt has one
    assert policy.seen == [("none", 600, 0), ("finished", 600, 525, 1)]
    with pytest.raises(ValueError, match="longer than all tokens"):
        pool.queue.ended(pool.queue.arrived(0, 32), 32, 16, [[]], [], 0, "finished")


def test_no_inspector_is_served_in_the_middle_of_a_call():
    class Looks(canopy.Policy):
        def rank(self, node):
            if looks:
                pool.queue.poll()
                late.append(_core.FeedSource.attach("canopy-test-busy"))
                pool.queue.poll()
                late[-1].poll()
                seen.append(late[-1].sums()["in_step"])
            return node.last_access

    looks, late, seen = False, [], []
    pool = Pool(12, Looks(), feed="canopy-test-busy")
    table = pool.serve("abcde")
    pool.queue.append_n(table[::-1])
    looks = True
    pool.queue.remove(table[2])  # the one before it becomes a leaf, and gets a rank
    looks = False
    assert seen == [False]
    pool.queue.poll(), late[0].poll()
    assert late[0].sums()["in_step"] and not pool.plain.errors


def test_the_feed_has_the_blocks():
    pool = Pool(8, "hazard", feed="canopy-test-blocks")
    source = _core.FeedSource.attach("canopy-test-blocks")
    table = pool.serve("abc")
    pool.queue.append_n(table[::-1])
    pool.queue.remove(table[0])
    pool.queue.append_n([])
    pool.end([[table[0]]], "a", hit=16)
    source.poll()
    sums, (one,) = source.sums(), source.pools()
    assert sums["in_step"] and sums["drift"] == 0 and sums["damaged"] == 0 and sums["nodes"] == 3
    assert one["policy"] == "hazard" and one["pages"] == 7 and one["free"] == 4 and one["protected"] == 1


def rows_of(source):
    """The nodes that a reader has."""
    nodes = source.nodes()
    return sorted(zip(*(nodes[name].tolist() for name in ("node", "begin", "parent", "locks", "hits", "inserts", "last_access"))))


def attached(pool, name):
    """A reader that has just read the whole state."""
    source = _core.FeedSource.attach(name)
    source.poll(), pool.queue.poll(), source.poll()
    assert source.sums()["in_step"]
    return source


def test_a_reader_that_comes_while_blocks_are_in_use_counts_their_locks():
    pool = Pool(12, feed="canopy-test-locks")
    table = pool.serve("abcde")
    late = attached(pool, "canopy-test-locks")
    assert late.pools()[0]["protected"] == 5
    pool.queue.append_n(table[::-1])
    late.poll()
    (one,), sums = late.pools(), late.sums()
    assert one["protected"] == 0 and one["evictable"] == 5 and sums["drift"] == 0 and sums["damaged"] == 0
    pool.queue.remove(table[4])  # alone
    pool.queue.remove(table[3])
    for block in table[:3]:
        pool.queue.remove(block)
    second = attached(pool, "canopy-test-locks")
    pool.queue.append_n(table[::-1])
    late.poll(), second.poll()
    for source in (late, second):
        assert source.pools()[0]["protected"] == 0 and source.pools()[0]["evictable"] == 5


def test_a_block_that_gets_another_parent_is_no_flush_for_readers():
    pool = Pool(60, feed="canopy-test-moves")
    names = [f"block {number}" for number in range(20)]
    tables = [pool.serve([f"{one} {name}" for name in names]) for one in range(2)]
    for table in tables:
        pool.queue.append_n(table[::-1])
    live = attached(pool, "canopy-test-moves")
    commits = live.sums()["commits"]
    for block in (tables[0][10], tables[0][5], tables[1][7]):  # each alone, as a connector does
        pool.queue.remove(block)
    pool.queue.append_n([tables[0][10], tables[0][5], tables[1][7]])
    live.poll()
    assert live.sums()["commits"] == commits + 1 and live.sums()["evicted_tokens"] == 0
    parts = (5, 5, 10, 7, 13)  # the blocks of the paths that the two prompts are now
    assert sorted(row[1] for row in rows_of(live)) == sorted(at * PAGE for part in parts for at in range(part))
    assert rows_of(live) == rows_of(attached(pool, "canopy-test-moves"))
    # Two copies of one prompt: vLLM finds the first half of one and the second half of the other.
    again = pool.serve([f"0 {name}" for name in names[:8]])
    pool.queue.append_n(again[::-1])
    mixed = [*again[:4], *tables[0][4:8]]
    for block in mixed:
        pool.queue.remove(block)
    pool.end([mixed], [f"0 {name}" for name in names[:8]], hit=128)
    live.poll()
    fresh = attached(pool, "canopy-test-moves")
    assert rows_of(live) == rows_of(fresh) and live.pools()[0] == fresh.pools()[0]
    pool.queue.append_n(mixed[::-1])
    # A block in the middle loses its content while it is in use: those that continue it stay.
    for block in tables[1][:3]:
        pool.queue.remove(block)
    tables[1][1]._block_hash = None
    pool.end([tables[1][:3]], [f"1 {name}" for name in names[:3]], hit=48)
    pool.queue.prepend_n([tables[1][1]])
    pool.queue.append_n([tables[1][2], tables[1][0]])
    live.poll()
    fresh = attached(pool, "canopy-test-moves")
    assert rows_of(live) == rows_of(fresh) and live.pools()[0] == fresh.pools()[0]
    sums = live.sums()
    assert sums["drift"] == 0 and sums["damaged"] == 0 and sums["nodes"] == pool.queue.facts()["nodes"]
    pool.queue.popleft_n(pool.queue.num_free_blocks)
    live.poll()
    assert live.sums()["nodes"] == 0 and live.sums()["drift"] == 0 and live.pools()[0]["protected"] == 0
