"""The checks of the doors into SGLang and vLLM at the start: releases, and the functions of the classes that ours replace."""

from __future__ import annotations

import inspect
import os
from typing import Sequence


def reason_of_release(engine: str, release: str, tested: Sequence[str]) -> str:
    """Returns the reason why a release cannot be served; empty if there is none."""
    if release in tested or os.environ.get("CANOPY_ANY_RELEASE") == "1":
        return ""
    return (
        f"{engine} {release} is not a release that this package was tested with ({', '.join(tested)}); "
        "CANOPY_ANY_RELEASE=1 tries it all the same"
    )


def parameters_of(kind: type) -> dict[str, tuple[str, ...]]:
    """Returns the parameters of the functions that a class defines."""
    functions = {name: function for name, function in vars(kind).items() if inspect.isfunction(function)}
    return {name: tuple(inspect.signature(function).parameters) for name, function in functions.items()}


def differences(kind: type, expected: dict[str, tuple[str, ...]]) -> list[str]:
    """Returns the functions of a class that are not as expected, or that a subclass must have and is not expected to."""
    theirs = parameters_of(kind)
    wrong = [name for name, parameters in expected.items() if theirs.get(name) != parameters]
    return sorted([*wrong, *(getattr(kind, "__abstractmethods__", frozenset()) - expected.keys())])
