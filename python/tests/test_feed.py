import os

import canopy
import pytest

import test_index


@pytest.fixture
def name():
    return f"python-test-{os.getpid()}"


def test_a_live_index_is_seen(name):
    tree = canopy.Index(16, feed=name)
    tree.insert(test_index.IDS, test_index.slots(1, 64), space="tenant-a")
    assert name in canopy.Feed.names()
    import threading

    # The index answers readers between operations; this one attaches while nothing happens.
    polls = threading.Event()
    thread = threading.Thread(target=lambda: [tree.poll() for _ in iter(lambda: polls.wait(0.005), True)])
    thread.start()
    try:
        feed = canopy.Feed.attach(name)
    finally:
        polls.set()
        thread.join()
    with feed:
        assert feed.tree() == tree.tree() and "tenant-a  64 tokens" in feed.tree()
        held = tree.lock(test_index.IDS, space="tenant-a")
        feed.poll()
        assert feed.columns()["locks"].tolist() == [1] and feed.pools[0]["protected"] == 4
        held.release()
        tree.evict(64)
        feed.poll()
        assert feed.sums["nodes"] == 0 and feed.sums["drift"] == 0
    with pytest.raises(ValueError, match="closed"):
        feed.poll()
    del held, tree
    assert name not in canopy.Feed.names()


def test_a_recording_is_moved_in(source_tree, tmp_path):
    path = tmp_path / "run.feed"
    report = canopy.replay(
        workload=source_tree / "configs/workloads/chat.yaml", capacity=40_000, limit=100, policy="slru", record=path
    )
    with canopy.Feed.open(path) as feed:
        assert feed.sums["hit_tokens"] == report.hit_tokens and feed.hit_rate == pytest.approx(report.hit_rate)
        assert feed.sums["nodes"] == report.nodes and feed.pools[0]["policy"] == "slru"
        assert len(feed.requests()["request"]) == 100 and set(feed.requests()["phase"]) == {"finished"}
        assert len(feed.next_to_evict(5)) == 5 and "used" in feed.next_to_evict(1)[0]["because"]
        end, last = feed.tree(), feed.commits
        feed.seek(5)
        assert feed.sums["nodes"] < report.nodes
        assert feed.seek(last).tree() == end
        with pytest.raises(IndexError, match="operations"):
            feed.seek(last + 1)


def test_an_index_is_recorded(tmp_path):
    path = tmp_path / "index.feed"
    tree = canopy.Index(16, feed=path)
    tree.insert(test_index.IDS, test_index.slots(1, 64))
    del tree
    with canopy.Feed.open(path) as feed:
        assert feed.columns()["length"].tolist() == [64]


def test_what_cannot_be_opened_says_why(tmp_path):
    with pytest.raises(ValueError, match="nobody-here"):
        canopy.Feed.attach("nobody-here")
    (tmp_path / "text").write_text("no recording")
    with pytest.raises(ValueError, match="text"):
        canopy.Feed.open(tmp_path / "text")
    with pytest.raises(TypeError, match="feed"):
        canopy.Index(1, feed=7)
