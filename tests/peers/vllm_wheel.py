"""vLLM's own code from its wheel, such as its offloading, on a machine without a GPU.

The managers, policies, tiers and their base classes are the wheel's own, and torch is real. All else that they import is
replaced by empty modules.
"""
import logging
import pathlib
import sys
import types

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/golden"))
from unified_lockstep import EmptyModule, EmptyModules  # noqa: E402

REAL = ("vllm.v1.kv_offload", "vllm.fs_io_C", "vllm.v1.metrics.cache_hit_source", "vllm.utils.math_utils", "vllm._version")
PACKAGES = ("vllm", "vllm.v1", "vllm.v1.metrics", "vllm.utils")


def load(folder, needs="vllm/v1/kv_offload/cpu/policies/base.py", real=REAL, packages=PACKAGES, tensors=True):
    """Makes vllm importable from an unpacked wheel. Ends with 77 where something is missing, such as the file `needs`.
    `real`: modules that are the wheel's own. `packages`: those whose __init__ is not run. `tensors`: torch is needed; otherwise
    an empty module does where there is none."""
    folder = pathlib.Path(folder)
    if not (folder / needs).exists():
        print(f"SKIPPED: {folder} is no unpacked wheel of vllm with {needs}", file=sys.stderr)
        raise SystemExit(77)
    try:
        import torch  # noqa: F401
    except ImportError as missing:
        if tensors:
            print(f"SKIPPED: {missing}", file=sys.stderr)
            raise SystemExit(77) from None
        sys.modules["torch"] = EmptyModule("torch")
    sys.path.insert(0, str(folder))
    sys.meta_path.insert(0, EmptyModules(real, "vllm"))
    for name in packages:
        module = types.ModuleType(name)
        module.__path__ = [str(folder / name.replace(".", "/"))]
        sys.modules[name] = module
    logger = EmptyModule("vllm.logger")
    logger.init_logger = vllm_logger
    sys.modules["vllm.logger"] = logger


def vllm_logger(name):
    logger = logging.getLogger(name)
    logger.warning_once = logger.info_once = lambda *_, **__: None
    return logger
