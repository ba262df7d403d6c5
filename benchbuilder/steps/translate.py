"""Translates words into the language of the recipe, by a dictionary or by a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from benchbuilder.config import FileRef, StepSpec
from benchbuilder.core import (
    DataError,
    Dropped,
    Fact,
    Kept,
    LengthUnit,
    Outcome,
    ProducedBy,
    Regex,
    Row,
    Table,
    Term,
    compose_characters,
    create_from_spec,
    has_match,
    normalise_space,
    read_given_text,
    same_language,
    text_length,
)
from benchbuilder.models import Conversation, Model
from benchbuilder.steps.base import Port
from benchbuilder.steps.writer import MODEL_REASONS, NeedsModel, ReplyFault, Writer, WriterSpec

_FACT = Fact[Term]


class TranslateSpec(WriterSpec):
    """How words of other languages are translated. The rule is a dictionary; a model translates the other words.

    A dictionary is a TSV in UTF-8 without header: a word, then its translations, each in its own column. A word may be
    on several lines; a line that begins with ``#`` is a comment.
    """

    dictionary: FileRef | None = None
    about: str = ""
    """The subject of the words, for the prompt."""
    languages: dict[str, str] = {}
    """The names of languages in prompts, by code; a missing language is called by its code."""
    same: Literal["keep", "drop"]
    """What happens to a translation that equals the word (as it may for names and abbreviations)."""
    ends: str = ""
    """Marks at the end of a model's reply that are removed."""
    not_words: tuple[Regex, ...] = ()
    """Patterns of replies that are no single word: sentences, lists, explanations."""
    unit: LengthUnit
    max_length: int
    """The longest translation."""


class Translate(Writer):
    """Makes one or several words from each word of another language; words of this language stay as they are."""

    kind: ClassVar[str] = "translate"
    spec_class: ClassVar[type[StepSpec]] = TranslateSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(_FACT)}
    output: ClassVar[type[Row] | None] = _FACT
    slots: ClassVar[tuple[str, ...] | Literal["many"]] = "many"
    translates: ClassVar[bool] = True
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "term": "the word to translate",
        "note": "the note about it in its list (may be empty)",
        "language": "the language of the word",
        "target": "the language to translate into",
        "about": "the subject of the word list",
    }
    reasons: ClassVar[Mapping[str, str]] = {
        **MODEL_REASONS,
        "untranslated": "The translation equals the word.",
        "no_word": "The reply is not a single word, but a sentence, a list or an explanation.",
        "too_long": "The reply is longer than a word may be.",
    }

    spec: TranslateSpec

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read the dictionary and the prompts."""
        super().open(lookups)
        ref = self.spec.dictionary
        self._dictionary = {} if ref is None else read_dictionary(ref.file)
        self._label: str = "" if self.model_spec is None else _model_name(self.model_spec)

    def converse(self, row: Any, parents: Mapping[str, Any]) -> Conversation:
        """A branch for each translation of the dictionary, or one for the model's."""
        if self.spec.strategy != "model" and not same_language(row.language, self.context.language):
            translations = self._dictionary.get(_key(row.payload.text), ())
            if len(translations) > 1:
                return [self._look_up(row, text, str(number)) for number, text in enumerate(translations, start=1)]
        return (yield from super().converse(row, parents))

    def exclusion(self, row: Any, parents: Mapping[str, Any]) -> Outcome | None:  # noqa: ARG002
        """A word of the recipe's language stays as it is."""
        if not same_language(row.language, self.context.language):
            return None
        return Kept(_FACT.child(row, produced_by=self.produced_by("same_language"), payload=row.payload))

    def by_rule(self, row: Any, parents: Mapping[str, Any]) -> Outcome | NeedsModel:  # noqa: ARG002
        """The first translation of the dictionary."""
        translations = self._dictionary.get(_key(row.payload.text), ())
        if not translations:
            return NeedsModel(f"{row.payload.text}: not in the dictionary")
        return self._look_up(row, translations[0], "")

    def prompt_values(self, row: Any, parents: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """The word, its note and language, the target language, and the subject."""
        names = self.spec.languages
        return {
            "term": row.payload.text, "note": row.payload.note, "about": self.spec.about,
            "language": names.get(row.language, row.language),
            "target": names.get(self.context.language, self.context.language),
        }  # fmt: skip

    def expected_reply(self, row: Any, parents: Mapping[str, Any]) -> str:  # noqa: ARG002
        """The word itself, as an estimate of the length."""
        text: str = row.payload.text
        return text

    def judge(self, row: Any, parents: Mapping[str, Any], text: str, produced_by: ProducedBy) -> Row | ReplyFault:  # noqa: ARG002
        """The word in a reply."""
        spec = self.spec
        text = text.rstrip(spec.ends) if spec.ends else text
        if (match := next((pattern for pattern in spec.not_words if has_match(pattern, text)), None)) is not None:
            return ReplyFault("no_word", match)
        if (length := text_length(text, spec.unit)) > spec.max_length:
            return ReplyFault("too_long", f"{length} {spec.unit}")
        return self._build_term(row, text, self._label, produced_by)

    def _build_term(
        self, row: Any, text: str, translator: str, produced_by: ProducedBy, slot: str = ""
    ) -> Row | ReplyFault:
        """The row of a translation, or its fault."""
        term: Term = row.payload
        text = compose_characters(normalise_space(text))
        if self.spec.same == "drop" and _key(text) == _key(term.text):
            return ReplyFault("untranslated")
        payload = term.model_copy(update={"text": text, "original": (term.text,), "translated_by": (translator,)})
        return _FACT.child(row, produced_by=produced_by, slot=slot, payload=payload, language=self.context.language)

    def _look_up(self, row: Any, text: str, slot: str) -> Outcome:
        """The outcome of one translation in the dictionary."""
        file: Any = self.spec.dictionary
        result = self._build_term(row, text, Path(file.path).name, self.produced_by("dictionary"), slot)
        return Dropped(result.reason, result.detail, slot) if isinstance(result, ReplyFault) else Kept(result, slot)


def read_dictionary(path: Path) -> dict[str, tuple[str, ...]]:
    """The translations of each word, in the order of the file; DataError for a file of another shape."""
    translations_of: dict[str, dict[str, None]] = {}
    try:
        lines = read_given_text(path, "utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            "the dictionary cannot be read", where=str(path), why=str(error), next="give a TSV in UTF-8"
        ) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        word, *translations = (normalise_space(cell) for cell in line.split("\t"))
        if not word or not any(translations):
            raise DataError(
                "a line of the dictionary has no word with a translation", where=f"{path}:{number}", why=line[:80],
                next="write a word, a tab and its translation; further translations after further tabs",
            )  # fmt: skip
        translations_of.setdefault(_key(word), {}).update(dict.fromkeys(filter(None, translations)))
    return {word: tuple(translations) for word, translations in translations_of.items()}


def _key(text: str) -> str:
    return compose_characters(normalise_space(text)).casefold()


def _model_name(model_spec: Any) -> str:
    model: Model = create_from_spec("model", model_spec)
    return model.label
