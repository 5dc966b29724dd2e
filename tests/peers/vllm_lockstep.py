#!/usr/bin/env python3
"""Random requests beside vLLM's own order of lru: the same calls go to two of its CPU managers, one with each order.

    vllm_lockstep.py WHEEL [--operations N] [--seed S] [--policies canopy:lru,...]

WHEEL: the unpacked wheel of vLLM 0.33 (pip download --no-deps vllm==0.33.0); torch and canopy on the path. Requests come and
go as the offloading connector sends them: look up, load, store in several steps, finish, fail, reset. Transfers take a while,
so that chunks are pinned, and several requests are under way at once. What must be the same after each call, with
`canopy:lru`: what was found, which chunks are stored and which are evicted, in this order, and the numbers of their places.

One difference is meant: a chunk stays as long as a chunk that continues it. vLLM evicts the beginning of a prompt while its end
is copied, or when its end was used by a request that did not use the beginning, and then the end can serve no request. Such an
eviction is counted, and the sequence ends there. Before 0.33 vLLM's lru ordered the chunks of running requests in another way, so
there `canopy:lru` is held to the rules only.
All other orders (--policies) are held to the rules that do not depend on the order: exactly the requested number of chunks leaves,
none of them pinned or protected, children before parents; nothing is lost, and no place is used twice.
Exit code 1: a difference; 77: vLLM is not available.
"""
import argparse
import hashlib
import random
import sys

import vllm_manager
import vllm_wheel

CHUNK, ROUND = 16, 400


class Requests:
    """Prompts that share beginnings, with keys as vLLM chains them."""

    def __init__(self, prng, make_key):
        self.prng, self.make_key, self.texts = prng, make_key, []

    def prompt(self):
        prng = self.prng
        words = list(prng.choice(self.texts)) if self.texts and prng.random() < 0.75 else []
        if words and prng.random() < 0.6:
            words = words[: prng.randrange(1, len(words) + 1)]
        words += [prng.randrange(3) for _ in range(prng.randrange(0 if words else 1, 8))]
        words = words[:24]
        self.texts.append(words)
        del self.texts[:-25]
        keys, last = [], b""
        for word in words:
            last = hashlib.sha256(last + bytes([word])).digest()
            keys.append(self.make_key(last, 0))
        return keys


class Side:
    """A manager and the contexts of its requests."""

    def __init__(self, vllm, policy, chunks):
        module = "canopy.engines.vllm" if policy.startswith("canopy:") else None
        self.vllm, self.manager = vllm, vllm.CPUOffloadingManager(chunks, policy, module)
        self.contexts = {}

    def begin(self, number, keys):
        context = self.contexts[number] = self.vllm.ReqContext(req_id=str(number))
        self.manager.on_new_request(context)
        for at, key in enumerate(keys, 1):
            context.set_offload_key_position(key, at * CHUNK)
        return vllm_manager.lookup(self.vllm, self.manager, keys, context)

    def load(self, number, keys):
        return self.manager.prepare_load(keys, self.contexts[number]).block_ids.tolist()

    def loaded(self, number, keys):
        return self.manager.complete_load(keys, self.contexts[number])

    def store(self, number, keys):
        output = self.manager.prepare_store(keys, self.contexts[number])
        return output and (output.keys_to_store, output.store_spec.block_ids.tolist(), output.evicted_keys)

    def stored(self, number, keys, success):
        return self.manager.complete_store(keys, self.contexts[number], success)

    def end(self, number):
        return self.manager.on_request_finished(self.contexts.pop(number))

    def reset(self):
        self.contexts.clear()
        return self.manager.reset_cache()


class Rules:
    """Checks the rules of every order of eviction."""

    def __init__(self, chunks):
        self.chunks, self.here, self.parent, self.pins = chunks, {}, {}, {}

    def knows(self, keys):
        self.parent.update({key: before for before, key in zip([None, *keys], keys)})

    def check(self, side, method, arguments, answer):
        if method == "store" and answer:
            new, places, evicted = answer
            for key in evicted:
                place = self.here.pop(key, None)
                if place is None or self.pins.get(key) or key in arguments[1]:
                    return f"{key.hex()[:8]} was evicted: {'unknown' if place is None else 'pinned or protected'}"
                if any(self.parent.get(other) == key for other in self.here):
                    return f"{key.hex()[:8]} was evicted before a chunk that continues it"
            self.here.update(zip(new, places))
            if len(set(self.here.values())) != len(self.here) or not all(0 <= p < self.chunks for p in self.here.values()):
                return "a place is used twice"
        elif method == "reset":
            self.here.clear()
        if set(self.here) != set(side.manager._policy.chunks if hasattr(side.manager._policy, "chunks")
                                 else side.manager._policy._core.chunks):
            return "the table differs"
        return ""


def steps(prng, requests, running, results):
    """Endless operations as (method, arguments). `running`: state by request; `results`: the last answer."""
    number = 0
    while True:
        choice = prng.random()
        idle = [n for n, state in running.items() if not state["jobs"]]
        jobs = [(n, job) for n, state in running.items() for job in state["jobs"]]
        if (choice < 0.25 and len(running) < 6) or not running:
            keys = requests.prompt()
            number += 1
            yield "begin", (number, keys)
            state = running[number] = {"keys": keys, "at": 0, "jobs": []}
            found = results[-1]
            if found:
                yield "load", (number, keys[:found])
                state["at"] = found
                state["jobs"].append(("loaded", keys[:found]))
        elif choice < 0.55 and idle:
            n = prng.choice(idle)
            state = running[n]
            if state["at"] == len(state["keys"]):
                yield "end", (n,)
                del running[n]
                continue
            to = prng.randrange(state["at"], len(state["keys"])) + 1
            yield "store", (n, state["keys"][state["at"] : to])
            state["at"] = to
            if results[-1] and results[-1][0]:
                state["jobs"].append(("stored", results[-1][0]))
        elif choice < 0.995 and jobs:
            n, job = prng.choice(jobs)
            running[n]["jobs"].remove(job)
            if job[0] == "loaded":
                yield "loaded", (n, job[1])
            else:
                yield "stored", (n, job[1], prng.random() < 0.97)
        elif choice > 0.998:
            yield "reset", ()
            running.clear()


def sequence(vllm, seed, operations, policy, chunks, beside):
    """Runs a sequence. Returns (operations, evicted chunks, the reason for its end: "", "meant" or a difference)."""
    prng = random.Random(f"{seed} {chunks}")
    requests, running, results, rules = Requests(prng, vllm.make_offload_key), {}, [None], Rules(chunks)
    ours, theirs = Side(vllm, policy, chunks), Side(vllm, "lru", chunks) if beside else None
    evicted = 0
    for number, (method, arguments) in enumerate(steps(prng, requests, running, results)):
        if number == operations:
            break
        if method == "begin":
            rules.knows(arguments[1])
        if method == "load":
            rules.pins.update({key: rules.pins.get(key, 0) + 1 for key in arguments[1]})
        if method == "loaded":
            rules.pins.update({key: rules.pins[key] - 1 for key in arguments[1]})
        answer = getattr(ours, method)(*arguments)
        results[-1] = answer
        if theirs:
            other = getattr(theirs, method)(*arguments)
            if answer != other:
                if method == "store" and other and leaves_end(rules, other[2]):
                    return number, evicted, "meant"
                return number, evicted, f"operation {number}: {method}\n  ours   {short(answer)}\n  theirs {short(other)}"
        if method == "store" and answer:
            rules.pins.update(dict.fromkeys(answer[0], 1))
            evicted += len(answer[2])
        if method == "stored":
            rules.pins.update(dict.fromkeys(arguments[1], 0))
            if not arguments[2]:
                for key in arguments[1]:
                    rules.here.pop(key)
        if method == "reset":
            rules.pins.clear()
        why = rules.check(ours, method, arguments, answer)
        if why:
            return number, evicted, f"operation {number}: {method}: {why}"
        if "remove" in vars(ours.manager._policy):
            return number, evicted, f"operation {number}: {method}: the policy gave up"
    return operations, evicted, ""


def leaves_end(rules, evicted):
    """Returns true if a chunk was evicted before one that continues it."""
    here = dict(rules.here)
    for key in evicted:
        del here[key]
        if any(rules.parent.get(other) == key for other in here):
            return True
    return False


def short(answer):
    if not isinstance(answer, tuple):
        return answer
    return [[item.hex()[:8] if isinstance(item, bytes) else item for item in part] for part in answer]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    parser.add_argument("--operations", type=int, default=40000, help="of all sequences together, for each policy")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policies", default="canopy:lru,hazard,lfu,slru,fifo,filo,mru,arc,s3_fifo,sieve,clock,lfu_da")
    args = parser.parse_args()
    vllm_wheel.load(args.wheel)
    vllm, failed = vllm_manager.names(), 0
    from canopy.engines.vllm import interface

    if interface() != "0.33":
        print("canopy:lru is held to the rules only: before 0.33 vLLM's lru ordered the chunks of running requests in another way")
    for policy in args.policies.split(","):
        policy = policy if policy.startswith("canopy:") else f"canopy:{policy}"
        beside = policy == "canopy:lru" and interface() == "0.33"
        done = evicted = meant = differ = seed = 0
        while done < args.operations:
            seed += 1
            chunks = (12, 30, 60, 100)[seed % 4]
            count, gone, why = sequence(vllm, args.seed * 100000 + seed, ROUND, policy, chunks, beside)
            done, evicted, meant = done + max(count, 1), evicted + gone, meant + (why == "meant")
            if why not in ("", "meant"):
                differ += 1
                if differ <= 3:
                    print(f"{policy}, {chunks} chunks, seed {seed}: {why[:1500]}")
                if differ > 20:
                    break
        failed += differ
        print(f"{policy}: {done:,} operations in {seed} sequences, {evicted:,} chunks evicted, {differ} with a difference"
              + (f", {meant} ended where vLLM evicts a chunk before its continuation" if beside else ""),
              flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
