"""What was asked for and may not fit the original: sources that no step reads, options in another script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchbuilder.authoring.clone.parts import RecipeParts
from benchbuilder.authoring.clone.text_lines import ScriptCounts, read_text_lines
from benchbuilder.config import LoadedRecipe
from benchbuilder.core import InstallationError, Problem, find_kind, kinds_of_slot
from benchbuilder.pipeline import payload_kind, source_references
from benchbuilder.sources import Source

_SHARE = 0.05
"""How much of an option's text must be in another script to matter: some of it is names of settings."""


def unread_sources(source_arguments: Sequence[str], loaded: LoadedRecipe) -> Iterator[Problem]:
    """Sources asked for as ``NAME:KIND`` whose rows no step of the original reads."""
    refs = source_references(loaded.recipe)
    for word in source_arguments:
        name, _, kind = word.partition(":")
        if f"sources.{name}" in refs or _fits(kind, refs):
            continue
        yield Problem(
            f"no step of {loaded.recipe.name} reads a source of this kind", where=f"--source {word}",
            actual=f"the steps read {', '.join(refs)}",
            allowed=", ".join(other for other in kinds_of_slot("source") if _fits(other, refs, unsure=False)),
            hint="take one of these kinds, copy another recipe, or change `from` of the steps",
        )  # fmt: skip


def _fits(kind: str, refs: Sequence[str], *, unsure: bool = True) -> bool:
    """Whether steps read rows of the kind; `unsure` where a recipe says which rows it makes, or it cannot be loaded."""
    try:
        source: type[Source] = find_kind("source", kind).load()
    except InstallationError:
        return unsure
    row = getattr(source, "output", None)
    if row is None or source.row_class.__func__ is not Source.row_class.__func__:
        return unsure
    return not {f"sources.{row.name}", f"sources.{payload_kind(row)}"}.isdisjoint(refs)


def options_in_other_script(options: Sequence[str], parts: RecipeParts, terms: Iterable[str]) -> Iterator[Problem]:
    """Options asked for that are written in another script than the word lists of the original."""
    mine = ScriptCounts(terms).main_script
    for word in options:
        script = _dominant_script(parts.files[word].path)
        if mine and script and script != mine:
            group, _, name = word.partition("/")
            others = (one for one in parts.library.option_names(group) if one.startswith(f"{name}_"))
            yield Problem(
                f"this option is in another script than the word list of {parts.recipe.removeprefix('recipe/')}",
                where=f"--also {word}", actual=script.lower(), allowed=mine.lower(),
                hint=" or ".join(f"--also {group}/{one}" for one in others),
            )  # fmt: skip


def _dominant_script(file: Path) -> str:
    """The script, other than plain ASCII, that a file of words and settings holds; empty if there is hardly any."""
    lines = read_text_lines(file)
    script = ScriptCounts("".join(c for c in text if not c.isascii()) for _, text in lines).main_script
    return script if ScriptCounts(text for _, text in lines).proportion(script) >= _SHARE else ""
