"""What was asked for and may not fit the original: sources that no step reads, options in another script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchbuilder.authoring.clone.parts import Parts
from benchbuilder.authoring.clone.text_lines import Scripts, lines_of
from benchbuilder.config.load import Loaded
from benchbuilder.core import registry
from benchbuilder.core.errors import InstallationError, Problem
from benchbuilder.pipeline.wiring import payload_of, references
from benchbuilder.sources.base import Source

_SHARE = 0.05
"""How much of an option's text must be in another script to matter: some of it is names of settings."""


def unread(words: Sequence[str], loaded: Loaded) -> Iterator[Problem]:
    """Sources asked for as ``NAME:KIND`` whose rows no step of the original reads."""
    refs = references(loaded.recipe)
    for word in words:
        name, _, kind = word.partition(":")
        if f"sources.{name}" in refs or _fits(kind, refs):
            continue
        yield Problem(
            f"no step of {loaded.recipe.name} reads a source of this kind", where=f"--source {word}",
            found=f"the steps read {', '.join(refs)}",
            allowed=", ".join(other for other in registry.known("source") if _fits(other, refs, unsure=False)),
            hint="take one of these kinds, copy another recipe, or change `from` of the steps",
        )  # fmt: skip


def _fits(kind: str, refs: Sequence[str], *, unsure: bool = True) -> bool:
    """Whether steps read rows of the kind; `unsure` where a recipe says which rows it makes, or it cannot be loaded."""
    try:
        source: type[Source] = registry.find("source", kind).load()
    except InstallationError:
        return unsure
    row = getattr(source, "output", None)
    if row is None or source.rows_of.__func__ is not Source.rows_of.__func__:
        return unsure
    return not {f"sources.{row.name}", f"sources.{payload_of(row)}"}.isdisjoint(refs)


def other_script(words: Sequence[str], parts: Parts, terms: Iterable[str]) -> Iterator[Problem]:
    """Options asked for that are written in another script than the word lists of the original."""
    mine = Scripts(terms).main
    for word in words:
        script = _script(parts.files[word].path)
        if mine and script and script != mine:
            group, _, name = word.partition("/")
            others = (one for one in parts.library.options(group) if one.startswith(f"{name}_"))
            yield Problem(
                f"this option is in another script than the word list of {parts.recipe.removeprefix('recipe/')}",
                where=f"--also {word}", found=script.lower(), allowed=mine.lower(),
                hint=" or ".join(f"--also {group}/{one}" for one in others),
            )  # fmt: skip


def _script(file: Path) -> str:
    """The script, other than plain ASCII, that a file of words and settings holds; empty if there is hardly any."""
    lines = lines_of(file)
    script = Scripts("".join(c for c in text if not c.isascii()) for _, text in lines).main
    return script if Scripts(text for _, text in lines).share(script) >= _SHARE else ""
