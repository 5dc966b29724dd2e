"""scripts/agent_traces: what it writes has the published statistics, counted here from the trace alone, and canopy reads it.

    agent_traces_test.py CANOPY SOURCE_FOLDER
"""

import collections
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

CANOPY, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
BLOCK, TOKENS_PER_SECOND, LONGEST = 512, 40.2, 167_300


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=100)


def written(path, *options):
    done = run(SOURCE / "scripts/agent_traces", path, *options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in path.read_text().splitlines()]


def quantile(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def near(found, published, share):
    assert (1 - share) * published <= found <= (1 + share) * published, (found, published)


def sessions_of(lines):
    sessions = collections.defaultdict(list)
    for line in lines:
        sessions[line["session_id"]].append(line)
    return sessions


def begins(line, other):
    """Returns true if a prompt begins with the whole blocks of another one."""
    whole = other["input_length"] // BLOCK
    return line["hash_ids"][:whole] == other["hash_ids"][:whole]


def test_statistics(lines):
    """The figures of TraceLab, AIPerf, cc-compact and the reports that the script names, as published."""
    for line in lines:
        assert len(line["hash_ids"]) == -(-line["input_length"] // BLOCK)
    assert [line["timestamp"] for line in lines] == sorted(line["timestamp"] for line in lines)
    sessions = sessions_of(lines)
    of_people = {name: of for name, of in sessions.items() if "." not in name}
    helpers = {name: of for name, of in sessions.items() if "." in name}

    # Growth and pauses behind a tool, behind an answer, and how many steps an answer takes.
    growth, pauses, steps = {True: [], False: []}, {True: [], False: []}, []
    for of in of_people.values():
        step = 0
        for now, after in zip(of, of[1:]):
            pending = "tool_call_pending" in now.get("hints", [])
            if "session_ended" in now.get("hints", []):
                assert not begins(after, now) and after["input_length"] < now["input_length"]  # a summary took its place
                continue
            assert begins(after, now)
            growth[pending].append(after["input_length"] - now["input_length"])
            pauses[pending].append((after["timestamp"] - now["timestamp"]) / 1000 - now["output_length"] / TOKENS_PER_SECOND)
            step += pending
            if not pending:
                steps.append(step)
                step = 0
    near(statistics.median(growth[True]), 652, 0.1)
    near(quantile(growth[True], 0.9), 4122, 0.15)
    near(statistics.mean(growth[True]), 1738, 0.1)
    near(statistics.median(growth[False]), 587, 0.25)
    near(quantile(growth[False], 0.9), 4361, 0.35)
    near(statistics.median(pauses[True]), 0.125, 0.25)
    near(quantile(pauses[True], 0.9), 14.5, 0.4)
    near(statistics.median(pauses[False]), 134.8, 0.35)
    near(quantile(pauses[False], 0.9), 1610, 0.6)
    assert quantile(steps, 0.5) in (0, 1, 2) and 10 <= quantile(steps, 0.9) <= 30, steps
    near(statistics.mean(steps), 7.8, 0.4)
    requests = [sum("tool_call_pending" not in line.get("hints", []) for line in of) for of in of_people.values()]
    assert quantile(requests, 0.5) in (1, 2) and 8 <= quantile(requests, 0.9) <= 40, requests
    near(statistics.mean(line["output_length"] for line in lines if line["output_length"] != 4000), 520, 0.05)

    # The system prompt of all, the instructions of a project, a part of its own in front of everything else.
    first = [of[0] for name, of in of_people.items() if not name.endswith("r")]
    system = first[0]["hash_ids"][:63]  # 32,000 tokens
    assert all(line["hash_ids"][:63] == system for line in first)
    projects = collections.Counter(tuple(line["hash_ids"][63:83]) for line in first)  # 10,000 tokens
    assert len(first) / 2 < len({line["hash_ids"][83] for line in first}) and 5 < len(projects) <= 100
    assert projects.most_common(1)[0][1] > 1
    near(statistics.median(line["input_length"] - 83 * BLOCK for line in first), 5000, 0.4)
    assert max(line["input_length"] for line in lines) <= LONGEST + 20_000 + 1

    # Subagents: their system prompt is their own, 22 calls each; a quarter of the sessions has some.
    theirs = {tuple(of[0]["hash_ids"][:66]) for of in helpers.values()}  # 33,578 tokens
    assert len(theirs) == 1 and theirs.pop()[0] != system[0]
    assert statistics.median(map(len, helpers.values())) == 22
    parents = {name.split(".")[0].rstrip("r") for name in helpers}
    with_tools = {name.rstrip("r") for name, of in of_people.items() if any("tool_call_pending" in line.get("hints", []) for line in of)}
    near(len(parents) / len(with_tools), 0.27, 0.4)
    near(len(helpers) / len(parents), 3.8, 0.3)

    # Sessions that broke off go on with their whole context under another name.
    again = [name for name in of_people if name.endswith("r")]
    assert again and all(begins(of_people[name][0], of_people[name[:-1]][-1]) and 5 <= len(of_people[name[:-1]]) <= 20 for name in again)


def test_hints(folder):
    """Clients that send hints send all of theirs; the requests are the same without."""
    plain, some = written(folder / "plain.jsonl", "--hours", 1, "--sessions", 40), written(
        folder / "some.jsonl", "--hours", 1, "--sessions", 40, "--hinted", 0.5)
    assert not any("hints" in line for line in plain)
    assert [{key: line[key] for key in line if key != "hints"} for line in some] == plain
    hinted = {line["session_id"].split(".")[0].rstrip("r") for line in some if "hints" in line}
    near(len(hinted) / len({line["session_id"].split(".")[0].rstrip("r") for line in some}), 0.5, 0.5)
    assert plain == written(folder / "plain.jsonl", "--hours", 1, "--sessions", 40, "--seed", 1)
    assert plain != written(folder / "plain.jsonl", "--hours", 1, "--sessions", 40, "--seed", 2)


def test_canopy_reads_it(path, lines, folder):
    done = run(CANOPY, "trace", "import", path, "--output", folder / "own.jsonl")
    assert done.returncode == 0 and "note" not in done.stdout, done.stdout + done.stderr
    own = [json.loads(line) for line in (folder / "own.jsonl").read_text().splitlines()]
    assert [(line["input_tokens"], line["ids"]) for line in own] == [(line["input_length"], line["hash_ids"]) for line in lines]
    bits = {"session_ended": 1, "tool_call_pending": 2}
    assert [line.get("hints", 0) for line in own] == [sum(bits[hint] for hint in line.get("hints", [])) for line in lines]
    turns = collections.Counter()
    for line, imported in zip(lines, own):
        turns[line["session_id"]] += 1
        assert imported["turn"] == turns[line["session_id"]]


def test_bad_arguments(folder):
    for options, sentence in [(("--hours", 0), "--hours: '0'; expected a number above 0"),
                              (("--sessions", "nan"), "--sessions: 'nan'; expected a number above 0"),
                              (("--hinted", 1.5), "--hinted: '1.5'; expected a share from 0 to 1"),
                              (("--hinted", "x"), "--hinted: 'x'; expected a share from 0 to 1"),
                              (("--seed", "x"), "--seed: invalid int value: 'x'")]:
        done = run(SOURCE / "scripts/agent_traces", folder / "not.jsonl", *options)
        assert done.returncode == 2 and sentence in done.stderr, done.stderr
    assert not (folder / "not.jsonl").exists()
    (folder / "file").write_text("")
    for path, why in [(folder, "Is a directory"), (folder / "file/out.jsonl", "")]:
        done = run(SOURCE / "scripts/agent_traces", path, "--hours", 0.01)
        assert done.returncode == 1 and f"{path}: {why}" in done.stderr and "expected a file that can be written" in done.stderr, done.stderr
        assert "Traceback" not in done.stderr


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = folder / "agents.jsonl"
        lines = written(path, "--hours", 40, "--sessions", 6, "--hinted", 1, "--seed", 3)
        test_statistics(lines)
        test_canopy_reads_it(path, lines, folder)
        test_hints(folder)
        test_bad_arguments(folder)


if __name__ == "__main__":
    main()
