import concurrent.futures
import gc
import threading

import canopy
import numpy as np
import pytest

CONFIG = {
    "page_size": 4,
    "key": "token",
    "index": {"radix": {"accounting": "sglang"}},
    "groups": {"full": {"reach": "path", "capacity": 64, "allocator": "free_list", "eviction": {"slru": {"protect_after": 3}}}},
}
TEXT = "page_size: 4\ngroups:\n  full: { capacity: 64, allocator: free_list, eviction: lru }\n"


def test_a_request_from_begin_to_finish():
    engine = canopy.Engine(CONFIG)
    request = engine.begin(range(10))
    assert (request.matched, request.ended) == (0, False)
    assert request.reserve(10) and request.reserved == 12
    request.advance(8)
    assert request.commit(8) == 0 and request.committed == 8
    request.append([77, 78])
    assert request.tokens.tolist() == [*range(10), 77, 78]
    request.finish(12)
    assert request.ended
    again = engine.begin([*range(10), 77, 78, 79])
    assert again.matched == 12
    assert again.slots().size == 12 and (again.slots() // 4)[::4].tolist() == again.pages().tolist()
    again.retract()
    assert again.pages().size == 0
    assert again.resume() == 12
    again.abort()
    assert engine.counters["retracted"] == 1 and engine.pool()["evictable"] == 3
    engine.audit()


def test_a_request_that_finds_no_room_and_comes_again_counts_once(tmp_path):
    path = tmp_path / "tries.feed"
    engine = canopy.Engine(CONFIG | {"feed": {"file": {"path": str(path)}}})
    prompt = [*range(20), *range(1000, 1020)]
    first = engine.begin(range(40))
    assert first.reserve(40) and first.commit(40) == 0 and first.admitted

    def serve():
        with engine.begin(prompt) as request:
            if not request.reserve(50):
                return not request.admitted
            request.commit(40)
            request.finish(40)

    assert [serve() for _ in range(5)] == [True] * 5
    first.finish(40)
    assert serve() is None
    counters = engine.counters
    wanted = {"requests": 2, "tries": 5, "prompt_tokens": 80, "hit_tokens": 20}
    assert {name: counters[name] for name in wanted} == wanted
    assert (counters["finished"], counters["aborted"]) == (2, 0)
    del first, engine
    with canopy.Feed.open(path) as feed:
        assert {name: feed.sums[name] for name in wanted} == wanted
        assert feed.hit_rate == 0.25
        assert feed.requests()["admitted"].tolist() == [1, 0, 0, 0, 0, 0, 1]


class Lru(canopy.Policy):
    def rank(self, node):
        return node.last_access


@pytest.mark.parametrize("in_a_thread", [False, True])
def test_a_request_may_end_inside_a_policy(in_a_thread):
    """As one does that is in a cycle, when the garbage collector runs, in whatever thread."""
    ended = []

    def collect():
        ended.clear()
        gc.collect()

    class Drops(Lru):
        def rank(self, node):
            if in_a_thread:
                thread = threading.Thread(target=collect)
                thread.start()
                thread.join()
            else:
                collect()
            return node.last_access

    engine = canopy.Engine(CONFIG)
    engine.use_policy(Drops())
    first = engine.begin(range(8))
    first.reserve(8)
    ended.append(first)
    del first
    second = engine.begin(range(100, 108))
    second.reserve(8)
    second.finish(8)
    assert not ended and engine.pool()["owned"] == 0 and engine.pool()["evictable"] == 2
    engine.audit()


def test_a_policy_may_call_another_engine():
    shadow, owned = canopy.Engine(CONFIG), []

    class Shadows(Lru):
        def arrived(self, request):
            same = shadow.begin(range(8))
            same.reserve(8)
            del same
            owned.append(shadow.pool()["owned"])

    engine = canopy.Engine(CONFIG)
    engine.use_policy(Shadows())
    for _ in range(2):
        engine.begin(range(8))
    assert owned == [0, 0]


def test_numbers_of_numpy_in_a_configuration():
    engine = canopy.Engine({"page_size": np.int64(4), "groups": {"full": {
        "capacity": np.uint32(64), "allocator": "free_list", "eviction": "lru"}}})
    assert engine.page_size == 4 and engine.pool()["free"] == 16


@pytest.mark.parametrize("form", ["text", "path", "str path", "dict"])
def test_configurations(form, tmp_path):
    path = tmp_path / "engine.yaml"
    path.write_text(TEXT)
    config = {"text": TEXT, "path": path, "str path": str(path), "dict": {
        "page_size": 4, "groups": {"full": {"capacity": 64, "allocator": "free_list", "eviction": "lru"}}}}[form]
    engine = canopy.Engine(config, {"groups.full.eviction": "fifo"})
    assert engine.page_size == 4 and engine.pool()["limit"] == 16
    assert "fifo" in engine.config and canopy.Engine(engine.config).config == engine.config


@pytest.mark.parametrize(
    "config, kind, words",
    [
        ("page_size: 4\ngroups:\n  full: { capacity: 64, evictoin: lru }\n", ValueError, "config:3:25.*evictoin.*Did you mean"),
        ({"page_size": 0, "groups": {"full": {}}}, ValueError, "config:1:13"),
        ({"page_size": object()}, TypeError, "numbers, text, lists"),
        ("missing.yaml", ValueError, "missing.yaml"),
        (17, TypeError, "a path, YAML text or a dictionary"),
    ],
)
def test_mistakes_have_places(config, kind, words):
    with pytest.raises(kind, match=words):
        canopy.Engine(config)


def test_a_broken_rule_raises_and_changes_nothing():
    engine = canopy.Engine(CONFIG)
    request = engine.begin(range(8))
    with pytest.raises(RuntimeError, match="advance"):
        request.advance(8)  # nothing was reserved
    assert request.computed == 0
    assert request.reserve(8)
    request.finish(8)
    for read in (request.pages, request.slots):
        with pytest.raises(RuntimeError, match="after its end"):
            read()
    engine.audit()  # a broken rule is reported by the call that broke it, not by the next one
    with pytest.raises(IndexError, match="1 group"):
        engine.pool(1)


def test_admission():
    engine = canopy.Engine(CONFIG)
    assert engine.admits(range(8))[0] == "now"
    verdict, why = engine.admits(range(100))
    assert verdict == "never" and why
    assert not engine.begin(range(60)).ended  # aborted when it is destroyed, here
    gc.collect()
    assert engine.pool()["free"] == 16


def test_a_request_keeps_its_engine():
    request = canopy.Engine(CONFIG).begin(range(8))
    gc.collect()
    assert request.reserve(8)


def test_a_policy_that_throws_ends_the_call():
    class Broken(canopy.Policy):
        def rank(self, node):
            raise KeyError("mine")

    engine = canopy.Engine(CONFIG)
    engine.use_policy(Broken())
    with pytest.raises(KeyError, match="mine"):
        with engine.begin(range(8)) as request:
            request.reserve(8)
            request.finish(8)
    engine.audit()


def test_flush_resize_and_tree():
    engine = canopy.Engine(CONFIG)
    with engine.begin(range(8), space="acme") as request:
        request.reserve(8)
        request.finish(8)
    assert "acme  8 tokens in 1 node" in engine.tree()
    assert engine.flush("acme") == 8
    engine.resize(4)
    assert engine.pool()["limit"] == 4 and engine.make_free(4) and not engine.make_free(5)


TIER = {
    "page_size": 4,
    "groups": {"full": {"capacity": 64, "allocator": "free_list", "eviction": "lru"}},
    "tiers": {"host": {"capacity": 4096, "latency": "50us"}},
}


def run(engine, prompt, **begin):
    request = engine.begin(prompt, **begin)
    matched = request.matched
    assert request.reserve(len(prompt))
    request.finish(len(prompt))
    return matched


def test_what_left_the_pools_is_fetched_from_the_tier_below():
    engine = canopy.Engine(TIER)
    first, other = list(range(48)), list(range(100, 160))
    run(engine, first)
    run(engine, other)  # no room for both: most of the first is copied down
    assert sum(engine.host_tier["moving_pages"].values()) > 0 and engine.next_end_us == 50
    engine.turn(50)
    assert sum(engine.host_tier["moving_pages"].values()) == 0 and engine.next_end_us is None
    fetch = engine.fetch([*first, 1])
    assert not fetch.done and fetch.tokens == 48 and fetch.ends_us == 100
    engine.turn(fetch.ends_us)
    assert fetch.done and fetch.ends_us == 0
    request = engine.begin([*first, 1], fetch=fetch)
    assert request.matched == 48
    assert engine.host_tier["hit_tokens"] == 48 and engine.host_tier["fetches"]["whole"] == 1
    with pytest.raises(ValueError, match="a request has already begun with it"):
        engine.begin(first, fetch=fetch)
    with pytest.raises(ValueError, match="belongs to another engine"):
        canopy.Engine(TIER).begin(first, fetch=engine.fetch(other))
    request.abort()
    engine.audit()


def test_a_request_begins_when_its_fetch_is_ready():
    """A copy of 100 ms that is not worth its wait, one that is, and what each step of a scheduler makes of it."""
    slow = {"tiers.host.latency": "100ms", "tiers.recompute.per_token": "10ms"}

    def fetching(changes):
        engine = canopy.Engine(TIER, changes)
        run(engine, list(range(48)))
        run(engine, list(range(100, 160)))
        engine.turn(100_000)
        return engine, engine.fetch([*range(48), 1])

    engine, fetch = fetching(slow)  # 48 tokens in 100 ms, computed in 480 ms
    assert not fetch.ready() and fetch.ready_us() == fetch.ends_us == 200_000
    engine.turn(150_000)
    assert not fetch.ready() and fetch.took_us == 50_000
    # Computing takes 480 ms from here on; a caller that checks again only after a second would lose that.
    assert fetch.ready(1_000_000) and fetch.ready_us(1_000_000) == 0
    engine.turn(200_000)
    assert fetch.ready() and fetch.ready_us() == 0 and fetch.took_us == 100_000
    assert run(engine, [*range(48), 1], fetch=fetch) == 48
    tier = engine.host_tier
    assert tier["fetch_ends"] == {"used": 1, "late": 0, "unused": 0}
    assert tier["fetch_took_us"] == 100_000 and tier["fetch_saved_us"] == 480_000

    engine, fetch = fetching({**slow, "tiers.prefetch.policy": "best_effort"})
    assert fetch.ready() and not fetch.done
    request = engine.begin([*range(48), 1], fetch=fetch)
    assert request.matched < 48
    request.abort()
    assert engine.host_tier["fetch_ends"]["late"] == 1 and engine.host_tier["fetch_saved_us"] == 0
    assert not fetching({**slow, "tiers.prefetch.policy": "wait_complete"})[1].ready(1_000_000)
    nothing = canopy.Engine(CONFIG).fetch(range(10))
    assert nothing.ready() and nothing.ready_us() == 0 and nothing.took_us == 0
    with pytest.raises((TypeError, ValueError)):
        nothing.ready(-1)


def test_a_fetch_that_is_given_up_leaves_nothing_behind():
    engine = canopy.Engine(TIER)
    first = list(range(48))
    run(engine, first)
    run(engine, list(range(100, 160)))
    engine.turn(50)
    fetch = engine.fetch([*first, 1])
    assert not fetch.done
    fetch.drop()
    assert fetch.done and fetch.tokens == 0
    kept = engine.fetch([*first, 1])  # outlives the name of its engine
    engine.turn(1000)
    del engine
    gc.collect()
    assert kept.done


def test_without_a_tier_nothing_is_fetched():
    engine = canopy.Engine(CONFIG)
    fetch = engine.fetch(range(10))
    assert fetch.done and fetch.tokens == 0 and engine.host_tier is None and engine.next_end_us is None
    assert run(engine, list(range(10)), fetch=fetch) == 0


STORED = {
    **TIER,
    "model": {"name": "m", "revision": "r", "dtype": "bf16"},
    "tiers": {"host": {"capacity": 64}, "storage": {"in": {"sim_storage": {"linger": 3}}, "write": "through"}},
}


def test_ranks_agree_by_a_callable():
    """Two ranks in two threads, whose storages end their calls in orders of their own."""
    values = [None, None]
    met = threading.Barrier(2)

    def agreement(rank):
        def least(mine):
            values[rank] = mine.copy()
            met.wait(60)
            np.minimum(values[0], values[1], out=mine)
            met.wait(60)

        return least

    def decisions(rank):
        engine = canopy.Engine(STORED, {"tiers.storage.in.sim_storage.seed": rank}, agreement=agreement(rank))
        matched, now = [], 0
        for i in range(40):
            prompt = list(range(100 * (i % 4), 100 * (i % 4) + 48))
            fetch = engine.fetch([*prompt, 1])
            for _ in range(20):
                now += 100
                engine.turn(now + rank)
                if fetch.done:
                    break
            matched.append((run(engine, [*prompt, 1], fetch=fetch), now))
        engine.audit()
        return matched, engine.digest

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        first, second = threads.map(decisions, range(2))
    assert first == second and sum(matched for matched, _ in first[0]) > 0


def test_an_agreement_that_fails_stops_the_tiers():
    def fails(values):
        assert values.dtype == np.int64
        raise ConnectionError("the group is gone")

    engine = canopy.Engine(STORED, agreement=fails)
    with pytest.raises(ConnectionError, match="the group is gone"):
        engine.turn(1)
    engine.turn(2)
    assert engine.fetch(range(10)).done
    with pytest.raises(TypeError, match="agreement: expected a callable"):
        canopy.Engine(STORED, agreement=3)


SHARES = CONFIG | {"tenants": {"a": {"floor": 16, "pins": 24}, "b": {"weight": 1000}}}


def serve(engine, tenant, first, count, retention=()):
    """Runs a prompt of a tenant to its end. Returns the request."""
    request = engine.begin(range(first, first + count), space=tenant, retention=list(retention))
    assert request.reserve(count)
    request.finish(count)
    return request


def flood(engine):
    for first in range(10_000, 20_000, 1_000):
        serve(engine, "b", first, 33)


def tenant(engine, name):
    return next(row for row in engine.tenants() if row["name"] == name)


def test_a_floor_holds_and_others_pay():
    engine = canopy.Engine(SHARES)
    serve(engine, "a", 1, 33)
    flood(engine)
    a = tenant(engine, "a")
    assert (a["floor"], a["weight"], a["ceiling"], a["pins"]) == (16, 1.0, None, 24)
    assert (a["requests"], a["prompt_tokens"], a["cached"], a["paid"], a["below_floor"]) == (1, 33, 16, 16, 0)
    assert {"from": "a", "to": "b", "tokens": 16} in engine.payments()
    assert serve(engine, "a", 1, 17).matched == 16
    assert tenant(engine, "a")["hit_tokens"] == 16
    assert sum(row["tokens"] for row in engine.payments() if row["to"] == "b") == tenant(engine, "b")["taken"]
    assert canopy.Engine(CONFIG).tenants() == canopy.Engine(CONFIG).payments() == []


def test_shares_change_while_the_engine_runs():
    engine = canopy.Engine(SHARES)
    serve(engine, "c", 1, 33)
    engine.set_share("c", floor=8, weight=2, ceiling=16, puts=5, pins=4)
    serve(engine, "c", 1, 9)
    c = tenant(engine, "c")
    assert (c["floor"], c["weight"], c["ceiling"], c["puts"], c["pins"], c["cached"]) == (8, 2.0, 16, 5, 4, 16)
    with pytest.raises(ValueError, match="floors of all tenants would be"):
        engine.set_share("c", floor=60)
    with pytest.raises(ValueError, match="no tenant's name"):
        engine.set_share("*", floor=1)
    with pytest.raises(ValueError, match="tenants"):
        canopy.Engine(CONFIG).set_share("a", floor=1)
    with pytest.raises(TypeError):
        engine.set_share("c", floor=-1)


def test_retention_lasts_as_long_as_was_promised():
    engine = canopy.Engine(SHARES)
    engine.turn(1_000)
    assert serve(engine, "a", 1, 25, [canopy.Retention(18, seconds=0.005)]).retained == 16
    assert tenant(engine, "a")["kept"] == 16
    flood(engine)
    engine.turn(5_999)
    assert tenant(engine, "a")["kept"] == 16
    engine.turn(6_000)
    assert tenant(engine, "a")["kept"] == 0
    assert serve(engine, "a", 1, 33, [canopy.Retention(tokens=32, seconds=1)]).retained == 0  # above the budget
    assert tenant(engine, "a")["refused_pins"] == 32
    serve(engine, "a", 500, 9, [canopy.Retention(8, float("inf"))])
    engine.turn(2**62)
    assert tenant(engine, "a")["kept"] == 8
    assert engine.flush("a") > 0 and tenant(engine, "a")["kept"] == 0
    engine.audit()


def test_a_retention_is_a_value():
    wish = canopy.Retention(8, 2.5, -1)
    assert (wish.tokens, wish.seconds, wish.priority) == (8, 2.5, -1)
    assert repr(wish) == "Retention(tokens=8, seconds=2.5, priority=-1)"
    for seconds in (-1, float("nan")):
        with pytest.raises(ValueError, match="retention: seconds"):
            canopy.Retention(8, seconds)
    with pytest.raises(TypeError):
        canopy.Retention(-8, 1)
