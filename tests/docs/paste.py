#!/usr/bin/env python3
"""Pastes the commands of documents and compares what they print.

usage: paste.py --installed TREE --work FOLDER [--trace FILE] PAGE...

The ```sh blocks of a page run in order in one shell, in one empty folder, with TREE/bin first on PATH and TREE as
$HOME/canopy. A command that fails, fails the page. If the next block is ```text, it must be what the commands print: a
line `...` stands for any lines, `<...>` for any characters within a line, and runs of blanks count as one.

A comment in front of a block says that a stranger lacks something: `<!-- paste: needs trace -->`, `<!-- paste: needs
sglang -->`, `<!-- paste: skip: builds for minutes -->`. Such blocks do not run and are reported with their reason; those
that need the trace run if --trace names it, or if it is found as the other tests find it: traces/conversation_trace.jsonl
in $CANOPY_SHARED or in a folder `shared` above the current one.

Exit code 0: all that ran is as the pages say; 1: a difference, or a command that failed.
"""

import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

FENCE = re.compile(r"^(```+)(\S*)\s*$")
MARK = re.compile(r"^<!-- paste: (.*?) -->\s*$")
LIMIT_S = 240


class Block:
    def __init__(self, line, text, mark):
        self.line, self.text, self.mark, self.expected = line, text, mark, None


def blocks_of(page):
    """Returns the sh blocks of a page, each with its mark and the text block that follows it."""
    blocks, last, mark, fence, kind, body, start = [], None, None, None, None, [], 0
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        found = FENCE.match(line)
        if fence is None and found:
            fence, kind, body, start = found[1], found[2], [], number
        elif fence is not None and line.strip() == fence:
            if kind == "sh":
                last = Block(start, "\n".join(body), mark)
                blocks.append(last)
            else:
                if kind == "text" and last is not None:
                    last.expected = body
                last = None
            fence, mark = None, None
        elif fence is not None:
            body.append(line)
        elif found := MARK.match(line):
            mark = found[1]
        elif line.strip():
            mark = None
    if fence is not None:
        sys.exit(f"{page}:{start}: the block does not end")
    return blocks


def plain(line):
    return " ".join(line.split())


def matches(expected, printed):
    """Returns None if the lines match, otherwise the first expected line that was not found."""
    def same(pattern, line):
        parts = [re.escape(plain(part)) for part in pattern.split("<...>")]
        return re.fullmatch(r"\s*.*?\s*".join(parts), plain(line)) is not None

    # places[i]: lines printed that the first i lines of the page can account for.
    places = {0}
    for line in expected:
        if line.strip() == "...":
            after = set(range(min(places), len(printed) + 1))
        else:
            after = {at + 1 for at in places if at < len(printed) and same(line, printed[at])}
        if not after:
            return line
        places = after
    return None if len(printed) in places else "(the end; more was printed)"


def run(page, blocks, options):
    work = options.work / page.stem
    shutil.rmtree(work, ignore_errors=True)
    (work / "here").mkdir(parents=True)
    os.chmod(work, 0o755)
    home = work / "home"
    home.mkdir()
    (home / "canopy").symlink_to(options.installed)
    if options.trace:
        (work / "here" / "conversation_trace.jsonl").symlink_to(options.trace)
    script = ["set -euo pipefail"]
    for number, block in enumerate(blocks):
        script += [f"printf '\\n\\036%d\\n' {number}", block.text]
    script += ["printf '\\n\\036end\\n'"]
    environment = {**os.environ, "HOME": str(home), "LC_ALL": "C.UTF-8",
                   "PATH": f"{options.installed}/bin:{os.environ['PATH']}"}
    process = subprocess.Popen(["bash", "-c", "\n".join(script)], cwd=work / "here", env=environment, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output = process.communicate()[0] + f"\n(not done after {LIMIT_S} s)"
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)  # processes that a page leaves in the background
        except ProcessLookupError:
            pass
    return process.returncode, output


def check(page, options):
    wrong, skipped, todo = 0, 0, []
    for block in blocks_of(page):
        reason = block.mark
        if reason == "needs trace" and options.trace:
            reason = None
        if reason:
            print(f"{page}:{block.line}: skipped: {reason.removeprefix('skip: ')}")
            skipped += 1
        else:
            todo.append(block)
    if not todo:
        return 0, skipped, 0
    status, output = run(page, todo, options)
    pieces = dict(piece.split("\n", 1) for piece in output.split("\x1e")[1:])
    for number, block in enumerate(todo):
        where = f"{page}:{block.line}"
        if str(number) not in pieces:
            print(f"{where}: not reached")
            wrong += 1
            continue
        printed = pieces[str(number)].strip("\n").splitlines()
        last = str(number + 1) not in pieces and "end" not in pieces
        if last:
            print(f"{where}: a command failed with exit code {status}; printed:", *printed[-30:], sep="\n  ")
            wrong += 1
        elif block.expected is not None and (missing := matches(block.expected, printed)) is not None:
            lines = (f"  {line}" for line in printed)
            print(f"{where}: the page says", f"  {missing}", "where this was printed:", *lines, sep="\n")
            wrong += 1
    return wrong, skipped, len(todo)


def shared_trace():
    """Returns the trace that the project does not ship, or None."""
    places = [pathlib.Path(os.environ["CANOPY_SHARED"])] if "CANOPY_SHARED" in os.environ else []
    here = pathlib.Path.cwd()
    for place in [*places, *(folder / "shared" for folder in (here, *here.parents))]:
        if (trace := place / "traces/conversation_trace.jsonl").exists():
            return trace
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--installed", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--trace", type=pathlib.Path)
    parser.add_argument("pages", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    options.trace = options.trace or shared_trace()
    options.installed, options.work = options.installed.resolve(), options.work.resolve()
    if options.trace:
        options.trace = options.trace.resolve()
    if not (options.installed / "bin/canopy").exists():
        sys.exit(f"{options.installed}: no bin/canopy in it")
    wrong, skipped, ran = (sum(column) for column in zip(*(check(page, options) for page in options.pages)))
    print(f"{ran} blocks pasted, {skipped} skipped, {wrong} wrong")
    if ran == 0:
        sys.exit("nothing was pasted")
    sys.exit(1 if wrong else 0)


main()
