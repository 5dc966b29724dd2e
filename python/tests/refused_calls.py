"""refused_calls.py [feed|changes|policy|groups]: calls an index while the n-th allocation of C++ is refused, for each n, and counts where
each page is: free, in the tree, or with the caller whose call raised MemoryError. Run by test_memory.py, with its library."""
import collections
import ctypes
import itertools
import os
import random
import sys

import canopy
from canopy import _core

_core.quiet_exit()
library = ctypes.CDLL(None)
library.refuse.argtypes = [ctypes.c_long]
library.refused.restype = ctypes.c_bool
PAGE, PAGES = 4, 60
HOW = sys.argv[1] if len(sys.argv) > 1 else ""


class Policy:
    """lru, until it raises."""

    raises = False

    def rank(self, node):
        if Policy.raises:
            raise MemoryError("none for the policy, either")
        return node.last_access


def refused(allocation, call):
    """Returns (result or None, whether an allocation was refused)."""
    Policy.raises = True
    library.refuse(allocation)
    try:
        result = call()
    except MemoryError:
        result = None
    was = library.refused()
    Policy.raises = False
    return result, was


class Life:
    """An index with some prompts, and its caller's pool."""

    followed = None  # the index with a feed, whose memory takes a while: each life ends with an empty one

    def __init__(self):
        self.index = Life.followed
        if self.index is None:
            feed = f"refused-{os.getpid()}" if HOW == "feed" else None
            policy = {"policy": Policy(), "on_policy_failure": str} if HOW == "policy" else {"policy": "lru"}
            self.index = canopy.Index(PAGE, capacity=PAGES * PAGE, feed=feed, changes=HOW == "changes", **policy)
            Life.followed = self.index if feed else None
        self.free, self.draw, self.holds, self.mirror = set(range(1, PAGES + 1)), random.Random(3), [], {}
        for _ in range(25):
            words, hold, mine = self.brings()
            added = hold.insert(words, self.slots(mine))
            self.free |= self.pages(added.spare)
            self.holds.append(hold)
            if len(self.holds) > 3:
                self.holds.pop(0).release()
        self.follow()

    def slots(self, pages):
        return [page * PAGE + at for page in pages for at in range(PAGE)]

    def pages(self, slots):
        return {int(slot) // PAGE for slot in slots}

    def brings(self):
        """Returns a prompt, a hold of what is there of it, and pages for the rest."""
        words = [self.draw.randrange(2) for _ in range(PAGE * self.draw.randrange(2, 7))]
        hold = self.index.lock(words)
        need = len(words) // PAGE - hold.length // PAGE
        if need > len(self.free):
            self.free |= self.pages(self.index.evict(need * PAGE))
        return words, hold, [self.free.pop() for _ in range(need)]

    def follow(self):
        """Follows the changes, which have each node of the tree."""
        if HOW != "changes":
            return
        for kind, *facts in self.index.take_changes():
            if kind == "cleared":
                self.mirror.clear()
            elif kind == "added":
                self.mirror[facts[0]] = len(facts[3]) // 8
            elif kind == "split":
                node, upper, units = facts
                self.mirror[upper], self.mirror[node] = units, self.mirror[node] - units
            else:
                del self.mirror[facts[0]]

    def check(self, mine=()):
        """Each page has one owner. What a call without memory could not return comes with the next one."""
        self.free |= self.pages(self.index.evict(1))
        tree = [int(slot) // PAGE for slot in self.index.all_slots()[::PAGE]]
        owners = collections.Counter([*self.free, *tree, *mine])
        assert sorted(owners) == list(range(1, PAGES + 1)), ("lost", set(range(1, PAGES + 1)) - set(owners))
        assert set(owners.values()) == {1}, [page for page, count in owners.items() if count > 1]
        if HOW == "changes":
            for _ in range(3):  # after a loss, the next operation begins the record again
                self.free |= self.pages(self.index.evict(1))
                self.follow()
            assert sum(self.mirror.values()) == len(self.index)
        for hold in self.holds:
            hold.release()
        self.holds.clear()
        self.free |= self.pages(self.index.evict(PAGES * PAGE))
        assert self.index.protected == 0 and len(self.index) == 0 and len(self.free) + len(mine) == PAGES


def insert(life, allocation, announced=False):
    words, hold, mine = life.brings()
    life.holds.append(hold)
    given, before = life.slots(mine), hold.length
    if announced:
        number = life.index.request_begun(len(words), before)
        life.index.request_inserts(number, before, before, 100000)
    added, was = refused(allocation, lambda: hold.insert(words, given, boundary=len(words) // 2))
    if added is not None:
        life.free |= life.pages(added.spare) | set(mine[(added.length - before) // PAGE:])
        mine = []
    life.check(mine)
    return was


def gives_back(call):
    def run(life, allocation):
        result, was = refused(allocation, lambda: call(life.index))
        if result is not None:
            life.free |= life.pages(memoryview(result))
        life.check()
        return was
    return run


def keeps(call):
    def run(life, allocation):
        result, was = refused(allocation, lambda: call(life))
        del result
        life.check()
        return was
    return run


def take_changes(life, allocation):
    words, hold, mine = life.brings()
    life.free |= life.pages(hold.insert(words, life.slots(mine)).spare)
    hold.release()
    changes, was = refused(allocation, life.index.take_changes)
    if changes is None:
        life.check()
    return was


CALLS = {
    "insert": insert,
    "evict": gives_back(lambda index: index.evict(20)),
    "evict_buffer": gives_back(lambda index: index.evict_buffer(20)),
    "flush": gives_back(lambda index: index.flush(())),
    "clear": gives_back(lambda index: index.clear()),
    "match": keeps(lambda life: life.index.match([0, 1] * 8)),
    "lock": keeps(lambda life: life.index.lock([0, 1] * 8)),
    "lock in a new namespace": keeps(lambda life: life.index.lock([0, 1] * 8, space=("a" * 40, None, "b" * 40))),
    "release": keeps(lambda life: life.holds[0].release()),
}
if HOW == "feed":
    CALLS["an announced insert"] = lambda life, allocation: insert(life, allocation, True)
    CALLS["request_begun"] = keeps(lambda life: life.index.request_begun(64, 0))
    CALLS["poll"] = keeps(lambda life: life.index.poll())
if HOW == "changes":
    CALLS["take_changes"] = take_changes


class Groups:
    """A GroupIndex and the numbers of which its caller knows that they are in the tree."""

    def __init__(self):
        self.index = _core.GroupIndex(4, "lru", [_core.Reach("window", 8, 400), _core.Reach("state", 1, 50, 2)], 400)
        self.draw, self.known, self.holds = random.Random(5), [set(), set(), set()], []
        for _ in range(25):
            self.grown(self.index.insert(self.words(), [0, 0, 0]))
            if self.draw.random() < 0.3:
                self.left(self.index.evict(0))

    def words(self):
        return [self.draw.randrange(2) for _ in range(4 * self.draw.randrange(1, 7))]

    def grown(self, result):
        for group, known in enumerate(self.known):
            known |= set(memoryview(result.taken(group)))
            known -= set(memoryview(result.evicted(group)))
        self.holds.append(result.hold)
        if len(self.holds) > 3:
            self.holds.pop(0).release()

    def left(self, lists):
        for known, numbers in zip(self.known, lists):
            known -= set(memoryview(numbers))

    def check(self):
        self.left(self.index.evict(0))  # also what had no memory before
        assert [set(memoryview(self.index.all(group))) for group in range(3)] == self.known
        more = self.index.insert([self.draw.randrange(2, 9) for _ in range(40)], [0, 0, 0])
        assert not any(set(memoryview(more.taken(group))) & self.known[group] for group in range(3)), "given out twice"


def grow(life, allocation):
    result, was = refused(allocation, lambda: life.index.insert(life.words(), [0, 0, 0]))
    if result is not None:
        life.grown(result)
    life.check()
    return was


def shrink(life, allocation):
    lists, was = refused(allocation, lambda: life.index.evict(0))
    if lists is not None:
        life.left(lists)
    life.check()
    return was


if HOW == "groups":
    CALLS = {"insert": grow, "evict": shrink, "find": keeps(lambda life: life.index.find([0, 1] * 8)),
             "hold_node": keeps(lambda life: life.index.hold_node(life.holds[-1].node))}

for name, call in CALLS.items():
    for allocation in itertools.count():
        assert allocation < 300, name
        print(name, allocation, flush=True)
        if not call(Groups() if HOW == "groups" else Life(), allocation):
            break
