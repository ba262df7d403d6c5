"""What Unicode's CLDR says about how languages are written: a table that no speaker has checked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from benchbuilder.core import LengthUnit, language_name


@dataclass(frozen=True, slots=True)
class LanguageFacts:
    """How a language is written.

    `joiner` stands between words and sentences; `stop` ends a statement (empty: nothing does); `stops` end a sentence
    anywhere. `open_mark` begins a question. `quotes` are two marks. `list_and` joins the last two of a list. `unit` is
    what lengths are counted in. `abbreviations` end in a full stop and end no sentence. `script` is a code of
    ISO 15924.
    """

    tag: str
    script: str
    joiner: str
    stop: str
    question_mark: str
    open_mark: str
    quotes: str
    comma: str
    list_and: str
    direction: str
    digits: str
    unit: LengthUnit
    stops: str
    abbreviations: tuple[str, ...]
    known: bool = True

    @property
    def name(self) -> str:
        """The language in English, or its tag."""
        return language_name(self.tag) or self.tag


def facts_of_language(tag: str) -> LanguageFacts:
    """The facts of the language of `tag`: of its script or country if the table has them, else of the language.

    A language that is not in the table gets those of English, with `known` false.

    >>> facts = facts_of_language("hi")
    >>> facts.stop, facts.unit, facts_of_language("ja").joiner, facts_of_language("sah").known
    ('।', 'words', '', False)
    """
    table, parts = _table(), tag.split("-")
    names = ("-".join(parts[:size]) for size in range(len(parts), 0, -1))
    cells = next((table[name] for name in names if name in table), None)
    known, cells = cells is not None, cells or ("Zyyy", " ", ".", "?", "", "“”", ",", "", "ltr", "0123456789", "words",
                                               "?!", "")  # fmt: skip
    *plain, unit, stops, abbreviations = cells
    return LanguageFacts(
        tag, *plain, unit="characters" if unit == "characters" else "words", stops=stops,
        abbreviations=tuple(abbreviations.split()), known=known,
    )  # fmt: skip


@cache
def _table() -> dict[str, tuple[str, ...]]:
    """The cells by tag, without the tag."""
    text = files(__package__ or "").joinpath("languages.tsv").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")][1:]
    rows = [line.split("\t") for line in lines]
    return {tag: (*(cell.replace("_", " ") for cell in cells[:-1]), cells[-1]) for tag, *cells in rows}
