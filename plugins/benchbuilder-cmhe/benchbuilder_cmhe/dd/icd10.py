"""The scorer kind `icd10`: which of the right diseases an answer names, by chapter, block and category."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from benchbuilder.config import KindSpec, PromptRef, Sampling, Slot, Spec
from benchbuilder.core import Answer, DataError, Dropped, Item, NotApplicable, Regex, StepContext, strip_reasoning
from benchbuilder.evaluation import AspectScore, Scorer, ScorerResult, ScoringConversation, neutralise_tags, tag_names
from benchbuilder.models import Prompt, Reply, Request
from benchbuilder.steps import ReplyFault
from pydantic import BaseModel, Field

from benchbuilder_cmhe.dd.asking import ASKING_REASONS, ask_json, read_prompt_ref
from benchbuilder_cmhe.dd.case import PatientCase
from benchbuilder_cmhe.dd.classification import Classification, ClassificationSpec, open_classification
from benchbuilder_cmhe.dd.hierarchy import LEVELS
from benchbuilder_cmhe.dd.mentions import MentionFinder, MentionRules

_UNKNOWN = "?"


class DictionarySpec(Spec):
    """How names are found in answers without a model. Patterns have names of your choice; ``null`` takes one away."""

    shortest: Annotated[int, Field(ge=1)]
    whole_words: bool
    clause_ends: str
    denied_before: dict[str, Regex | None] = {}
    denied_after: dict[str, Regex | None] = {}
    begins: dict[str, Regex | None] = {}
    ends: dict[str, Regex | None] = {}
    parts: bool = False

    def mention_rules(self) -> MentionRules:
        """The same, without what was taken away."""

        def kept(patterns: Mapping[str, str | None]) -> tuple[str, ...]:
            return tuple(pattern for pattern in patterns.values() if pattern)

        return MentionRules(
            self.shortest, self.whole_words, self.clause_ends, kept(self.denied_before), kept(self.denied_after),
            kept(self.begins), kept(self.ends), self.parts,
        )  # fmt: skip


class Icd10Spec(KindSpec):
    """By what diseases are found in answers, and brought to codes.

    With a `model`, it lists the names that an answer gives; without one, the `dictionary` finds those that the
    classification knows. Of an answer longer than `longest` characters the last of them are read.
    """

    classification: ClassificationSpec
    dictionary: DictionarySpec
    unknown: Literal["wrong", "ignored"]
    """A name of the model's that has no code: one more disease that is given and not wanted, or nothing."""
    longest: Annotated[int, Field(ge=1000)] = 20_000
    prompt: PromptRef | None = None
    rounds: Annotated[int, Field(ge=0, le=5)] = 0
    sampling: Sampling = Sampling()
    model: Annotated[KindSpec | None, Slot("model")] = None


class NamesReply(BaseModel):
    """The diseases that an answer says the patient has."""

    diseases: list[str]


class Icd10(Scorer):
    """The aspects ``level_0`` (chapter), ``level_1`` (innermost block) and ``level_2`` (category).

    At each level the diseases of an answer and of its item are sets; `counts` says how many stand in both, in the
    answer, and in the item, for micro-averages. The value is the case's own F1, 0 where nothing is in common. An
    answer without text gives nothing, and is wanted all the same. The detail shows what was given and wanted.
    """

    kind: ClassVar[str] = "icd10"
    version = 2
    spec_class: ClassVar[type[KindSpec]] = Icd10Spec
    reasons: ClassVar[Mapping[str, str]] = {
        **ASKING_REASONS,
        "no_case": "The item is no case with coded diagnoses.",
        "missing": "The model has no answer to this item.",
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {"answer": "the answer whose diseases are listed"}

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        self.spec: Icd10Spec = spec
        self._known: Classification | None = None
        self._mentions: MentionFinder | None = None
        self._prompt: Prompt | None = None
        if self.model_spec is not None and spec.prompt is None:
            raise DataError("the scorer icd10 has a model but no prompt", where="evaluation.scorers",
                            next="set the scorer's prompt, for instance zh/cmhe_dd_extract.j2")  # fmt: skip

    @property
    def model_spec(self) -> KindSpec | None:
        """The model that lists names, if it answers at all."""
        model = self.spec.model
        return None if model is None or model.kind == "none" else model

    def open(self) -> None:
        """Read the classification and the prompt."""
        if self._known is None:
            self._known = open_classification(self.spec.classification)
            self._mentions = MentionFinder(self._known, self.spec.dictionary.mention_rules())
            self._prompt = read_prompt_ref(self.spec.prompt)

    def score(self, pairs: Sequence[tuple[Answer, Item[Any]]]) -> Iterable[ScorerResult]:
        """What each answer scored, by the dictionary."""
        self.open()
        assert self._mentions is not None
        return [self._by_dictionary(answer, item, self._mentions) for answer, item in pairs]

    def _by_dictionary(self, answer: Answer, item: Item[Any], mentions: MentionFinder) -> ScorerResult:
        early = _not_applicable(answer, item)
        if early is not None:
            return early
        found = mentions.find(self._answer_text(answer))
        return self._marks(answer, item.payload, [(mention.text, mention.match.code) for mention in found])

    def converse(self, answer: Answer, item: Item[Any]) -> ScoringConversation:
        """What an answer scored, by the names that the model lists."""
        early = _not_applicable(answer, item)
        if early is not None:
            return early
        text = self._answer_text(answer)
        names: list[str] = []
        if text.strip():
            made = yield from self._ask(text)
            if isinstance(made, ReplyFault):
                return Dropped(made.reason, made.detail)
            names = made
        return self._marks(answer, item.payload, self._codes_of(names))

    def _ask(self, text: str) -> Generator[Request, Reply, list[str] | ReplyFault]:
        if self.model_spec is None or self._prompt is None:
            return ReplyFault("needs_model")
        values = {"answer": neutralise_tags(text, tag_names(self._prompt.source))}
        return (
            yield from ask_json(
                self._prompt, values, NamesReply, lambda reply: [name for name in reply.diseases if name],
                sampling=self.spec.sampling, expected=NamesReply(diseases=[text[:12]]).model_dump_json(),
                rounds=self.spec.rounds,
            )
        )  # fmt: skip

    def _codes_of(self, names: Sequence[str]) -> list[tuple[str, str]]:
        assert self._known is not None
        coded: list[tuple[str, str]] = []
        for name in names:
            matches = self._known.find(name)
            kept = [(name, match.code) for match in matches if not self._known.is_left_out(match.code)]
            if matches:
                coded += kept
            elif self.spec.unknown == "wrong":
                coded.append((name, ""))
        return coded

    def _answer_text(self, answer: Answer) -> str:
        said = strip_reasoning(answer.text) or ""
        return said[-self.spec.longest :]

    def _marks(
        self, answer: Answer, case: PatientCase, named_diseases: Sequence[tuple[str, str]]
    ) -> tuple[AspectScore, ...]:
        assert self._known is not None
        label = "" if answer.outcome == "complete" else answer.outcome
        marks: list[AspectScore] = []
        for level in range(len(LEVELS)):
            wanted = case.codes_at(level)
            named = frozenset(self._value_at(name, code, level) for name, code in named_diseases)
            counts = (len(named & wanted), len(named), len(wanted))
            value = 2 * counts[0] / (counts[1] + counts[2])
            detail = f"{' '.join(sorted(named)) or 'nothing'} | wanted {' '.join(sorted(wanted))}"
            if level == len(LEVELS) - 1 and named_diseases:
                detail += f" | {', '.join(dict.fromkeys(name for name, _ in named_diseases))}"
            marks.append(AspectScore(f"level_{level}", value, label or _label(counts), detail, counts=counts))
        return tuple(marks)

    def _value_at(self, name: str, code: str, level: int) -> str:
        """What a disease of an answer counts as: one without a code as itself, which is never wanted."""
        assert self._known is not None
        place = self._known.hierarchy.place(code) if code else None
        return place.code_at(level) if place is not None else f"{_UNKNOWN}{name}"


def _label(counts: tuple[int, int, int]) -> str:
    both, given, wanted = counts
    if not given:
        return "nothing"
    if both == given == wanted:
        return "right"
    return "part" if both else "wrong"


def _not_applicable(answer: Answer, item: Item[Any]) -> NotApplicable | None:
    if answer.outcome == "missing":
        return NotApplicable("missing")
    case = item.payload
    return None if isinstance(case, PatientCase) and case.codes_at(2) else NotApplicable("no_case")
