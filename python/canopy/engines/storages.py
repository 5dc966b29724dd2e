"""The common parts of the tiers on Canopy's storages (`slots`, `redis`) in vLLM and in SGLang."""

from __future__ import annotations

import logging
from typing import Any

STAGING = 64 << 20  # bytes of memory for records under way
LIMIT = 2.0  # seconds that a call of the storage may take


def in_folder(storage: dict[str, Any], folder: str) -> dict[str, Any]:
    """Returns the storage with a folder of its own for this process: only one may use a folder. `folder`: empty for the only
    process of a server."""
    options = storage.get("slots") if isinstance(storage, dict) else None
    if not folder or not isinstance(options, dict) or "path" not in options:
        return storage
    return {"slots": {**options, "path": f"{options['path']}/{folder}"}}


def text_of(figures: dict[str, Any]) -> str:
    return ", ".join(f"{count} {name}" for name, count in figures.items() if name != "flaw")


class Troubles:
    """Warns once of damaged records, and once of a storage that fails."""

    def __init__(self, logger: logging.Logger, place: str, unit: str) -> None:
        """place, unit: the names of the storage and of one of its records in the log."""
        self._logger, self._place, self._unit = logger, place, unit
        self._warned: set[str] = set()

    def look(self, figures: dict[str, Any]) -> None:
        if self._new("damaged", figures):
            self._logger.warning(
                "canopy: a record of %s was not as it should be (%s); its %s is computed again. Later ones are only counted",
                self._place, figures["flaw"], self._unit,
            )
        if self._new("pauses", figures):
            self._logger.warning(
                "canopy: the storage of %s fails; it is left alone for 5 seconds at a time, and what it has is computed "
                "meanwhile", self._place,
            )

    def _new(self, name: str, figures: dict[str, Any]) -> bool:
        if not figures[name] or name in self._warned:
            return False
        self._warned.add(name)
        return True
