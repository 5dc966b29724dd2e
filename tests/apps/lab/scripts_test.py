"""scripts/hint_trace, scripts/policies and scripts/published_traces, over a trace of sessions whose ends are known.

    scripts_test.py CANOPY SOURCE_FOLDER
"""

import gzip
import json
import pathlib
import random
import subprocess
import sys
import tempfile

CANOPY, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
SESSIONS, BLOCK = 80, 512


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=100)


def hinted(*arguments):
    """The requests that hint_trace writes."""
    done = run(SOURCE / "scripts/hint_trace", *arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def sessions_of_turns():
    """Requests of sessions of one to five turns, eight at a time, below a prompt that all share; and the last of each."""
    chosen, running, requests, started = random.Random(3), [], [], 0
    while running or started < SESSIONS:
        if len(running) < 8 and started < SESSIONS:
            running.append({"number": started, "left": chosen.randint(1, 5), "blocks": [0]})
            started += 1
        session = chosen.choice(running)
        session["left"] -= 1
        first = len(requests) * 100 + 1
        session["blocks"] = session["blocks"] + list(range(first, first + chosen.randint(1, 4)))
        requests.append({"timestamp": len(requests) * 500, "input_length": len(session["blocks"]) * BLOCK + 7,
                         "output_length": 20, "hash_ids": session["blocks"] + [first + 50],
                         "session": session["number"], "last": session["left"] == 0})
        if session["left"] == 0:
            running.remove(session)
    return requests


def says_ended(request):
    return "session_ended" in request.get("hints", [])


def test_hints(trace, requests):
    exact = hinted(trace, "--told", 1, "--wrong", 0)
    assert [says_ended(request) for request in exact] == [request["last"] for request in requests]
    for request in exact:
        request.pop("hints", None)
    assert exact == requests, "the rest of a line stays as it was"

    some = hinted(trace)
    right = sum(says_ended(request) and request["last"] for request in some)
    wrong = sum(says_ended(request) and not request["last"] for request in some)
    assert (right, wrong) == (round(0.8 * SESSIONS), round(0.8 * SESSIONS * 0.05 / 0.95)), (right, wrong)
    assert some == hinted(trace) and some != hinted(trace, "--seed", 2)

    by_client = hinted(trace, "--clients", "--wrong", 0)
    hinted_sessions = {request["session"] for request in by_client if "class_1" in request.get("hints", [])}
    assert len(hinted_sessions) == round(0.8 * SESSIONS)
    for request in by_client:
        known = request["session"] in hinted_sessions
        assert ("class_1" in request.get("hints", [])) == known and says_ended(request) == (known and request["last"])


    # A tool call is pending where the session goes on within five seconds, ten requests later at most.
    pending = hinted(trace, "--told", 1, "--wrong", 0, "--pending", 5)
    goes_on = [any(later["session"] == request["session"] for later in requests[i + 1:i + 11])
               for i, request in enumerate(requests)]
    assert ["tool_call_pending" in request.get("hints", []) for request in pending] == goes_on
    assert [says_ended(request) for request in pending] == [request["last"] for request in requests]


def test_bad_input(folder):
    bad = folder / "bad.jsonl"
    for text, expected in [("{}\n", "bad.jsonl:1: KeyError"), ("\n[1]\n", "bad.jsonl:2: TypeError"),
                           ('{"input_length": 2000, "hash_ids": [1]}\n', "bad.jsonl:1: 1 hash_ids; expected one for")]:
        bad.write_text(text)
        done = run(SOURCE / "scripts/hint_trace", bad)
        assert done.returncode == 1 and expected in done.stderr and "Traceback" not in done.stderr, done.stderr
    done = run(SOURCE / "scripts/hint_trace", folder / "missing.jsonl")
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr


def test_policies(trace, folder):
    with_hints = folder / "told.jsonl"
    with_hints.write_text("".join(json.dumps(request) + "\n" for request in hinted(trace, "--told", 1, "--wrong", 0)))
    policies = [SOURCE / "scripts/policies", "--canopy", CANOPY, "--config", SOURCE / "configs/engines/lru.yaml"]
    done = run(*policies, "--policy", "lru,fifo", "--capacity", "30k,300k", trace, with_hints)
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines() if "jsonl" in line]
    assert [row[:2] for row in rows] == [[name, capacity] for name in ("trace.jsonl", "told.jsonl")
                                         for capacity in ("30k", "300k")], done.stdout
    replayed = run(CANOPY, "replay", SOURCE / "configs/engines/lru.yaml", "--trace", trace, "--policy", "lru",
                   "--capacity", "30k", "--page-size", 16, "--store", "none", "--no-content")
    assert f"{rows[0][2]} tokens" in replayed.stdout, (rows, replayed.stdout)
    assert rows[0][2:] == rows[2][2:], "neither policy looks at hints"
    assert "worst against lru: " in done.stdout

    # Traces that are hard for a policy that learns, and a loop that lru cannot serve: with a limit the exit code shows it.
    names = ("loop_110k", "habits_invert_200", "returns_at_45k_90k")
    hard = [folder / "hard" / f"{name}.jsonl" for name in names]
    written = []
    for seed in (0, 0, 1):
        assert run(SOURCE / "scripts/hard_traces", folder / "hard", "--seed", seed, "--only", *names).returncode == 0
        written.append(hard[1].read_text())
    assert written[0] == written[1] != written[2], "a name and a seed make one trace"
    for pair, code in (("lru,hazard", 0), ("hazard,lru", 1)):
        done = run(*policies, "--policy", pair, "--capacity", "100k", "--least", -1, *hard)
        assert done.returncode == code, (done.stdout, done.stderr)

    # Traffic: the same name and seed make the same trace, seeds of one name are summed up, capacities are shares.
    for seed in (1, 2, 1):
        assert run(SOURCE / "scripts/traffic_traces", folder / f"traffic{seed}", "--seed", seed, "--only", "cron",
                   "--hours", 0.3).returncode == 0
        written.append((folder / f"traffic{seed}/cron.jsonl").read_text())
    assert written[3] == written[5] != written[4]
    done = run(*policies, "--share", "5,50", *[folder / f"traffic{seed}/cron.jsonl" for seed in (1, 2)])
    assert done.returncode == 0, done.stderr
    assert "geometric mean of 4 rows; " in done.stdout and " of 2 means of seeds are below -1 %" in done.stdout, done.stdout

    done = run(*policies, "--policy", "lru,lruu", "--capacity", "30k", trace)
    assert done.returncode == 1 and "lruu" in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_published(requests, folder):
    """A table of what is there, with the figures of `canopy compare`; what is not there is named."""
    published = folder / "published"
    published.mkdir()
    script = [SOURCE / "scripts/published_traces", published, "--canopy", CANOPY]
    done = run(*script)
    assert done.returncode == 1 and "none of the published traces is here" in done.stderr, done.stderr
    trace = published / "synthetic_trace.jsonl.gz"
    with gzip.open(trace, "wt") as file:
        for copy in range(3):  # enough requests for intervals
            later = [dict(request, timestamp=request["timestamp"] + copy * 10**6, hash_ids=[id + copy * 10**6 for id in request["hash_ids"]])
                     for request in requests]
            file.writelines(json.dumps(request) + "\n" for request in later)
    done = run(*script, "--policy", "lru,fifo", "--capacity", "5%,20%")
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines() if line.startswith("|")]
    assert rows[0] == ["trace", "capacity", "lru", "fifo", "optimum"] and len(rows) == 4, done.stdout
    out = folder / "figures.json"
    run(CANOPY, "compare", SOURCE / "configs/engines/sglang_lru.yaml", "--trace", trace, "--policy", "lru,fifo,optimum", "--capacity",
        "5%,20%", "--json", out)
    figures = json.loads(out.read_text())
    assert rows[2][0] == "synthetic_trace" and rows[3][0] == ""
    for at in range(2):
        lru, fifo, optimum = (figures["rows"][2 * policy + at] for policy in range(3))
        assert rows[2 + at][1:3] == [f"{('5%', '20%')[at]}, {lru['capacity_tokens']:,}", f"{100 * lru['hit_rate']:.2f} %"], rows
        assert rows[2 + at][3].startswith(f"{100 * fifo['gain']['mean']:+.1f} % ["), rows
        assert rows[2 + at][4] == f"{100 * optimum['hit_rate']:.2f} %", rows
    assert f"hash {figures['trace_hash']}" in done.stdout
    assert "not here: conversation_trace.jsonl (FAST25-release" in done.stdout and "not here: synthetic" not in done.stdout


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        requests, trace = sessions_of_turns(), folder / "trace.jsonl"
        trace.write_text("".join(json.dumps(request) + "\n" for request in requests))
        test_hints(trace, requests)
        test_bad_input(folder)
        test_policies(trace, folder)
        test_published(requests, folder)


if __name__ == "__main__":
    main()
