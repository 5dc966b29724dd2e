import dataclasses
import json
import threading
import time

import canopy
import pytest

import test_policy

WORKLOAD = "configs/workloads/chat.yaml"
ENGINE = "configs/engines/sglang_lru.yaml"


def run(source_tree, policy=None, **options):
    given = {"workload": source_tree / WORKLOAD, "engine": source_tree / ENGINE, "capacity": 60_000, "policy": policy}
    return canopy.replay(**{**given, **options})


class Lru(canopy.Policy):
    def rank(self, node):
        return node.last_access


class LruBatch(Lru):
    drifts = True

    def __init__(self):
        self.nodes = 0

    def rank_many(self, nodes):
        self.nodes += len(nodes.hits)
        return nodes.last_access


@pytest.mark.parametrize("policy", ["lru", "slru", "lfu"])
def test_reports(source_tree, policy):
    report = run(source_tree, policy)
    assert report.violations == 0 and report.content_checks > 0
    assert report.policy == policy and 0 < report.hit_rate < 1 and report.evicted_tokens > 0
    assert report.digest == run(source_tree, set={"groups.full.eviction": policy}).digest


def test_a_policy_in_python_decides_as_its_original(source_tree):
    assert run(source_tree, Lru()).digest == run(source_tree, "lru").digest
    batch = LruBatch()
    assert run(source_tree, batch).digest == run(source_tree, "lru").digest and batch.nodes > 1000
    assert run(source_tree, test_policy.KeepShared()).digest != run(source_tree, "lru").digest
    assert run(source_tree, Lru(), mode="timed").digest == run(source_tree, "lru", mode="timed").digest


def test_the_example_of_the_manual(source_tree):
    for policy in ("lru", "slru", test_policy.KeepShared()):
        r = run(source_tree, policy)
        line = f"{r.policy:12} {r.hit_rate:6.2%}  evicted {r.evicted_tokens:,}  in {r.seconds:.2f} s"
        assert line.startswith(policy if isinstance(policy, str) else "KeepShared")


def test_requests_are_rows(source_tree):
    report = run(source_tree, limit=200)
    columns = report.columns()
    assert len(columns["prompt"]) == report.requests == 200
    assert columns["prompt"].sum() == report.prompt_tokens and columns["matched"].sum() == report.hit_tokens
    assert set(columns["space"]) == set(report.namespace_names)
    pandas = pytest.importorskip("pandas")
    assert isinstance(report.frame(), pandas.DataFrame) and report.samples().requests.iloc[-1] <= 200


def test_an_exception_ends_the_replay(source_tree, tmp_path):
    class Broken(Lru):
        def evicted(self, node, eviction):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run(source_tree, Broken(), record=tmp_path / "run.feed")
    assert not list(tmp_path.iterdir())  # no recording of half a run

    def stop(share, requests):
        raise InterruptedError(requests)

    with pytest.raises(InterruptedError, match="64"):
        run(source_tree, progress=stop)


def test_other_threads_run_meanwhile(source_tree):
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        began = time.monotonic()
        run(source_tree)
        ended = time.monotonic()
    finally:
        done.set()
        thread.join()
    assert sum(began < at < ended for at in ticks) > 3


@pytest.mark.parametrize(
    "options, words",
    [
        ({"workload": None}, "a trace or a workload"),
        ({"mode": "fast"}, "'serial' or 'timed'"),
        ({"workload": "missing.yaml"}, "missing.yaml"),
        ({"policy": "lruu"}, "Did you mean"),
        ({"set": {"page_sise": 3}}, "page_sise"),
        ({"capacity": 3}, "capacity"),
        ({"serve": "a", "record": "b"}, "not both"),
        ({"running": 4}, "running is for mode 'timed'"),
        ({"block_size": 64}, "block_size is for a trace"),
        ({"workload": None, "trace": "t.jsonl", "seed": 7}, "seed is for a workload"),
        ({"mode": "timed", "running": 0}, "running must be from 1 to 100000, not 0"),
        ({"mode": "timed", "prefill_tokens": 0}, "prefill_tokens must be"),
        ({"mode": "timed", "step_ms": 0}, "step_ms must be"),
        ({"mode": "timed", "abort_permille": 1001}, "abort_permille must be"),
    ],
)
def test_what_cannot_run_says_why(source_tree, options, words):
    with pytest.raises(ValueError, match=words):
        run(source_tree, **options)


def test_a_policy_by_name_is_that_of_the_command(source_tree):
    """One for each group, and `set` may change its options."""
    option = {"groups.full.eviction.slru.protect_after": 5}
    wanted = run(source_tree, set={"groups.full.eviction": {"slru": {"protect_after": 5}}})
    assert run(source_tree, "slru", set=option).digest == wanted.digest
    assert run(source_tree, {"slru": {"protect_after": 5}}).digest == wanted.digest
    hybrid = {"engine": source_tree / "configs/engines/hybrid_state.yaml", "content": False, "limit": 300}
    both = {f"groups.{group}.eviction": "hazard" for group in ("full", "state")}
    assert run(source_tree, "hazard", **hybrid).digest == run(source_tree, set=both, **hybrid).digest


def test_a_trace_has_the_block_size_of_its_format(tmp_path):
    """Blocks of 16 tokens for Qwen's traces, of 512 for Mooncake's, as for `canopy replay`."""
    traces = {}
    for name, ids in ("qwen", [1, 2, 3]), ("mooncake", [1]):
        traces[name] = tmp_path / f"{name}.jsonl"
        request = {"timestamp": 1, "input_length": 33, "output_length": 1, "hash_ids": ids}
        traces[name].write_text(json.dumps(request) + "\n")
    assert canopy.replay(f"qwen:{traces['qwen']}").prompt_tokens == 33
    assert canopy.replay(traces["mooncake"]).prompt_tokens == 33
    assert canopy.replay(traces["mooncake"], block_size=64).prompt_tokens == 33
    with pytest.raises(ValueError, match="hash_ids"):
        canopy.replay(traces["mooncake"], block_size=16)


def test_a_recording_never_replaces_an_input(source_tree, tmp_path):
    copy = tmp_path / "chat.yaml"
    copy.write_text((source_tree / WORKLOAD).read_text())
    with pytest.raises(ValueError, match="the recording"):
        run(source_tree, workload=copy, record=copy)
    assert copy.read_text() == (source_tree / WORKLOAD).read_text()


def test_the_conversation_trace(trace, source_tree):
    """The digest is that of `canopy replay configs/engines/sglang_lru.yaml --store none --trace ...`."""
    options = {"engine": source_tree / ENGINE, "set": {"store": "none"}}
    report = canopy.replay(trace, policy=Lru(), **options)
    assert f"{report.digest:016x}" == "5ff9322a7702e6f9"
    assert report.hit_tokens == 20_249_648


def test_a_report_has_the_figures_of_the_list(source_tree):
    report = run(source_tree, mode="timed")
    row = report.as_dict()
    for name, kind, _, help in canopy._core.report_figures():
        name = "capacity" if name == "capacity_tokens" else name
        assert name == "config" or (name in row and hasattr(report, name) and help in canopy.Report.__doc__), name
        assert kind not in ("int", "float", "str") or name in ("config", "digest") or type(row[name]).__name__ == kind, name
    assert report.capacity == 60_000 and report.mode == "timed" and report.steps > 0 and report.tiers == {}
    assert run(source_tree, engine=source_tree / "configs/engines/tiers_host.yaml").tiers["written_tokens_host"] > 0
    assert report == dataclasses.replace(report) and repr(report).startswith("<canopy.Report lru on chat.yaml")
