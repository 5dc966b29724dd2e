"""Converts request logs of SGLang and vLLM to a trace in Canopy's own format (docs/lab.md, Traces):

    python3 -m canopy.logs LOGFILE > trace.jsonl

SGLang: --log-requests --log-requests-level 3, as text or with --log-requests-format json. vLLM: --enable-log-requests
with prompt_token_ids (VLLM_LOGGING_LEVEL=DEBUG since 2026); --enable-log-outputs gives the lengths of the answers.
The log may be compressed with gzip. This file also runs without the package: python3 python/canopy/logs.py LOGFILE
"""

import ast
import datetime
import gzip
import hashlib
import json
import os
import re
import sys

MOST_TOKEN, MOST_PRIORITY, YEAR_MS = 2**32 - 1, 2**31 - 1, 366 * 86_400_000
MARK = re.compile(r"(Receive|Finish): obj=|(Received request|Generated response) |Request (?=[^:, ]+ details: )")
NAME, LIST, NUMBER = re.compile(r"[^:, ]*"), re.compile(r"[\[(][\d, ]*"), re.compile(r"-?\d+")
QUOTED = r"'(?:\\.|[^'\\])*(?:'|$)|\"(?:\\.|[^\"\\])*(?:\"|$)"
PART = re.compile(rf"{QUOTED}|[\[\](){{}},]")
FIELD = re.compile(r"(?<!\w)(rid|input_ids|lora_path|lora_id|extra_key|cache_salt|image_data|video_data|audio_data|"
                   rf"session_params|priority)=|{QUOTED}", re.ASCII)
MARKED = re.compile(r'(adapter|key|salt|media)="')
TIME = re.compile(r"(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{3}))?")


class LogError(ValueError):
    """A log that cannot be used: FILE:LINE:COLUMN and the reason."""


def after(line, name, start):
    """Returns the start of the text after `name`, outside of quoted texts; the line's end if there is no `name`."""
    found = re.compile(rf"(?<!\w)({re.escape(name)})|{QUOTED}", re.ASCII).finditer(line, start)
    return next((each.end() for each in found if each[1]), len(line))


def fields_of(line, start):
    """Returns where the values of SGLang's fields begin; only those that the line has, each where it is first."""
    places = {}
    for found in FIELD.finditer(line, start):
        if found[1]:
            places.setdefault(found[1], found.end())
    return places


def token_ids(line, at):
    """Returns the list of token ids that begins at a place; None if there is no list (the log may contain None there)."""
    found = LIST.match(line, at)
    if not found:
        return None
    end, ids = found.end(), [int(digits) for digits in found[0][1:].replace(",", " ").split()]
    if end == len(line):
        raise LogError(f"{end + 1}: ends in the middle of its token ids; was the line cut off?")
    wrong = [str(value) for value in ids if value > MOST_TOKEN] + [line[end:end + 12]] * (line[end] not in "])")
    if wrong:
        raise LogError(f"{end + 1}: {wrong[0]!r} among the token ids; expected whole numbers from 0 to {MOST_TOKEN}")
    if line.startswith(" ... ", end + 1):
        raise LogError(f"{end + 1}: the middle of the token ids was left out of the log; SGLang writes all with "
                       "--log-requests-level 3")
    return ids


def value(line, begin):
    """Returns the Python value that begins at a place; None if there is none. What is no literal is returned as its text."""
    depth, at = 0, begin
    for found in PART.finditer(line, begin):
        at = found.end()
        depth += {"[": 1, "(": 1, "{": 1, "]": -1, ")": -1, "}": -1}.get(found[0], 0)
        if depth < 0 or (depth == 0 and found[0] == ","):
            at -= 1
            break
    text = line[begin:at].strip()
    try:
        return ast.literal_eval(text) if text else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def name_of(rid):
    """Returns the name of a request: a text, or None if the line has no name. A list of one name is that name."""
    one = rid[0] if isinstance(rid, list) and len(rid) == 1 else rid
    if one is None or isinstance(one, str):
        return one
    raise LogError(f" 'rid' is {json.dumps(rid, default=str)}; expected the name of a request")


def of_call(facts, i, count):
    """Returns the i-th of the facts of a call with several prompts; the only one where all have the same."""
    return facts[i] if isinstance(facts, list) and len(facts) == count else facts


def space_of(adapter=None, key=None, salt=None, media=None, plain="key"):
    """Returns the namespace of a request; "" is the shared one. What decides whether KV may be shared is in it. The part
    named `plain` stands alone as it is; several parts, and other parts, have marks, so that no two requests with
    different parts have one namespace."""
    parts = {name: part if isinstance(part, str) else json.dumps(part, sort_keys=True, default=str)
             for name, part in (("adapter", adapter), ("key", key), ("salt", salt), ("media", media)) if part}
    if list(parts) == [plain] and not MARKED.match(parts[plain]):
        return parts[plain]
    return ", ".join(f"{name}={json.dumps(part)}" for name, part in parts.items())


def digest_of(media):
    """Returns a short name for images, video and audio; None if there are none."""
    there = [each for each in media if each and not (isinstance(each, list) and not any(each))]
    return hashlib.sha256(repr(there).encode()).hexdigest()[:16] if there else None


def entry_of(line):
    """Returns SGLang's JSON object, which may follow a launcher's prefix; None if the line has none."""
    at = line.find("{")
    if at < 0 or '"event": "request.' not in line[at:]:
        return None
    try:
        return json.loads(line[at:])
    except json.JSONDecodeError as error:
        raise LogError(f"{at + error.colno}: not JSON: {error.msg}") from None


class Clock:
    """Milliseconds since the first line, by the times of a log. Ignores the year."""

    def __init__(self):
        self.last, self.now = None, 0

    def read(self, line):
        """Returns the time of the line; that of the previous line if it has none."""
        for found in TIME.finditer(line[:100]):
            try:
                moment = datetime.datetime(2000, *map(int, found.groups()[:5])) - datetime.datetime(2000, 1, 1)
            except ValueError:
                continue
            at = round(moment.total_seconds()) * 1000 + int(found[6] or 0)
            # Lines of several threads may go back in time; half a year back is a new year.
            step = at - (at if self.last is None else self.last)
            self.last, self.now = at, max(0, self.now + step + YEAR_MS * (step < -YEAR_MS // 2))
            break
        return self.now


class Prompt:
    """A request of a log. `tokens` None: its ids are not in the log; `why`: it cannot be used, and why."""

    def __init__(self, name, time, tokens, space, priority=0, media=False, why=None):
        self.name, self.time, self.tokens, self.space, self.priority = name, time, tokens, space, priority or 0
        self.media, self.why = media, why


def prompts_of_call(fact, time, ids):
    """Returns the prompts of one call to SGLang. `fact(name)` is the value of a field: a list of values where the call has
    several prompts."""
    several = bool(ids) and isinstance(ids[0], list)
    # Each is read once for all prompts: a text of thousands of values is long.
    names, sessions, path, adapter, key, salt, priorities = map(fact, (
        "rid", "session_params", "lora_path", "lora_id", "extra_key", "cache_salt", "priority"))
    count = len(ids) if several else len(names) if isinstance(names, list) and not ids else 1
    kinds = [fact(kind) for kind in ("image_data", "video_data", "audio_data")]
    found = []
    for i in range(count):
        pick = (lambda facts: of_call(facts, i, count)) if count > 1 or several else (lambda facts: facts)
        media = digest_of([pick(kind) for kind in kinds])
        space = space_of(pick(path) or pick(adapter), pick(key), pick(salt), media)
        why = "in a session of the server, where the log has only the new part of a prompt" if pick(sessions) else None
        priority = pick(priorities)
        found.append(Prompt(name_of(pick(names)), time, ids[i] if several else ids, space,
                            priority if type(priority) is int else 0, media is not None, why))
    return found


def requests_of(line, clock, adapters):
    """Returns the requests of a line. `adapters`: by name, the namespaces of vLLM's requests that another line has."""
    if entry := entry_of(line):
        if entry["event"] != "request.received":
            return []
        request, time = entry.get("obj") or {}, clock.read(entry.get("timestamp") or line)
        ids = request.get("input_ids")
        for i, token in enumerate([token for each in ids or [] for token in (each if type(each) is list else [each])], 1):
            if type(token) is not int or not 0 <= token <= MOST_TOKEN:
                raise LogError(f" item {i} of 'obj.input_ids' is {json.dumps(token)}; expected a whole number from 0 "
                               f"to {MOST_TOKEN}; was the log written with --log-requests-level 3?")
        return prompts_of_call({**request, "rid": entry["rid"]}.get, time, ids)
    mark = MARK.search(line)
    if not mark or mark[1] == "Finish" or mark[2] == "Generated response":
        return []
    at = mark.end()
    if mark[1]:
        places = fields_of(line, at)
        where = places.get("input_ids", len(line))
        ids = ids_of_several(line, where) if line.startswith("[[", where) else token_ids(line, where)
        return prompts_of_call(lambda name: value(line, places.get(name, len(line))), clock.read(line), ids)
    where = after(line, "prompt_token_ids: ", at)
    if where == len(line):
        return []  # the details are on a separate line
    name, ids = NAME.match(line, at)[0], token_ids(line, where)
    elsewhere = adapters.get(name, [])
    space = identity_of(line, at)
    if space is None and elsewhere:
        space = elsewhere.pop(0) if len(elsewhere) > 1 else elsewhere[0]
    why = "with an adapter whose name the log does not have" if space is UNNAMED else None
    return [Prompt(name, clock.read(line), ids, space, why=why)]  # space None: no line has its adapter


def ids_of_several(line, at):
    """Returns the lists of token ids of a call with several prompts, whose list begins at a place."""
    lists, at = [], at + 1
    while (ids := token_ids(line, at)) is not None:
        lists.append(ids)
        at = line.index("]", at) + 1
        if line.startswith("]", at):
            return lists
        at += len(", ") * line.startswith(", ", at)
    raise LogError(f"{at + 1}: {line[at:at + 12]!r} among the prompts of a call; expected lists of token ids")


UNNAMED = object()


def identity_of(line, start):
    """Returns the namespace that a line of vLLM gives its request; None if the line has no adapter and no salt, UNNAMED if
    it has an adapter without a name."""
    def named(*names):
        return next((found for name in names if (found := value(line, after(line, name, start)))), None)
    adapter = named("lora_name=", "'lora_name': ", '"lora_name": ')
    salt, request = named("cache_salt=", "cache_salt: "), named("lora_request: ", "lora_request=")
    if not adapter and request:
        return UNNAMED
    has = after(line, "lora_request: ", start) < len(line) or adapter or salt
    return space_of(adapter, salt=salt, plain="adapter") if has else None


def answers_of(line):
    """Returns for each answer of a line: the request's name, the tokens, and True if they add to earlier ones."""
    if '"request.finished"' in line and (entry := entry_of(line)):
        names, outs = ([each] if not isinstance(each, list) else each for each in (entry["rid"], entry.get("out") or {}))
        return [(name_of(name), (out.get("meta_info") or {}).get("completion_tokens") or 0, False)
                for name, out in zip(names, outs)]
    mark = MARK.search(line)
    if mark and mark[1] == "Finish":
        at, found = mark.end(), []
        names = value(line, fields_of(line, at).get("rid", len(line)))
        for name in names if isinstance(names, list) else [names]:
            at = after(line, "'completion_tokens': ", at)
            tokens = NUMBER.match(line, at)
            found.append((name_of(name), int(tokens[0]) if tokens else 0, False))
        return found
    if mark and mark[2] == "Generated response":
        ids, name = token_ids(line, after(line, "output_token_ids: ", mark.end())), NAME.match(line, mark.end())
        return [] if ids is None else [(name[0], len(ids), line.startswith(" (streaming delta)", name.end()))]
    return []


def adapters_of(line):
    """Returns name and namespace of a request of vLLM whose token ids are on another line; an empty list otherwise."""
    mark = MARK.search(line)
    if not mark or mark[2] != "Received request" or after(line, "prompt_token_ids: ", mark.end()) != len(line):
        return []
    space = identity_of(line, mark.end())
    return [] if space is None else [(NAME.match(line, mark.end())[0], space)]


def each(path, read, problems):
    """Yields what `read` finds in the lines of a log. One line of a form that was not foreseen does not cost the others:
    `problems` gets it, by its number."""
    with open(path, "rb") as file:
        opener = gzip.open if file.read(2) == b"\x1f\x8b" else open
    with opener(path, "rt", encoding="utf-8", errors="replace", newline="\n") as lines:
        for i, line in enumerate(lines, 1):
            try:
                found = read(line.rstrip("\r\n"))
            except LogError as error:
                problems[i] = f"{path}:{i}:{error}"
            except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
                problems[i] = f"{path}:{i}: not as SGLang writes it: {type(error).__name__}: {error}"
            else:
                yield from found


def state_of(path):
    facts = os.stat(path)
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns


def requests(path, notes):
    """Yields the requests of a log in Canopy's format, and appends messages for the user to `notes`. Reads the log three
    times, because the length of an answer comes long after the request, and its adapter may be on another line."""
    answers, adapters, clock, lengths, problems = {}, {}, Clock(), [], {}
    without, unanswered, media, nowhere, beyond, left_out = 0, 0, 0, 0, 0, {}
    state = state_of(path)
    for name, tokens, adds in each(path, answers_of, problems):
        answers[name] = answers.get(name, 0) + tokens if adds else max(answers.get(name, 0), tokens)
    for name, space in each(path, adapters_of, problems):
        adapters.setdefault(name, []).append(space)
    for request in each(path, lambda line: requests_of(line, clock, adapters), problems):
        if request.tokens is None or request.why:
            without += request.tokens is None
            if request.tokens is not None:
                left_out[request.why] = left_out.get(request.why, 0) + 1
            continue
        lengths.append(len(request.tokens))
        unanswered += not answers.get(request.name)
        media += request.media
        nowhere += request.space is None
        fits = abs(request.priority) <= MOST_PRIORITY
        beyond += not fits
        others = {"namespace": request.space, "priority": request.priority * fits, "output_tokens": answers.get(request.name)}
        yield {"time_ms": request.time} | {key: value for key, value in others.items() if value} | {"tokens": request.tokens}
    if state_of(path) != state:
        raise LogError(f"{path}: was changed between the times that it is read, so requests and lengths of answers may not "
                       "fit; copy the log first")
    if problems and not lengths and not without and not left_out:
        raise LogError(problems[min(problems)])
    if not lengths and not without and not left_out:
        raise LogError(f"{path}: has no requests; expected a log of SGLang with the token ids of the requests "
                       "(--log-requests --log-requests-level 3) or of vLLM with prompt_token_ids (--enable-log-requests)")
    if without:
        notes.append(f"left out, because they came as text or the log is not of level 3: {without} requests")
    notes += [f"left out, because they came {why}: {count} requests" for why, count in left_out.items()]
    if problems:
        notes.append(f"left out, because they could not be read: {len(problems)} lines; the first: {problems[min(problems)]}")
    if nowhere:
        notes.append(f"in the shared namespace, because no line has their adapter (lora_request): {nowhere} requests")
    if beyond:
        notes.append(f"priority is 0, because the log has one below -{MOST_PRIORITY} or above {MOST_PRIORITY}: {beyond} "
                     "requests")
    if media:
        notes.append(f"images, video or audio are a part of the namespace, so nothing is shared with other prompts, not even "
                     f"what is before them: {media} requests")
    if unanswered:
        notes.append(f"output_tokens is 0, because the log has no length of the answer: {unanswered} requests")
    # A server that logs only the first N ids of a prompt does not record that in the log.
    longest = max(lengths, default=0)
    if (count := lengths.count(longest)) >= 3 and count * 50 > len(lengths):
        notes.append(f"{count} prompts have {longest} tokens, and none has more: was the log cut, as vLLM's "
                     "--max-log-len does?")


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    notes = []
    try:
        for request in requests(sys.argv[1], notes):
            print(json.dumps(request))
    except (OSError, EOFError, LogError) as error:
        sys.exit(f"canopy.logs: {error}")
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


if __name__ == "__main__":
    main()
