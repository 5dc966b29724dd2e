#!/usr/bin/env python3
"""Runs paste.py over small pages: right ones pass, each wrong one fails. usage: paste_test.py FOLDER"""

import pathlib
import shutil
import subprocess
import sys

work = pathlib.Path(sys.argv[1])
shutil.rmtree(work, ignore_errors=True)
(work / "tree/bin").mkdir(parents=True)
(work / "tree/bin/canopy").write_text("#!/bin/sh\necho reused 18.96 % in 12 ms\necho more\n")
(work / "tree/bin/canopy").chmod(0o755)


def block(kind, *lines, before=""):
    return before + "```" + kind + "\n" + "\n".join(lines) + "\n```\n"


def pasted(name, *blocks):
    page = work / f"{name}.md"
    page.write_text("\n".join(blocks))
    program = pathlib.Path(__file__).with_name("paste.py")
    return subprocess.run([sys.executable, program, "--installed", work / "tree", "--work", work / "work", page],
                          capture_output=True, text=True)


def expect(passes, name, *blocks, says=""):
    done = pasted(name, *blocks)
    if (done.returncode == 0) != passes or says not in done.stdout:
        sys.exit(f"{name}: exit code {done.returncode}, expected {'0' if passes else 'another'}, and '{says}' in:\n"
                 f"{done.stdout}{done.stderr}")


run = block("sh", "canopy")
expect(True, "right", run, block("text", "reused 18.96 % in <...> ms", "more"))
expect(True, "right_rest", run, block("text", "reused   18.96 % <...>", "..."))
expect(True, "right_without_text", run)
expect(True, "right_state", block("sh", "x=1", "cd /"), block("sh", "echo $x $PWD"), block("text", "1 /"))
expect(True, "right_home", block("sh", "$HOME/canopy/bin/canopy | sed -n 1p"), block("text", "reused 18.96 % in 12 ms"))
marked = block("sh", "false", before="<!-- paste: needs sglang -->\n")
expect(True, "skipped", run, marked, says="skipped: needs sglang")
expect(False, "only_skipped", marked)
expect(False, "figure", run, block("text", "reused 19.96 % in <...> ms", "more"), says="19.96")
expect(False, "line_missing", run, block("text", "reused 18.96 % in <...> ms"), says="more was printed")
expect(False, "line_too_many", run, block("text", "...", "more", "yet more"), says="yet more")
expect(False, "order", run, block("text", "more", "..."), says="more")
expect(False, "failure", block("sh", "false"), says="failed with exit code 1")
expect(False, "failure_in_pipe", block("sh", "false | cat"), says="failed")
expect(False, "later_block", block("sh", "exit 3"), run, says="not reached")
expect(False, "unknown_command", block("sh", "canopy-no-such-program"), says="127")
expect(False, "nothing", "no block")
print("a right page passes, a wrong one fails")
