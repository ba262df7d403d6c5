"""Translates words into the language of the recipe, by a dictionary or a model, and facts by a table of people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from benchbuilder.config import CheckWords, FileRef, LanguageTag, StepSpec
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
    SpecIssue,
    Table,
    Term,
    compose_characters,
    create_from_spec,
    has_match,
    normalise_space,
    payload_kind,
    read_given_text,
    same_language,
    text_length,
)
from benchbuilder.models import Conversation, Model
from benchbuilder.steps.base import Port
from benchbuilder.steps.translation.facts import FACT_REASONS, CheckedTranslations
from benchbuilder.steps.translation.file import BY_MODEL, drafted_parts
from benchbuilder.steps.writer import MODEL_REASONS, NeedsModel, ReplyFault, Writer, WriterSpec

_FACT = Fact[Term]


class TranslateSpec(WriterSpec):
    """How words and facts of other languages are translated.

    The rule for words is a dictionary; a model translates the other words. The rule for all other facts is a table in
    which people translate, checked against the originals, and the drafts of a model for facts that it does not
    translate (kind `draft_translation`); a fact that neither translates is dropped.

    A dictionary is a TSV in UTF-8 without header: a word, then its translations, each in its own column. A word may be
    on several lines; a line that begins with ``#`` is a comment.
    """

    dictionary: FileRef | None = None
    about: str = ""
    """The subject of the words, for the prompt."""
    languages: dict[str, str] = {}
    """The names of languages in prompts, by code; a missing language is called by its code."""
    same: Literal["keep", "drop"] = "keep"
    """What happens to a translation that equals the word (as it may for names and abbreviations)."""
    ends: str = ""
    """Marks at the end of a model's reply that are removed."""
    not_words: tuple[Regex, ...] = ()
    """Patterns of replies that are no single word: sentences, lists, explanations."""
    unit: LengthUnit = "characters"
    max_length: int = 60
    """The longest translation of a word."""
    translations: FileRef | None = None
    """The table of translated facts: ``benchbuild translations write`` writes one to fill in."""
    original: LanguageTag | None = None
    """The language of the facts in it."""
    glossary: FileRef | None = None
    """How terms are translated: a table with the columns term, translation and forbidden."""
    checks: dict[str, CheckWords] = {}
    """What the checks of translations look at, by language."""


class Translate(Writer):
    """Makes one or several words from each word of another language, or one fact from each fact.

    What is in this language already stays as it is.
    """

    kind: ClassVar[str] = "translate"
    spec_class: ClassVar[type[StepSpec]] = TranslateSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Fact),
        "facts": Port(Fact, mode="lookup", optional=True),
        "drafts": Port(Fact, mode="lookup", optional=True),
        "back": Port(Fact, mode="lookup", optional=True),
    }
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
        **FACT_REASONS,
    }

    spec: TranslateSpec

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> list[SpecIssue]:
        """Settings that have no effect on words, or on facts."""
        issues = super().validate_inputs(rows)
        spec = self.spec
        if payload_kind(rows["each"]) == Term.kind:
            given = {name: getattr(spec, name) for name in ("translations", "original", "glossary")}
            message = "it is about facts, and these are words"
            issues += [SpecIssue(name, message, str(value), ()) for name, value in given.items() if value]
            return issues
        if spec.strategy != "rules":
            issues.append(SpecIssue("strategy", "a model translates words only", spec.strategy, ("rules",)))
        if spec.original is None:
            issues.append(SpecIssue("original", "the language of the facts is not named", "null", ("en",)))
        if spec.dictionary is not None:
            issues.append(SpecIssue("dictionary", "it is about words, and these are facts", spec.dictionary.path, ()))
        wired = [name for name in ("facts", "drafts", "back") if name in rows]
        if wired not in ([], ["facts", "drafts"], ["facts", "drafts", "back"]):
            message = "drafts of a model need their originals beside them, and translations back their drafts"
            issues.append(SpecIssue("from", message, ", ".join(wired), ("facts, drafts", "facts, drafts, back")))
        return issues

    def remarks(self) -> list[SpecIssue]:
        """That facts have no table of translations."""
        if self.spec.original is None or self.spec.translations is not None or "drafts" in self.spec.from_:
            return []
        ways = ("benchbuild translations write recipe=NAME file=TABLE.tsv, then paths.translations=TABLE.tsv",)
        return [SpecIssue("translations", "no table translates the facts, so that every one is dropped", "null", ways)]

    def _read_facts(self, lookups: Mapping[str, Table[Any]]) -> CheckedTranslations:
        """The translated facts, those of the table and those of a model, checked."""
        spec = self.spec
        drafts = drafted_parts(*(lookups.get(name, ()) for name in ("facts", "drafts", "back")))
        files = [None if ref is None else ref.file for ref in (spec.translations, spec.glossary)]
        return CheckedTranslations.read(
            files[0], spec.checks, (spec.original or "", self.context.language), files[1], drafts
        )

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read the dictionary and the prompts."""
        super().open(lookups)
        ref = self.spec.dictionary
        self._dictionary = {} if ref is None else read_dictionary(ref.file)
        self._facts = None if self.spec.original is None else self._read_facts(lookups)
        self._label: str = "" if self.model_spec is None else _model_name(self.model_spec)

    def converse(self, row: Any, parents: Mapping[str, Any]) -> Conversation:
        """A branch for each translation of the dictionary, or one for the model's."""
        if (
            self._facts is None
            and self.spec.strategy != "model"
            and not same_language(row.language, self.context.language)
        ):
            translations = self._dictionary.get(_key(row.payload.text), ())
            if len(translations) > 1:
                return [self._look_up(row, text, str(number)) for number, text in enumerate(translations, start=1)]
        return (yield from super().converse(row, parents))

    def exclusion(self, row: Any, parents: Mapping[str, Any]) -> Outcome | None:  # noqa: ARG002
        """A word of the recipe's language stays as it is."""
        if not same_language(row.language, self.context.language):
            return None
        return Kept(type(row).child(row, produced_by=self.produced_by("same_language"), payload=row.payload))

    def by_rule(self, row: Any, parents: Mapping[str, Any]) -> Outcome | NeedsModel:  # noqa: ARG002
        """The first translation of the dictionary, or that of the table."""
        if self._facts is not None:
            return self._by_table(row, self._facts)
        translations = self._dictionary.get(_key(row.payload.text), ())
        if not translations:
            return NeedsModel(f"{row.payload.text}: not in the dictionary")
        return self._look_up(row, translations[0], "")

    def _by_table(self, row: Any, facts: CheckedTranslations) -> Outcome:
        """The fact in the other language; its rule names those who translated it, by their codes."""
        translated = facts.translate(row.id, row.payload)
        if isinstance(translated, Dropped):
            return translated
        payload, authors = translated
        original = row.original or "\t".join(row.payload.flat_cells().values())
        by_people = [] if authors and all(author.startswith(BY_MODEL) for author in authors) else ["people"]
        made = self.produced_by("+".join((*by_people, *authors)))
        fields = {"payload": payload, "original": original, "language": self.context.language}
        return Kept(type(row).child(row, produced_by=made, **fields))

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
