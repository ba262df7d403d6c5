"""Facts translated by a table that people made, and what the checks say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.config import CheckWords
from benchbuilder.core import Dropped, Payload
from benchbuilder.steps.translation.checks import CHECKS, Checker, Fault
from benchbuilder.steps.translation.file import (
    TranslatedPart,
    Translations,
    is_complete,
    pair_of,
    payload_parts,
    read_translations,
)
from benchbuilder.steps.translation.glossary import Glossary, read_glossary
from benchbuilder.steps.translation.learn import Learnt

FACT_REASONS: Mapping[str, str] = {
    "no_translation": "The table of translations has no line for it, or an empty one, and no model drafted it.",
    "stale_translation": "A line of the table translates another text than the fact has now.",
    **{check.reason: check.meaning for check in CHECKS.values()},
}


@dataclass(frozen=True)
class CheckedTranslations:
    """The translations of a table, with what was found in each fact that is translated whole."""

    translations: Translations
    checker: Checker
    faults: Mapping[str, list[Fault]]

    @classmethod
    def read(
        cls, path: Path | None, words: Mapping[str, CheckWords], languages: tuple[str, str], glossary: Path | None,
        drafts: Translations | None = None,
    ) -> CheckedTranslations:  # fmt: skip
        """Read a table and a glossary, learn from the table, and check it.

        Args:
            path: The table; ``None``: nothing is translated.
            words: What checks look at, by language.
            languages: That of the originals, and that of the translations.
            glossary: The glossary; ``None``: no term is looked at.
            drafts: What a model translated; facts that the table translates are those of the table.
        """
        table: Translations = {} if path is None else read_translations(path)
        translations = with_drafts(table, drafts or {})
        pairs = [pair_of(parts) for parts in translations.values() if is_complete(parts)]
        source, target = (words.get(code) or words.get(code.partition("-")[0]) or CheckWords() for code in languages)
        terms = Glossary() if glossary is None else read_glossary(glossary)
        checker = Checker(Learnt(pairs, source, target), terms)
        return cls(translations, checker, {pair.id: checker.faults(pair) for pair in pairs})

    def stopping(self, id: str) -> list[Fault]:
        """The faults of a fact that a person must decide about, and nobody did."""
        lines = self.translations.get(id, {})
        anywhere = any(line.accepted for line in lines.values())
        return [
            fault
            for fault in self.faults.get(id, ())
            if fault.stops and not (lines[fault.part].accepted if fault.part in lines else anywhere)
        ]

    def translate(self, id: str, payload: Payload) -> tuple[Any, tuple[str, ...]] | Dropped:
        """The payload in the other language and who translated it, or why it waits."""
        parts, lines = payload_parts(payload), self.translations.get(id, {})
        if missing := [name for name in parts if not _is_translated(lines.get(name))]:
            return Dropped("no_translation", ", ".join(missing))
        if stale := [name for name, text in parts.items() if not _same_text(lines[name].original, text)]:
            return Dropped("stale_translation", f"line {lines[stale[0]].line}: {lines[stale[0]].original}")
        if faults := self.stopping(id):
            return Dropped(faults[0].reason, "; ".join(f"{fault.part}: {fault.detail}" for fault in faults))
        texts = {text: lines[name].translation for name, text in parts.items()}
        authors = dict.fromkeys(lines[name].author for name in parts)
        return payload.map_texts(lambda text: texts.get(text, text)), tuple(filter(None, authors))


def with_drafts(table: Translations, drafts: Translations) -> Translations:
    """The lines of a table, with those of drafts for facts of which no part is translated in it.

    A fact is never translated by both: its parts would not agree.
    """
    by_people = {id for id, parts in table.items() if any(map(_is_translated, parts.values()))}
    return {**table, **{id: parts for id, parts in drafts.items() if id not in by_people}}


def _is_translated(line: TranslatedPart | None) -> bool:
    return line is not None and bool(line.translation)


def _same_text(written: str, text: str) -> bool:
    """Whether a cell has a text; a spreadsheet may change white space at line ends."""
    return written.split() == text.split()
