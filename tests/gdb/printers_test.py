#!/usr/bin/env python3
"""Compares what gdb prints of the values of a program with scripts/gdb/canopy_printers.py.
usage: printers_test.py GDB PROGRAM PRINTERS. Exit code 77: gdb has no Python, or may run no program here."""

import subprocess
import sys

gdb, program, printers = sys.argv[1:]
EXPECTED = {
    "seven": "Result 7",
    "failed": 'Error "there is no such file"',
    "node": "slot 17, life 3",
    "no_node": "none",
    "column": "Column of 2 = {4, 2}",
    "counters": "CounterValues = {[fetches[2]] = 5, [loaded_tokens_storage] = 1}",
}

commands = [f"source {printers}", "set debuginfod enabled off", "break stop", "run", "up",
            *(f"print {name}" for name in EXPECTED)]
done = subprocess.run([gdb, "-nx", "-batch", *(word for command in commands for word in ("-ex", command)), program],
                      capture_output=True, text=True)
if "Python scripting is not supported" in done.stderr or "ptrace" in done.stderr:
    print("SKIPPED:", done.stderr)
    sys.exit(77)
printed = [line.split(" = ", 1)[1] for line in done.stdout.splitlines() if line.startswith("$")]
if printed != list(EXPECTED.values()):
    sys.exit(f"expected {list(EXPECTED.values())}, got {printed}:\n{done.stdout}{done.stderr}")
