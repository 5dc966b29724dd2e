import os
import pathlib

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def source_tree() -> pathlib.Path:
    """The source tree, for configs/ and tests/."""
    return SOURCE


@pytest.fixture(scope="session")
def trace() -> pathlib.Path:
    """The Mooncake conversation trace; third-party traces are not in the source tree."""
    shared = pathlib.Path(os.environ.get("CANOPY_SHARED", SOURCE.parent / "shared"))
    for folder in (shared, SOURCE.parent.parent / "shared"):
        path = folder / "traces" / "conversation_trace.jsonl"
        if path.exists():
            return path
    pytest.skip("the conversation trace is not available ($CANOPY_SHARED, or a folder `shared` above the tree)")
