import signal
import threading

import canopy
import pytest

import test_policy
from test_replay import Lru

WORKLOAD = "configs/workloads/chat.yaml"
ENGINE = "configs/engines/sglang_lru.yaml"
CAPACITIES = [20_000, 60_000]


def compared(source_tree, **options):
    given = {"workload": source_tree / WORKLOAD, "engine": source_tree / ENGINE, "policies": ["lru", "optimum"]}
    return canopy.compare(**{**given, "capacities": CAPACITIES, **options})


def replayed(source_tree, policy, capacity):
    return canopy.replay(
        workload=source_tree / WORKLOAD, engine=source_tree / ENGINE, capacity=capacity, policy=policy, content=False,
        set={"store": "none"},
    )


def test_rows_are_those_of_replays(source_tree):
    ours, slru = test_policy.KeepShared(), {"slru": {"protect_after": 3}}
    found = compared(source_tree, policies=["lru", slru, ours, "optimum", "infinite"], jobs=2)
    rows = {(row["policy"], row["capacity"]): row for row in found.rows()}
    assert len(rows) == 9 and found.violations == 0
    for capacity in CAPACITIES:
        best = rows["optimum", capacity]["hit_tokens"]
        for policy, name in (("lru", "lru"), (slru, "{slru: {protect_after: 3}}"), (ours, "KeepShared")):
            row, report = rows[name, capacity], replayed(source_tree, policy, capacity)
            assert row["hit_tokens"] == report.hit_tokens <= best
            assert row["digest"] == f"{report.digest:016x}"
            assert row["optimum_share"] == pytest.approx(report.hit_tokens / best)
    assert rows["infinite", None]["hit_tokens"] == found.infinite_tokens
    one = compared(source_tree, policies=["lru", slru, ours, "optimum", "infinite"], jobs=1)
    assert one.rows()[0]["hit_tokens"] == found.rows()[0]["hit_tokens"] and repr(one).startswith("<canopy.Comparison")


def test_turns_of_a_workload_are_those_of_its_tokens(tmp_path):
    """A workload has no blocks: a second turn is one that continues the first, however short both are."""
    workload = tmp_path / "short.yaml"
    workload.write_text("requests: 60\nmix:\n  - chat: { conversations: 10, turns: 4, system_tokens: 0, user_tokens: 40,"
                        " answer_tokens: 20 }\n")
    slices = canopy.compare(workload=workload, policies=["lru"], capacities=[100_000]).slice_columns
    turns = {part: count for by, part, count in zip(slices["by"], slices["part"], slices["requests"]) if by == "turn"}
    assert sum(count for part, count in turns.items() if part != "turn 1") > 20


def test_stores_of_groups_are_left_out(source_tree):
    options = {"engine": source_tree / "configs/engines/hybrid_state.yaml", "policies": ["lru"], "capacities": [40_000]}
    compared(source_tree, **options, set={"groups.state.store": {"cuda": {"device": 99}}})


def test_what_a_policy_learns_stays_in_its_run(source_tree):
    class Learns(Lru):
        seen = 0

        def arrived(self, request):
            self.seen += 1

        def rank(self, node):
            return (node.last_access, 0) if self.seen < 10**9 else (0, 0)

    policy = Learns()
    compared(source_tree, policies=[policy])
    assert policy.seen == 0


def test_frames(source_tree):
    pandas = pytest.importorskip("pandas")
    found = compared(source_tree)
    assert isinstance(found.frame(), pandas.DataFrame) and len(found.frame()) == 4
    parts = found.slices()
    turns = parts[(parts["by"] == "turn") & (parts.policy == "lru") & (parts.capacity == CAPACITIES[0])]
    assert turns.hit_tokens.sum() == found.frame().hit_tokens[0]
    assert turns.requests.sum() == found.requests
    assert isinstance(canopy.curve(workload=source_tree / WORKLOAD).frame(), pandas.DataFrame)


def test_a_curve_is_lru_page_by_page(source_tree):
    curve = canopy.curve(workload=source_tree / WORKLOAD, page_size=16, capacities=CAPACITIES)
    columns = curve.columns()
    assert columns["capacity"].tolist() == CAPACITIES and columns["error"] == [None, None]
    found = compared(source_tree, policies=["lru_trimmed"], page_size=16).rows()
    assert columns["hit_tokens"].tolist() == [row["hit_tokens"] for row in found]
    whole = canopy.curve(workload=source_tree / WORKLOAD)
    assert whole.columns()["hit_tokens"][-1] == whole.infinite_tokens and len(whole.columns()["capacity"]) > 10
    assert whole.enough_tokens <= whole.columns()["capacity"][-1] and "can be reused" in repr(whole)
    sampled = canopy.curve(workload=source_tree / WORKLOAD, page_size=1, sample=0.5)
    assert all(error is not None for error in sampled.columns()["error"])


class Mine(Exception):
    pass


def stops(share, requests):
    raise Mine(requests)


@pytest.mark.parametrize("call", [compared, lambda tree, **options: canopy.curve(workload=tree / WORKLOAD, **options)])
def test_progress_and_signals_end_the_work(source_tree, call):
    # A workload of this length ends before the first look at a comparison: many capacities make it longer.
    long = {"capacities": list(range(20_000, 60_000, 100)), "jobs": 1} if call is compared else {}
    with pytest.raises(Mine):
        call(source_tree, progress=stops, **long)

    def interrupted(number, frame):
        raise Mine

    before = signal.signal(signal.SIGUSR1, interrupted)
    try:
        timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGUSR1])
        timer.start()
        with pytest.raises(Mine):
            while True:
                call(source_tree, **long)
    finally:
        timer.cancel()
        signal.signal(signal.SIGUSR1, before)


def test_a_policy_that_throws_ends_the_comparison(source_tree):
    class Broken(Lru):
        def rank(self, node):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        compared(source_tree, policies=["lru", Broken()])


@pytest.mark.parametrize(
    "options, words",
    [
        ({"policies": ["lruu"]}, "Did you mean 'lru'"),
        ({"policies": ["lru", "lru"]}, "twice"),
        ({"policies": []}, "at least one policy"),
        ({"capacities": [3]}, "does not hold one page"),
        ({"warm_up": 10**9}, "leaves none to count"),
        ({"flop_depth": 0}, "flop_depth must be"),
        ({"flop_depth": float("nan")}, "not nan"),
        ({"workload": None}, "a trace or a workload"),
        ({"workload": "missing.yaml"}, "missing.yaml"),
        ({"engine": "configs/engines/sliding_window.yaml", "policies": ["optimum"]}, "whole paths"),
    ],
)
def test_what_cannot_be_compared_says_why(source_tree, options, words):
    if "engine" in options:
        options = {**options, "engine": source_tree / options["engine"]}
    with pytest.raises(ValueError, match=words):
        compared(source_tree, **options)


@pytest.mark.parametrize(
    "options, words",
    [({"page_size": 0}, "page"), ({"sample": 2}, "sample must be"), ({"sample": float("nan")}, "not nan"), ({"sample": 1e-6}, "take a larger one"), ({"capacities": [3]}, "page"), ({"warm_up": 10**9}, "none")],
)
def test_what_is_no_curve_says_why(source_tree, options, words):
    with pytest.raises(ValueError, match=words):
        canopy.curve(workload=source_tree / WORKLOAD, **options)


def test_an_index_by_name(source_tree):
    lru = canopy.replay(workload=source_tree / WORKLOAD, capacity=60_000, min_uncached=1)
    table = canopy.replay(workload=source_tree / WORKLOAD, capacity=60_000, min_uncached=1, index="hash_chain")
    assert 0 < table.hit_tokens and table.violations == 0 and table.digest != lru.digest
    rows = canopy.compare(workload=source_tree / WORKLOAD, capacities=[60_000], policies=["lru"], index="hash_chain")
    assert rows.rows()[0]["hit_tokens"] > 0
    with pytest.raises(ValueError, match="must be lru"):
        canopy.replay(workload=source_tree / WORKLOAD, capacity=60_000, index="hash_chain", set={"groups.full.eviction": "lfu"})


def test_rematch(source_tree):
    plain, shares = (
        canopy.replay(workload=source_tree / WORKLOAD, capacity=60_000, mode="timed", rematch=rematch)
        for rematch in (False, True)
    )
    assert plain.rematched_tokens == 0 and shares.violations == 0
    for options in ({"mode": "timed", "min_uncached": 1}, {"rematch": True}):
        with pytest.raises(ValueError):
            canopy.replay(workload=source_tree / WORKLOAD, capacity=60_000, **options)
