"""The events of SGLang's requests under CANOPY_FEED; without SGLang."""

import os
import time
from types import SimpleNamespace

import canopy
import pytest
from canopy.engines.sglang_feed import Requests


class Request:
    def __init__(self, rid, prompt):
        self.rid, self.origin_input_ids, self.output_ids = rid, [7] * prompt, []
        self.full_untruncated_fill_ids = self.origin_input_ids
        self.finished_reason = None

    def finished(self):
        return self.finished_reason is not None


class FINISH_ABORT:
    pass


@pytest.fixture
def feed():
    """An index, its requests, and a reader that attaches while the index is not called."""
    name = f"test-sglang-{os.getpid()}"
    index = canopy.Index(4, feed=name)
    index.insert([1, 2, 3, 4], [4, 5, 6, 7])
    requests = Requests(index)
    with canopy.Feed.attach(name) as reader:
        yield SimpleNamespace(index=index, requests=requests, reader=reader)


def row(feed, at, **wanted):
    """Returns the reader's row of a request, as soon as it has the expected values."""
    until = time.monotonic() + 20
    while True:
        columns = feed.reader.poll().requests()
        shown = {name: values[at] for name, values in columns.items() if at < len(values)}
        found = {name: shown.get(name) for name in wanted}
        if found == wanted or time.monotonic() > until:
            return found
        time.sleep(0.02)


def test_a_reader_that_attaches_while_nothing_happens_sees_the_tree(feed):
    assert feed.reader.sums["nodes"] == 1 and feed.reader.pools[0]["evictable"] == 1


def test_a_pool_of_the_callers_is_shown_by_its_sums():
    name = f"test-pool-{os.getpid()}"
    index = canopy.Index(4, feed=name)
    index.insert(range(16), range(4, 20))
    free = [60]
    requests = Requests(index, lambda: (100, free[0]))
    with canopy.Feed.attach(name) as reader:

        def pool(**wanted):
            until = time.monotonic() + 20
            while True:
                shown = reader.poll().pools[0]
                found = {key: shown[key] for key in wanted}
                if found == wanted or time.monotonic() > until:
                    return found
                time.sleep(0.02)

        assert pool(pages=100, free=60, evictable=4, owned=36) == dict(pages=100, free=60, evictable=4, owned=36)
        free[0] = 50
        assert pool(free=50, owned=46) == dict(free=50, owned=46)
        index.insert(range(100, 108), range(20, 28))  # two of the pages that requests had
        assert pool(free=50, evictable=6, owned=44) == dict(free=50, evictable=6, owned=44)
        with canopy.Feed.attach(name) as late:
            assert late.pools[0]["free"] == 50 and late.pools[0]["pages"] == 100
        with pytest.raises(ValueError, match="more pages are free than there are"):
            index.callers_pool(3, 4)
        assert reader.sums["drift"] == 0
    del requests


def test_the_reason_of_a_miss_is_found_in_what_the_request_inserts(feed):
    def reason(at):
        request = Request(at, 13)
        feed.requests.inserts(request, None, 4, 12)
        feed.index.insert(range(1, 13), range(4, 16))
        feed.requests.committed(request, None, 4, 12)
        row(feed, at, phase="committed")
        return feed.reader.requests()["missed_because"][at]

    assert reason(0).startswith("not known: before attaching")
    assert reason(1) == "another request inserted the rest while this one computed it"
    feed.index.evict(8)
    assert reason(2).startswith("evicted at tick")


def test_each_request_counts_as_one_hit_of_the_node_that_it_found():
    name = f"test-hits-{os.getpid()}"
    index = canopy.Index(4, accounting="sglang_unified", feed=name)  # as the drop-in has it: a lock is no hit
    index.insert([1, 2, 3, 4], [4, 5, 6, 7])
    requests = Requests(index)
    with canopy.Feed.attach(name) as reader:

        def hits():
            return [int(count) for count in reader.poll().columns()["hits"]]

        hold = index.hold_whole(index.match([1, 2, 3, 4]))
        assert hits() == [1]  # SGLang counts the insert
        for number in range(5):
            request = Request(number, 9)
            for _ in range(2):  # two chunks of a prompt, and one after a retraction
                requests.inserts(request, None, 4, 4, hold.node)
                requests.committed(request, None, 4, 4)
            requests.released(request)
            requests.inserts(request, None, 4, 4, hold.node)
            requests.committed(request, None, 4, 4)
        row(SimpleNamespace(reader=reader), 4, phase="committed")
        assert hits() == [5]


def test_a_node_that_is_no_number_counts_as_not_known(feed):
    request = Request("a", 8)
    feed.requests.inserts(request, None, 4, 8, object())
    feed.requests.committed(request, None, 4, 8)
    assert row(feed, 0, matched=4, phase="committed") == dict(matched=4, phase="committed")


def test_requests_are_shown_from_their_prefill_to_their_end(feed):
    request = Request("a", 8)
    feed.requests.committed(request, ("lora", None, "salt"), 4, 8)
    assert row(feed, 0, prompt=8, matched=4, phase="committed") == dict(prompt=8, matched=4, phase="committed")
    request.output_ids += [1, 2, 3]  # decoded, and the cache is not called
    assert row(feed, 0, phase="running", computed=10) == dict(phase="running", computed=10)
    feed.requests.released(request)
    assert row(feed, 0, phase="retracted") == dict(phase="retracted")
    request.output_ids += [4]
    time.sleep(3 * Requests.EVERY)
    assert row(feed, 0, phase="retracted", computed=0) == dict(phase="retracted", computed=0), "it waits"
    feed.requests.committed(request, ("lora", None, "salt"), 8, 8)
    request.finished_reason = "length"
    feed.requests.released(request)
    assert row(feed, 0, phase="finished") == dict(phase="finished")
    feed.requests.released(request)
    other = Request("b", 4)
    feed.requests.committed(other, None, 0, 4)
    other.finished_reason = FINISH_ABORT()
    feed.requests.released(other)
    assert row(feed, 1, phase="aborted") == dict(phase="aborted")


def test_a_look_between_an_announced_insert_and_the_insert_loses_no_reason(feed):
    request = Request("a", 13)
    feed.requests.committed(request, None, 4, 8)
    request.output_ids += [1]  # an insert is announced while the request decodes
    feed.requests.inserts(request, None, 4, 12)
    looks, send = [], feed.requests._send
    feed.requests._send = lambda sent, phase, computed: looks.append(phase) or send(sent, phase, computed)
    feed.requests.look()
    assert not looks
    feed.index.insert(range(1, 13), range(4, 16))
    feed.requests.committed(request, None, 4, 12)
    feed.requests.look()
    assert looks == ["committed", "running"]


def test_a_pool_that_raises_ends_no_feed(caplog):
    calls = []

    def pool():
        calls.append(1)
        return "many", None

    requests = Requests(canopy.Index(4), pool)
    until = time.monotonic() + 20
    while len(calls) < 3 and time.monotonic() < until:
        time.sleep(0.02)
    assert len(calls) >= 3 and caplog.text.count("the feed may show running requests late") == 1
    del requests
