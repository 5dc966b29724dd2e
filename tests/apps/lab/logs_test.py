"""python/canopy/logs.py over logs of SGLang and vLLM: the prompt where it came, the answer's length where it ended.

    logs_test.py CANOPY SOURCE_FOLDER
"""

import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

CANOPY, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=100)


def read(log, content):
    """The requests and the notes that logs.py writes."""
    log.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run(sys.executable, SOURCE / "python/canopy/logs.py", log)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr.splitlines()


def error_of(log, content):
    """The message about a log, without the program's and the file's name."""
    log.write_text(content)
    done = run(sys.executable, SOURCE / "python/canopy/logs.py", log)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    return done.stderr.strip().removeprefix(f"canopy.logs: {log}")


def test_sglang_json(log):
    came = ('{"timestamp": "2026-08-22T10:00:00.000001", "event": "request.received", "rid": "a", "obj": {"rid": "a", "text": null,'
            ' "input_ids": [1, 2, 3], "sampling_params": {"stop": ["input_ids=[9]"]}, "extra_key": "t1", "priority": 2}}\n')
    as_text = ('{"timestamp": "2026-08-22T10:00:01", "event": "request.received", "rid": "b",'
               ' "obj": {"rid": "b", "text": "hello", "input_ids": null}}\n')
    ended = ('{"timestamp": "2026-08-22T10:00:09.5", "event": "request.finished", "rid": "a", "obj": {"input_ids": [1, 2, 3]},'
             ' "out": {"text": "x", "output_ids": [4, 5], "meta_info": {"prompt_tokens": 3, "completion_tokens": 2}}}\n')
    content = "INFO: server started\n(Engine pid=7) " + came + as_text + ended
    expected = ([{"time_ms": 0, "namespace": "t1", "priority": 2, "output_tokens": 2, "tokens": [1, 2, 3]}],
                ["note: left out, because they came as text or the log is not of level 3: 1 requests"])
    assert read(log, content) == expected
    assert read(log, gzip.compress(content.encode())) == expected
    # Level 2 leaves out the middle of a list.
    assert error_of(log, '{"event": "request.received", "rid": "a", "obj": {"input_ids": [1, "...", 2]}}') == (
        ":1: item 2 of 'obj.input_ids' is \"...\"; expected a whole number from 0 to 4294967295; was the log written with "
        "--log-requests-level 3?")
    assert error_of(log, '{"event": "request.received", "rid": "a", "obj": [') .startswith(":1:51: not JSON")
    assert error_of(log, '{"event": "request.received", "obj": {}}') == ":1: not as SGLang writes it: KeyError: 'rid'"
    assert error_of(log, "INFO: server started\n").startswith(": has no requests; expected a log of SGLang")


def test_sglang_text(log):
    came = ("[2026-12-31 23:59:59] Receive: obj=GenerateReqInput(rid='a', text='it\\'s input_ids=[9, 9]', input_ids=[1, 2], "
            "extra_key='t', priority=3, stop=\"input_ids=[7]\")\n")
    later = "[2026-01-01 00:00:01] Receive: obj=GenerateReqInput(rid='b', input_ids=[1])\n"
    ended = ("[2026-01-01 00:00:02] Finish: obj=GenerateReqInput(rid='a', input_ids=[1, 2]), out={'text': "
             "\"'completion_tokens': 99\", 'output_ids': [3], 'meta_info': {'completion_tokens': 1}}\n")
    requests, notes = read(log, came + later + ended)
    assert requests == [{"time_ms": 0, "namespace": "t", "priority": 3, "output_tokens": 1, "tokens": [1, 2]},
                        {"time_ms": 2000, "tokens": [1]}], "what stands in quotes is no field, and a year went by"
    assert notes == ["note: output_tokens is 0, because the log has no length of the answer: 1 requests"]
    for ids, expected in [("[1, 2] ... [3, 4])", "the middle of the token ids was left out of the log"),
                          ("[1, x])", ":1:45: 'x])' among the token ids; expected whole numbers from 0 to 4294967295"),
                          ("[4294967296])", ": '4294967296' among the token ids"),
                          ("[1, 2", ":1:46: ends in the middle of its token ids; was the line cut off?")]:
        error = error_of(log, f"Receive: obj=GenerateReqInput(input_ids={ids}\n")
        assert expected in error, error


def test_vllm(log):
    content = (
        "INFO 08-06 10:19:36 [logger.py:41] Received request cmpl-1-0: prompt: \"prompt_token_ids: [9]\", params: "
        "SamplingParams(n=1, stop=[]), prompt_token_ids: [128000, 5519], prompt_embeds shape: None, lora_request: "
        "LoRARequest(lora_name='law', lora_int_id=1).\n"
        "INFO 08-06 10:19:36 [async_llm.py:273] Added request cmpl-1-0.\n"
        "DEBUG 08-06 10:19:37 [logger.py:50] Request cmpl-2-0 details: prompt: 'a', prompt_token_ids: [1], prompt_embeds "
        "shape: None.\n"
        "INFO 08-06 10:19:37 [logger.py:60] Received request cmpl-2-0: params: SamplingParams(n=1), lora_request: None.\n"
        "INFO 08-06 10:19:38 [logger.py:80] Generated response cmpl-1-0 (streaming delta): output: 'x', output_token_ids: "
        "[1, 2], finish_reason: None\n"
        "INFO 08-06 10:19:38 [logger.py:80] Generated response cmpl-1-0 (streaming delta): output: 'x', output_token_ids: "
        "[3], finish_reason: stop\n"
        "INFO 08-06 10:19:38 [logger.py:80] Generated response cmpl-2-0: output: 'output_token_ids: [1, 2, 3]', "
        "output_token_ids: [1, 2, 3, 4], finish_reason: stop\n")
    assert read(log, content) == ([
        {"time_ms": 0, "namespace": "law", "output_tokens": 3, "tokens": [128000, 5519]},
        {"time_ms": 1000, "output_tokens": 4, "tokens": [1]}], [])
    requests, notes = read(log, "Received request a: prompt: 'x', prompt_token_ids: None, lora_request: None.\n")
    assert requests == [] and "came as text" in notes[0]
    # A log that keeps the first ids of each prompt looks whole line by line.
    cut = "".join(f"Received request r{i}: prompt: '', prompt_token_ids: [1, 2, 3], lora_request: None.\n" for i in range(9))
    requests, notes = read(log, cut)
    assert len(requests) == 9 and notes[1:] == [
        "note: 9 prompts have 3 tokens, and none has more: was the log cut, as vLLM's --max-log-len does?"]


def test_identity_on_another_line(log):
    """vLLM writes the ids of a prompt on one line and its adapter on the next one."""
    def lines(name, adapter):
        return (f"DEBUG 11-02 10:00:00 [x.py:1] Request {name} details: prompt: 'a', prompt_token_ids: [1, 2], prompt_embeds shape: "
                f"None.\nINFO 11-02 10:00:00 [x.py:2] Received request {name}: params: SamplingParams(n=1), lora_request: {adapter}.\n")
    law = "LoRARequest(lora_name='law', lora_int_id=1)"
    content = lines("a", law) + lines("b", "None") + lines("c", "LoRARequest(7)") + lines("a", "{'lora_name': 'x'}")
    requests, notes = read(log, content)
    assert [each.get("namespace") for each in requests] == ["law", None, "x"], requests
    assert "note: left out, because they came with an adapter whose name the log does not have: 1 requests" in notes, notes
    requests, notes = read(log, lines("a", law).splitlines()[0] + "\n")
    assert "namespace" not in requests[0] and "no line has their adapter (lora_request): 1 requests" in notes[0], notes


def test_sglang_identity(log):
    """Adapters, salts, extra keys and images are parts of a namespace, and no text of one is taken for another."""
    def text(fields):
        return f"Receive: obj=GenerateReqInput(rid='r', input_ids=[1, 2], {fields})\n"
    each = ["extra_key='x'", "cache_salt='x'", "lora_path='x'", "lora_path='x', cache_salt='x'", "image_data=['x']",
            "image_data=['y']", "extra_key='salt=\"x\"'", "extra_key=None, cache_salt=None, image_data=[None]"]
    requests, notes = read(log, "".join(map(text, each)))
    names = [request.get("namespace", "") for request in requests]
    assert len(set(names)) == 8 and names[0] == "x" and names[-1] == "", names
    assert any("not even what is before them: 2 requests" in note for note in notes), notes
    asjson = ({"extra_key": "x"}, {"cache_salt": "x"}, {"lora_path": "x"}, {"lora_path": "x", "cache_salt": "x"})
    content = "".join(json.dumps({"event": "request.received", "rid": "r", "obj": {"input_ids": [1, 2]} | more}) + "\n" for more in asjson)
    assert [request["namespace"] for request in read(log, content)[0]] == names[:4], "a log of JSON gives the same names"
    requests, notes = read(log, text("session_params={'id': 's', 'rid': 'p'}") + text("session_params=None"))
    assert len(requests) == 1 and "the log has only the new part of a prompt: 1 requests" in notes[0], notes


def test_several_prompts_a_call(log):
    call = ("Receive: obj=GenerateReqInput(rid=['a', 'b'], input_ids=[[1, 2], [3]], lora_path=['x', None], priority=None)\n"
            "Finish: obj=GenerateReqInput(rid=['a', 'b'], input_ids=[[1, 2], [3]]), out=[{'meta_info': {'completion_tokens': 5}}, "
            "{'meta_info': {'completion_tokens': 6}}]\n")
    expected = [{"time_ms": 0, "namespace": 'adapter="x"', "output_tokens": 5, "tokens": [1, 2]},
                {"time_ms": 0, "output_tokens": 6, "tokens": [3]}]
    assert read(log, call) == (expected, [])
    both = [{"event": "request.received", "rid": ["a", "b"], "obj": {"input_ids": [[1, 2], [3]], "lora_path": ["x", None]}},
            {"event": "request.finished", "rid": ["a", "b"], "out": [{"meta_info": {"completion_tokens": 5}},
                                                                      {"meta_info": {"completion_tokens": 6}}]}]
    assert read(log, "".join(json.dumps(each) + "\n" for each in both)) == (expected, [])


def test_names_of_other_forms(log):
    """A list of one name is that name. A name that is no text costs its own line."""
    def lines(rid, as_json):
        if as_json:
            each = ({"event": "request.received", "rid": rid, "obj": {"input_ids": [1, 2]}},
                    {"event": "request.finished", "rid": rid, "out": {"meta_info": {"completion_tokens": 4}}})
            return "".join(json.dumps(one) + "\n" for one in each)
        return (f"Receive: obj=GenerateReqInput(rid={rid!r}, input_ids=[1, 2])\n"
                f"Finish: obj=GenerateReqInput(rid={rid!r}), out={{'meta_info': {{'completion_tokens': 4}}}}\n")
    for as_json in (False, True):
        assert read(log, lines(["a"], as_json)) == ([{"time_ms": 0, "output_tokens": 4, "tokens": [1, 2]}], []), as_json
        for rid in ({"a": 1}, ["a", "b"], [["a"], {"b": 1}]):
            requests, notes = read(log, lines("g", as_json) + lines(rid, as_json))
            assert requests == [{"time_ms": 0, "output_tokens": 4, "tokens": [1, 2]}], (as_json, rid, requests)
            assert "left out, because they could not be read: " in notes[0] and f"{log}:3: 'rid' is " in notes[0], notes


def test_a_call_with_many_prompts(log):
    """Time grows with the length of a line, not with its square: 8,000 prompts take seconds."""
    count = 8000
    names = [f"r{i}" for i in range(count)]
    came = (f"Receive: obj=GenerateReqInput(rid={names}, text=None, input_ids={[[1, 2, 3]] * count}, "
            f"lora_path={['x'] * count}, extra_key={['k'] * count}, priority=None)\n")
    outs = [{"meta_info": {"completion_tokens": i}} for i in range(count)]
    ended = f"Finish: obj=GenerateReqInput(rid={names}), out={outs}\n"
    requests, notes = read(log, came + ended)
    assert [request.get("output_tokens", 0) for request in requests] == list(range(count))
    assert {request["namespace"] for request in requests} == {'adapter="x", key="k"'}, requests[0]


def test_priorities_that_a_trace_cannot_have(log):
    most = 2**31 - 1
    content = "".join(f"Receive: obj=GenerateReqInput(rid='r', input_ids=[1], priority={priority})\n"
                      for priority in (most, -most, most + 1, -most - 1))
    requests, notes = read(log, content)
    assert [request.get("priority", 0) for request in requests] == [most, -most, 0, 0], requests
    assert f"note: priority is 0, because the log has one below -{most} or above {most}: 2 requests" in notes, notes
    trace = log.with_suffix(".jsonl")
    trace.write_text("".join(json.dumps(request) + "\n" for request in requests))
    done = run(CANOPY, "trace", "stat", trace, "--unit", 1)
    assert done.returncode == 0, done.stderr


def test_one_line_does_not_cost_the_log(log):
    good = "Receive: obj=GenerateReqInput(rid='g', input_ids=[7])\n"
    for bad in ("Receive: obj=GenerateReqInput(rid='r', input_ids=[[1], 'x'])\n", "Receive: obj=GenerateReqInput(input_ids=[1, 2",
                '{"event": "request.received", "rid": "a", "obj": [\n', '{"event": "request.received", "obj": {}}\n'):
        requests, notes = read(log, good + bad)
        assert [request["tokens"] for request in requests] == [[7]], bad
        assert f"left out, because they could not be read: 1 lines; the first: {log}:2:" in notes[0], notes


def test_canopy_reads_it(log):
    log.write_text("Received request a: prompt: '', prompt_token_ids: [1, 2, 3].\n"
                   "Received request b: prompt: '', prompt_token_ids: [4, 5].\n")
    trace, facts = log.with_suffix(".jsonl"), log.with_suffix(".json")
    trace.write_text(run(sys.executable, SOURCE / "python/canopy/logs.py", log).stdout)
    done = run(CANOPY, "trace", "stat", trace, "--unit", 1, "--json", facts)
    assert done.returncode == 0, done.stderr
    known = json.loads(facts.read_text())
    assert (known["requests"], known["prompt_tokens"]) == (2, 5), known


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        for test in (test_sglang_json, test_sglang_text, test_vllm, test_identity_on_another_line, test_sglang_identity,
                     test_several_prompts_a_call, test_names_of_other_forms, test_a_call_with_many_prompts,
                     test_priorities_that_a_trace_cannot_have, test_one_line_does_not_cost_the_log, test_canopy_reads_it):
            test(pathlib.Path(name) / "server.log")
