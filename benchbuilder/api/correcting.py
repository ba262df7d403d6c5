"""Errors in released items: reports, decisions, and the release that follows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.api.opened_recipe import words_of
from benchbuilder.config import LoadedRecipe, load_recipe, trusting
from benchbuilder.publishing import (
    AddedErrata,
    DecidedErratum,
    Decision,
    DecisionRequest,
    ErrataRelease,
    ErratumReport,
    add_errata,
    decide_erratum,
    list_errata,
    read_reports,
    release_errata,
)
from benchbuilder.steps import Erratum


@dataclass(frozen=True)
class ErrataLog:
    """The errata of a recipe, as ``benchbuild errata`` shows and changes them.

    Attributes:
        loaded: The recipe, which names the log in ``paths.errata``.
    """

    loaded: LoadedRecipe

    def add(self, item: str, kind: str, text: str, *, who: str = "", release: str | Path | None = None) -> AddedErrata:
        """Report an error in an item.

        Args:
            item: The id of the item, or a beginning that no other id has.
            kind: ``wrong_key``, ``ambiguous``, ``outdated``, ``leak`` or ``text``.
            text: What is wrong.
            who: Who says so; it is never published.
            release: Look for the item in the release of this folder only.

        Raises:
            RecipeError: The report cannot be used, or the recipe names no log.
            DataError: There is neither a release nor a build.
        """
        folder = None if release is None else Path(release)
        return add_errata(self.loaded, Path.cwd(), [ErratumReport(item, kind, text, who)], release=folder)

    def add_file(self, file: str | Path, *, release: str | Path | None = None) -> AddedErrata:
        """Add the reports of a form: a file of JSON Lines, CSV, TSV or Parquet; all of them or none.

        Raises:
            DataError: The file or some reports cannot be used; all are listed.
            RecipeError: The recipe names no log.
        """
        folder, path = None if release is None else Path(release), Path(file)
        return add_errata(self.loaded, Path.cwd(), read_reports(path), release=folder, file=path)

    def ls(self) -> tuple[Erratum, ...]:
        """All errata as they are now, by the day of the report; DataError if there is no log."""
        return list_errata(self.loaded, Path.cwd())

    def decide(
        self, erratum: str, decision: Decision, *, by: str, reason: str, texts: Mapping[str, str] | None = None,
        swap: bool = False, again: bool = False,
    ) -> DecidedErratum:  # fmt: skip
        """Decide an erratum; builds follow the decision.

        Args:
            erratum: Its id, or a beginning that no other id has.
            decision: ``fix_key``, ``fix_text``, ``withdraw`` or ``reject``.
            by: Who decides; it is never published.
            reason: Why; it is published.
            texts: The new texts by field.
            swap: Exchange the right and the wrong answer, and the verdict.
            again: Replace a decision that was not released yet.

        Raises:
            RecipeError: The erratum is not open to this decision, or the fix is none.
            DataError: The log is missing or damaged.
        """
        request = DecisionRequest(erratum, decision, by, reason, dict(texts or {}), swap=swap, again=again)
        return decide_erratum(self.loaded, Path.cwd(), request)

    def release(self, *, design: bool = False, despite: str = "", note: str = "") -> ErrataRelease:
        """Release the build as the next version; see `benchbuilder.publishing.release_errata`.

        Raises:
            RecipeError: There is no release yet, or nothing changed since.
            DataError: The build does not follow the decisions yet.
            GateClosed: The build may not be released.
        """
        return release_errata(self.loaded, Path.cwd(), design=design, despite=despite, note=note)


def errata(
    recipe: str, overrides: Sequence[str] = (), *, recipes: Sequence[str] | None = None, trust: Sequence[str] = ()
) -> ErrataLog:
    """Open the errata of a recipe.

    Args:
        recipe: The name of the recipe.
        overrides: Overrides as on the command line, such as ``paths.errata=errata.jsonl``.
        recipes: Further folders of recipes, searched first.
        trust: Folders whose recipes are trusted for this call.

    Raises:
        RecipeError: A setting is wrong.
    """
    with trusting(trust):
        return ErrataLog(load_recipe(words_of(recipe, overrides), recipes=recipes))
