"""Drafts of translated facts by a model, for the step `translate` to check and for people to correct."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar

from benchbuilder.config import FileRef, LanguageTag, StepSpec
from benchbuilder.core import (
    Fact,
    NotApplicable,
    Outcome,
    Payload,
    ProducedBy,
    Row,
    Table,
    compose_characters,
    create_from_spec,
)
from benchbuilder.models import Model, Reply
from benchbuilder.steps.base import Port
from benchbuilder.steps.language.odd_texts import has_markup, odd_characters
from benchbuilder.steps.translation.file import BY_MODEL, payload_parts, read_translations
from benchbuilder.steps.translation.glossary import Glossary, read_glossary
from benchbuilder.steps.writer import (
    MODEL_REASONS,
    NeedsModel,
    ReplyFault,
    Writer,
    WriterSpec,
    first_json_object,
    said_text,
)

_OPTIONS = {"answer": "option", "wrong": "option"}
"""What lists of answers are called in a prompt: a translator who knows the key makes the right answer better."""


class DraftTranslationSpec(WriterSpec):
    """From and into which language a model translates, and with which terms."""

    original: LanguageTag
    """The language of the facts."""
    target: LanguageTag
    """The language of the drafts: that of the recipe, or `original` where drafts are translated back."""
    languages: dict[str, str] = {}
    """The names of languages in prompts, by code; a missing language is called by its code."""
    glossary: FileRef | None = None
    """How terms are translated: a table with the columns term, translation and forbidden."""
    translations: FileRef | None = None
    """The table in which people translate: a fact of which it translates a part is not drafted."""


class DraftTranslation(Writer):
    """Makes a fact in another language from each fact: all of its parts in one request, without its key.

    A draft is no fact of the benchmark. The step `translate` compares it with its original, and takes it where no
    person has translated the fact. The same step, from the drafts, translates them back.
    """

    kind: ClassVar[str] = "draft_translation"
    spec_class: ClassVar[type[StepSpec]] = DraftTranslationSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact)}
    translates: ClassVar[bool] = True
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "parts": "the texts to translate, each with `name` and `text`; options in a drawn order, and without the key",
        "names": "the names of these texts, which the reply has as keys",
        "terms": "the glossary's entries that the texts name, each with `term`, `translations` and `forbidden`",
        "language": "the language of the texts",
        "target": "the language to translate into",
    }
    reasons: ClassVar[Mapping[str, str]] = {
        **MODEL_REASONS,
        "part_missing": "The reply translates a part not at all, or by a letter alone.",
        "part_unasked": "The reply translates a part that nobody asked for.",
        "parts_equal": "Two options that differ have the same translation.",
        "translated": "People translate it.",
    }

    spec: DraftTranslationSpec

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read the prompts and the glossary."""
        super().open(lookups)
        spec = self.spec
        self._glossary = Glossary() if spec.glossary is None else read_glossary(spec.glossary.file)
        table = {} if spec.translations is None else read_translations(spec.translations.file)
        self._by_people = {id for id, parts in table.items() if any(part.translation for part in parts.values())}
        model: Model | None = None if self.model_spec is None else create_from_spec("model", self.model_spec)
        self._author = BY_MODEL + ("" if model is None else model.label)

    def exclusion(self, row: Any, parents: Mapping[str, Any]) -> Outcome | None:  # noqa: ARG002
        """A fact that people translate is not drafted."""
        return NotApplicable("translated") if row.id in self._by_people else None

    def by_rule(self, row: Any, parents: Mapping[str, Any]) -> Outcome | NeedsModel:  # noqa: ARG002
        """No rule translates."""
        return NeedsModel()

    def _shown(self, row: Any) -> dict[str, str]:
        """The texts of a fact by the names that a model sees."""
        by_name: dict[str, list[str]] = {}
        for part, text in payload_parts(row.payload).items():
            field = part.partition(".")[0]
            by_name.setdefault(_OPTIONS.get(field, field), []).append(text)
        shown: dict[str, str] = {}
        for name, texts in by_name.items():
            if name == "option":
                random.Random(f"{self.context.seed}:{row.id}").shuffle(texts)
            shown |= {f"{name}_{n}" if len(texts) > 1 else name: text for n, text in enumerate(texts, start=1)}
        return shown

    def prompt_values(self, row: Any, parents: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """The texts, the terms of the glossary in them, and both languages."""
        spec, shown = self.spec, self._shown(row)
        return {
            "parts": [{"name": name, "text": text} for name, text in shown.items()],
            "names": list(shown),
            "terms": self._glossary.entries_in("\n".join(shown.values())),
            "language": spec.languages.get(spec.original, spec.original),
            "target": spec.languages.get(spec.target, spec.target),
        }  # fmt: skip

    def reply_schema(self, row: Any) -> dict[str, Any] | None:
        """An object with a text for each part."""
        names = list(self._shown(row))
        texts = {name: {"type": "string"} for name in names}
        return {"type": "object", "properties": texts, "required": names, "additionalProperties": False}

    def expected_reply(self, row: Any, parents: Mapping[str, Any]) -> str:  # noqa: ARG002
        """The originals, as an estimate of the length."""
        return json.dumps(self._shown(row), ensure_ascii=False)

    def reply_text(self, reply: Reply) -> str | ReplyFault:
        """The JSON object in a reply."""
        text = said_text(reply)
        return text if isinstance(text, ReplyFault) else first_json_object(text) or ReplyFault("reply_empty")

    def judge(self, row: Any, parents: Mapping[str, Any], text: str, produced_by: ProducedBy) -> Row | ReplyFault:  # noqa: ARG002
        """The fact with the texts of a reply, or what is wrong with one of them."""
        try:
            given = json.loads(text)
        except ValueError as error:
            return ReplyFault("reply_malformed", str(error))
        if not isinstance(given, dict):
            return ReplyFault("reply_malformed", "an object is wanted")
        shown, texts = self._shown(row), dict[str, str]()
        if unasked := [str(name) for name in given if name not in shown]:  # pyright: ignore[reportUnknownVariableType]
            return ReplyFault("part_unasked", ", ".join(unasked))
        for name, original in shown.items():
            value: Any = given.get(name)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            if fault := _part_fault(name, original, value):
                return fault
            texts[original] = compose_characters(str(value)).strip()
        options = {name: texts[original].casefold() for name, original in shown.items() if name.startswith("option")}
        counts = Counter(options.values())
        if equal := [name for name, option in options.items() if counts[option] > 1]:
            return ReplyFault("parts_equal", ", ".join(equal))
        payload: Payload = row.payload
        payload = payload.map_texts(lambda part: texts.get(part, part))
        made = self.produced_by(self._author)
        return type(row).child(row, produced_by=made, payload=payload, language=self.spec.target)


def _part_fault(name: str, original: str, value: object) -> ReplyFault | None:
    text = value.strip() if isinstance(value, str) else ""
    if not text or (text.isascii() and len(text) == 1 and len(original.strip()) > 3):
        return ReplyFault("part_missing", f"{name}: {value}")
    if odd := odd_characters(text):
        return ReplyFault("reply_odd_characters", f"{name}: {odd}")
    return ReplyFault("reply_markup", name) if has_markup(text) and not has_markup(original) else None
