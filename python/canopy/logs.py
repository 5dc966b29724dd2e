"""Converts request logs of SGLang and vLLM to a trace in Canopy's own format (docs/lab.md, Traces):

    python3 -m canopy.logs LOGFILE > trace.jsonl

SGLang: --log-requests --log-requests-level 3, as text or with --log-requests-format json. vLLM: --enable-log-requests
with prompt_token_ids (VLLM_LOGGING_LEVEL=DEBUG since 2026); --enable-log-outputs gives the lengths of the answers.
The log may be compressed with gzip. This file also runs without the package: python3 python/canopy/logs.py LOGFILE
"""

import datetime
import gzip
import json
import os
import re
import sys

MOST_TOKEN, YEAR_MS = 2**32 - 1, 366 * 86_400_000
MARK = re.compile(r"(Receive|Finish): obj=|(Received request|Generated response) |Request (?=[^:, ]+ details: )")
NAME, LIST, NUMBER = re.compile(r"[^:, ]*"), re.compile(r"[\[(][\d, ]*"), re.compile(r"-?\d+")
QUOTED = r"'(?:\\.|[^'\\])*(?:'|$)|\"(?:\\.|[^\"\\])*(?:\"|$)"
TIME = re.compile(r"(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{3}))?")


class LogError(ValueError):
    """A log that cannot be used: FILE:LINE:COLUMN and the reason."""


def after(line, name, start):
    """Returns the start of the text after `name`, outside of quoted texts; the line's end if there is no `name`."""
    found = re.finditer(rf"(?<!\w)({re.escape(name)})|{QUOTED}", line[start:], re.ASCII)
    return next((start + each.end() for each in found if each[1]), len(line))


def quoted(line, name, start):
    """Returns the quoted text after `name`, with its escapes unchanged; "" if there is none."""
    found = re.compile(QUOTED).match(line, after(line, name, start))
    return found[0][1:-1] if found else ""


def number(line, name, start):
    """Returns the whole number after `name`; 0 if there is none."""
    found = NUMBER.match(line, after(line, name, start))
    return int(found[0]) if found else 0


def token_ids(line, name, start):
    """Returns the list of token ids after `name`; None if there is no list (the log may contain None there)."""
    found = LIST.match(line, after(line, name, start))
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


def request_of(line, clock):
    """Returns name, time, token ids (None: not in the log), namespace and priority; None if the line is no request."""
    if entry := entry_of(line):
        if entry["event"] != "request.received":
            return None
        request, time = entry.get("obj") or {}, clock.read(entry.get("timestamp") or line)
        for i, value in enumerate(request.get("input_ids") or [], 1):
            if type(value) is not int or not 0 <= value <= MOST_TOKEN:
                raise LogError(f" item {i} of 'obj.input_ids' is {json.dumps(value)}; expected a whole number from 0 "
                               f"to {MOST_TOKEN}; was the log written with --log-requests-level 3?")
        return entry["rid"], time, request.get("input_ids"), request.get("extra_key"), request.get("priority")
    mark = MARK.search(line)
    if not mark or mark[1] == "Finish" or mark[2] == "Generated response":
        return None
    at = mark.end()
    if mark[1]:
        return (quoted(line, "rid=", at), clock.read(line), token_ids(line, "input_ids=", at),
                quoted(line, "extra_key=", at), number(line, "priority=", at))
    if after(line, "prompt_token_ids: ", at) == len(line):
        return None  # the details are on a separate line
    return (NAME.match(line, at)[0], clock.read(line), token_ids(line, "prompt_token_ids: ", at),
            quoted(line, "lora_name=", at), 0)


def answer_of(line):
    """Returns a request's name, the tokens of its answer, and True if they add to earlier ones; None if the line has
    none."""
    if '"request.finished"' in line and (entry := entry_of(line)):
        return entry["rid"], (entry.get("out") or {}).get("meta_info", {}).get("completion_tokens") or 0, False
    mark = MARK.search(line)
    if mark and mark[1] == "Finish":
        return quoted(line, "rid=", mark.end()), number(line, "'completion_tokens': ", mark.end()), False
    if mark and mark[2] == "Generated response":
        ids, name = token_ids(line, "output_token_ids: ", mark.end()), NAME.match(line, mark.end())
        return None if ids is None else (name[0], len(ids), line.startswith(" (streaming delta)", name.end()))
    return None


def each(path, read):
    """Yields what `read` finds in the lines of a log."""
    with open(path, "rb") as file:
        opener = gzip.open if file.read(2) == b"\x1f\x8b" else open
    with opener(path, "rt", encoding="utf-8", errors="replace", newline="\n") as lines:
        for i, line in enumerate(lines, 1):
            try:
                found = read(line.rstrip("\r\n"))
            except LogError as error:
                raise LogError(f"{path}:{i}:{error}") from None
            except (AttributeError, KeyError, TypeError) as error:
                raise LogError(f"{path}:{i}: not as SGLang writes it: {type(error).__name__}: {error}") from None
            if found:
                yield found


def state_of(path):
    facts = os.stat(path)
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns


def requests(path, notes):
    """Yields the requests of a log in Canopy's format, and appends messages for the user to `notes`. Reads the log twice,
    because the length of an answer comes long after the request."""
    answers, clock, lengths, without, unanswered = {}, Clock(), [], 0, 0
    state = state_of(path)
    for name, tokens, adds in each(path, answer_of):
        answers[name] = answers.get(name, 0) + tokens if adds else max(answers.get(name, 0), tokens)
    for name, time, tokens, space, priority in each(path, lambda line: request_of(line, clock)):
        if tokens is None:
            without += 1
            continue
        lengths.append(len(tokens))
        unanswered += not answers.get(name)
        others = {"namespace": space, "priority": priority, "output_tokens": answers.get(name)}
        yield {"time_ms": time} | {key: value for key, value in others.items() if value} | {"tokens": tokens}
    if state_of(path) != state:
        raise LogError(f"{path}: was changed between the two times that it is read, so requests and lengths of answers may not "
                       "fit; copy the log first")
    if not lengths and not without:
        raise LogError(f"{path}: has no requests; expected a log of SGLang with the token ids of the requests "
                       "(--log-requests --log-requests-level 3) or of vLLM with prompt_token_ids (--enable-log-requests)")
    if without:
        notes.append(f"left out, because they came as text or the log is not of level 3: {without} requests")
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
