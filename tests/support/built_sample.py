"""The build of the bundled sample, and releases of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from benchbuilder.config import LoadedRecipe
from benchbuilder.publishing import Release, ReleaseRequest, make_release


@dataclass(frozen=True)
class BuiltSample:
    """A folder with the build of the bundled sample, and its recipe."""

    folder: Path
    loaded: LoadedRecipe

    def with_settings(self, **settings: object) -> LoadedRecipe:
        """The recipe with other settings of releases."""
        release = self.loaded.whole.release.model_copy(update=settings)
        recipe = self.loaded.whole.model_copy(update={"release": release})
        return replace(self.loaded, recipe=recipe, whole=recipe)

    def release(
        self, version: str = "1.0.0", *, despite: str = "a trial", note: str = "", **settings: object
    ) -> Release:
        """A release of the build."""
        request = ReleaseRequest(self.with_settings(**settings), version, self.folder, despite, note, date(2026, 1, 31))
        return make_release(request)
