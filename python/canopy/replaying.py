"""Runs traces and generated workloads through an engine."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, Callable

import numpy

from . import _core, frames
from .doubts import warn_of

# Figures that have another name in Python.
_NAMES = {"capacity_tokens": "capacity"}
_FIGURES = [(_NAMES.get(name, name), type, unit, help) for name, type, unit, help in _core.report_figures() if name != "config"]
_Figures = dataclasses.make_dataclass("_Figures", [figure[:2] for figure in _FIGURES], frozen=True, repr=False)


@dataclasses.dataclass(frozen=True, repr=False)
class Report(_Figures):
    """The result of a replay. Figures of mode "timed" are 0 in mode "serial".

    policy               policy of the first group
    tiers                figures of the tiers below the pools, as in the JSON of `canopy replay --json`
    violation_reports    violations in words
    doubts               reasons why the figures are not those of what was asked for, each with kind, count and sentence, such
                         as memory that the system refused; there was a DoubtWarning for each
    notes                advice for a reader of the figures
    """

    policy: str
    tiers: dict[str, Any]
    violation_reports: list[str]
    doubts: list[dict[str, Any]]
    notes: list[str]
    namespace_names: list[str] = dataclasses.field(compare=False)
    request_columns: dict[str, numpy.ndarray] = dataclasses.field(compare=False)
    sample_columns: dict[str, numpy.ndarray] = dataclasses.field(compare=False)

    def columns(self) -> dict[str, Any]:
        """Returns a row for each request, in order of arrival: arrival_ms, prompt, matched, output (tokens), priority,
        space."""
        names = numpy.array(self.namespace_names or [""], dtype=object)
        return {**self.request_columns, "space": names[self.request_columns["space"]]}

    def frame(self):
        """Returns the requests as a data frame (pandas)."""
        return frames.frame(self.columns())

    def samples(self):
        """Returns about a hundred moments as a data frame (pandas): requests, prompt_tokens and hit_tokens so far."""
        return frames.frame(self.sample_columns)

    def as_dict(self) -> dict[str, Any]:
        """Returns the figures without the columns. The digest is in hexadecimal digits, as `canopy replay` prints it."""
        row = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if not field.name.endswith("_columns") and field.name != "namespace_names"
        }
        return {**row, "digest": f"{self.digest:016x}"}

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), indent=1)

    def __repr__(self) -> str:
        return (
            f"<canopy.Report {self.policy} on {self.source}: {self.requests:,} requests, {self.hit_rate:.2%} of "
            f"{self.prompt_tokens:,} tokens reused, {self.evicted_tokens:,} evicted, in {self.seconds:.2f} s>"
        )


Report.__doc__ += "".join(f"\n    {name:20} {help}" + f" ({unit})" * (unit != "text") for name, _, unit, help in _FIGURES)


def replay(
    trace: str | os.PathLike | None = None,
    *,
    workload: str | os.PathLike | None = None,
    engine: Any = None,
    capacity: int | None = None,
    page_size: int | None = None,
    policy: Any = None,
    index: Any = None,
    set: dict[str, Any] | None = None,
    mode: str = "serial",
    limit: int | None = None,
    seed: int = 0,
    block_size: int | None = None,
    content: bool = True,
    min_uncached: int = 0,
    record: str | os.PathLike | None = None,
    serve: str | None = None,
    running: int | None = None,
    prefill_tokens: int | None = None,
    step_ms: int | None = None,
    abort_permille: int | None = None,
    rematch: bool = False,
    progress: Callable[[float, int], Any] | None = None,
) -> Report:
    """Runs requests through an engine as `canopy replay` does, with the same digest.

    trace, workload   one of them: a trace file (FORMAT:PATH for a format other than the first), or a workload file
    engine            a path, YAML text or a dictionary. None: a radix index with one group for full attention, without a
                      store, with pages of 16 tokens and no limit
    capacity          tokens that the first group's pool may hold
    page_size         tokens in a page
    policy            policy of every group: a name, {"slru": {"protect_after": 3}}, or an object with `rank` (Policy)
    index             a name, such as "hash_chain" (vLLM's block table), or {"hash_chain": {"duplicates": "share"}}
    set               other changes of the configuration: {"index.radix.accounting": "sglang"}
    mode              "serial": one request after the other; "timed": they overlap as in a server
    limit             most requests to run; None: all
    seed              seed of a workload, instead of the one in its file; 0: the one in the file
    block_size        tokens that an id of the trace stands for; None: the block size of the trace's format
    min_uncached      least prompt tokens that a request of mode "serial" computes; servers leave 1
    content           True: if the engine has a store, bytes are written and compared
    record, serve     writes the feed to a file, or publishes it under a name for the inspector
    running ... abort_permille   for mode "timed": requests at once (32), prompt tokens per step (8192), simulated
                      milliseconds per step (25), and how many of 1000 requests their clients abort (10)
    rematch           for mode "timed": before each step of a prefill, takes over what others have committed since
    progress          called every 64 requests with the share that is done and the number of requests so far

    Other threads run meanwhile, unless the policy is in Python. Raises ValueError for unusable arguments, and the
    exceptions of the policy."""
    source = one_source("replay", trace, workload, seed, block_size)
    if mode not in ("serial", "timed"):
        raise ValueError(f"replay: the mode must be 'serial' or 'timed', not {mode!r}")
    if record is not None and serve is not None:
        raise ValueError("replay: record or serve, not both: there is only one feed")
    config, groups = (default_engine(), ["full"]) if engine is None else (engine, None)
    changes: dict[str, Any] = {}
    if isinstance(policy, (str, dict)):  # each group has its own, which `set` may change
        groups = groups or _core.group_names(config)
        changes |= {f"groups.{group}.eviction": policy for group in groups}
        policy = None
    if page_size is not None:
        changes["page_size"] = page_size
    if capacity is not None:
        groups = groups or _core.group_names(config)
        changes[f"groups.{groups[0]}.capacity"] = capacity
    if index is not None:
        changes["index"] = index
    if mode == "timed" and min_uncached != 0:
        raise ValueError("replay: min_uncached is for mode 'serial'; a server leaves 1, and so does mode 'timed'")
    if mode == "serial" and rematch:
        raise ValueError("replay: rematch is for mode 'timed': in mode 'serial' requests do not overlap")
    ranges = {"running": (32, 1, 100_000), "prefill_tokens": (8192, 1, 100_000_000), "step_ms": (25, 1, 1_000_000),
              "abort_permille": (10, 0, 1000)}
    timed = {"running": running, "prefill_tokens": prefill_tokens, "step_ms": step_ms, "abort_permille": abort_permille}
    for name, (usual, least, most) in ranges.items():
        if timed[name] is None:
            timed[name] = usual
        elif mode == "serial":
            raise ValueError(f"replay: {name} is for mode 'timed': in mode 'serial' requests do not overlap")
        within("replay", name, timed[name], least, most)
    if serve is not None:
        changes["feed"] = {"shm": {"name": serve, "controls": True}}
    if record is not None:
        changes["feed"] = {"file": {"path": os.fspath(record)}}
    text, namespaces, requests, samples = _core.replay(
        engine=config,
        changes={**changes, **(set or {})},
        trace=source if trace is not None else None,
        workload=source if workload is not None else None,
        policy=policy,
        timed=mode == "timed",
        block_size=block_size or 0,
        seed=seed,
        limit=limit,
        content=content,
        **timed,
        min_uncached=min_uncached,
        rematch=rematch,
        progress=progress,
    )
    row = {_NAMES.get(name, name): value for name, value in json.loads(text).items()}
    row |= {"source": os.path.basename(source), "policy": row["groups"][0]["policy"], "digest": int(row["digest"], 16)}
    known = {field.name for field in dataclasses.fields(Report)}
    tiers = {name: value for name, value in row.items() if name not in known and name != "config"}
    own = {name: value for name, value in row.items() if name in known}
    warn_of(own["doubts"])
    return Report(**own, tiers=tiers, namespace_names=namespaces, request_columns=requests, sample_columns=samples)


def one_source(call: str, trace, workload, seed: int, block_size: int | None) -> str:
    if (trace is None) == (workload is None):
        raise ValueError(f"{call}: name a trace or a workload, and only one of them")
    if trace is not None and seed != 0:
        raise ValueError(f"{call}: seed is for a workload; a trace has none")
    if workload is not None and block_size is not None:
        raise ValueError(f"{call}: block_size is for a trace; the requests of a workload have tokens")
    return os.fspath(trace if trace is not None else workload)


def within(call: str, name: str, value: float, least: float, most: float) -> None:
    """Raises ValueError unless a value is in a range; nan is in none."""
    if not least <= value <= most:
        raise ValueError(f"{call}: {name} must be from {least} to {most}, not {value}")


def default_engine() -> dict:
    return {
        "page_size": 16,
        "key": "token",
        "index": "radix",
        "groups": {"full": {"reach": "path", "capacity": "unlimited", "allocator": "free_list", "eviction": "lru"}},
        "store": "none",
    }
