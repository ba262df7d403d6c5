"""Makes answers untrue in pairs: two dialogues exchange a part of their answers, and both stay as they are, too."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Annotated, Any, ClassVar

from benchbuilder.config import Name, StepSpec
from benchbuilder.core import Dropped, Fact, GatherStream, Kept, Outcome, Row, Table, has_match, outcome_pieces
from benchbuilder.steps import Gather, Port, replace_span
from pydantic import Field

from benchbuilder_cmhe.hd.dialogue import AnswerChange, Dialogue, source_dialogue
from benchbuilder_cmhe.hd.parts import NumberRule, OppositeRule, Part, TermRule, find_parts, shared_letters

_FACT = Fact[Dialogue]
_TRIES = 500
"""So many others are looked at for each part; then it has no partner."""


class ExchangeAnswersSpec(StepSpec):
    """What is exchanged, by name: terms of tables, numbers, and words with their opposites."""

    terms: dict[Name, TermRule | None] = {}
    numbers: dict[Name, NumberRule | None] = {}
    opposites: dict[Name, OppositeRule | None] = {}
    stops: str
    """The marks at which a clause ends."""
    repeats: Annotated[int, Field(ge=1)]
    """At most so many answers, true or untrue, have the same part before the same words. So no single claim recurs
    often enough to be learnt."""
    reach: Annotated[int, Field(ge=0)]
    """How many characters behind a part and its frame are the same words, for `repeats`."""
    dialogues: Annotated[int | None, Field(ge=2)] = None
    """At most so many dialogues go on, whole pairs drawn by the seed; ``null``: all that have a partner."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A part of the answer of one dialogue, with the rest of the dialogue and the groups that the rest mentions.

    The dialogue is not held: `position` is its row, `source` names it, `after` are the words behind the part.
    """

    position: int
    row_id: str
    source: str
    part: Part
    after: str
    rest: str
    mentioned: frozenset[str]


class ExchangeAnswers(Gather):
    """Two rows for each dialogue of a pair: its own answer, and the answer with the part of its partner.

    A part and the text around it stand in true and in untrue answers equally often, because a pair makes two of each
    and is dropped as a whole. So nothing that depends on the part alone, or on the rest alone, tells which is which.
    Whether the altered answer is untrue is not known before people have confirmed it.
    """

    kind: ClassVar[str] = "exchange_answers"
    version = 2
    spec_class: ClassVar[type[StepSpec]] = ExchangeAnswersSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(_FACT)}
    output: ClassVar[type[Row] | None] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        "no_part": "No rule finds a part in the answer that another answer could have.",
        "no_frame": "No other answer has a part in the same frame.",
        "not_different": "Parts in the same frame are alike, of another field, or differ by too little or too much.",
        "mentioned": "The dialogue or its partner mentions the other part, or one that is alike, elsewhere.",
        "mentioned_once": "A part occurs in the rest of one dialogue, and not in the rest of the other.",
        "letters_differ": "One part shares more letters with the rest than the other: the question's words would tell.",
        "contradicted": "The rest of a dialogue argues for its own part, so that the other one would contradict it.",
        "repeated": "`repeats` other answers already have the part before the same words.",
        "left_over": "Every possible partner belongs to another pair.",
        "not_drawn": "The pair is not drawn; `dialogues` is how many go on.",
    }

    spec: ExchangeAnswersSpec

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherStream:
        """Every dialogue: twice, or dropped with the reason."""
        spec, table = self.spec, tables["each"]
        rules = {**spec.terms, **spec.numbers, **spec.opposites}
        self._finders = {name: rule.open() for name, rule in rules.items() if rule is not None}
        places: dict[tuple[str, str], list[_Place]] = defaultdict(list)
        reasons: list[Dropped] = []
        for position, row in enumerate(table):
            parts = list(find_parts(self._finders, row.payload.answer, spec.stops))
            frames = "; ".join(dict.fromkeys(part.frame for part in parts))
            reasons.append(Dropped("no_frame" if parts else "no_part", frames))
            for part in parts:
                places[part.rule, part.frame].append(self._place(position, row, part))
        pairs = self._pairs(places, reasons)
        places.clear()
        drawn = pairs if spec.dialogues is None else self._drawn(pairs, spec.dialogues // 2)
        for place in (place for pair in pairs for place in pair):
            reasons[place.position] = Dropped("not_drawn", place.part.rule)
        partners = {one.position: (one, other) for pair in drawn for one, other in (pair, pair[::-1])}

        def decide(position: int, row: Any) -> list[Outcome]:
            return self._outcomes(row, *partners[position]) if position in partners else [reasons[position]]

        notes = {"pairs": dict(Counter(one.part.rule for one, _ in drawn))}
        return GatherStream(outcome_pieces(table, _FACT, decide), notes=notes)

    def _place(self, position: int, row: Fact[Dialogue], part: Part) -> _Place:
        said, end = row.payload, part.span.end
        rest = "\n".join((said.title, said.question, f"{said.answer[: part.span.start]}\n{said.answer[end:]}"))
        after = said.answer[end : end + len(part.around[1]) + self.spec.reach]
        mentioned = self._finders[part.rule].groups_in(rest)
        return _Place(position, row.id, source_dialogue(row), part, after, rest, mentioned)

    def _pairs(
        self, places: Mapping[tuple[str, str], list[_Place]], reasons: list[Dropped]
    ) -> list[tuple[_Place, _Place]]:
        """Pairs of dialogues, each dialogue in one at most; the rarest frames first. Fills in `reasons` of the rest."""
        pairs: list[tuple[_Place, _Place]] = []
        taken: set[int] = set()
        bars: dict[int, Counter[str]] = defaultdict(Counter)
        self._seen = Counter[str]()
        for key in sorted(places, key=lambda key: (len(places[key]), key)):
            found = sorted(places[key], key=lambda place: (place.row_id, place.part.span.start))
            Random(f"{self.context.seed}:{key}").shuffle(found)
            for number, one in enumerate(found):
                for other in found[number + 1 : number + 1 + _TRIES]:
                    if one.position in taken:
                        break
                    bar = "left_over" if other.position in taken else self._bar(one, other)
                    if not bar:
                        pairs.append((one, other))
                        self._seen.update(self._claims(one, other))
                        taken |= {one.position, other.position}
                    elif one.position != other.position:
                        bars[one.position][bar] += 1
                        bars[other.position][bar] += 1
        for position, counts in bars.items():
            reasons[position] = Dropped(
                min(counts, key=lambda bar: (-counts[bar], bar)),
                "; ".join([reasons[position].detail, *(f"{bar} {n}" for bar, n in sorted(counts.items()))]),
            )
        return pairs

    def _bar(self, one: _Place, other: _Place) -> str:
        """Why the two may not exchange their parts; empty if they may. Equal for both orders."""
        finder, parts = self._finders[one.part.rule], (one.part, other.part)
        if one.position == other.position:
            return "not_different"
        if not finder.differ(*parts):
            return "not_different"
        kinds, rests = one.part.kinds | other.part.kinds, (one.rest, other.rest)
        if any(not place.mentioned.isdisjoint(kinds) for place in (one, other)) or any(
            part.framed() in rest for part in parts for rest in rests
        ):
            return "mentioned"
        if any((part.text in one.rest) != (part.text in other.rest) for part in parts):
            return "mentioned_once"
        if finder.rule.letters and any(len({shared_letters(part.text, rest) for part in parts}) > 1 for rest in rests):
            return "letters_differ"
        rule = finder.rule
        if rule.contradicted and any(has_match(rule.contradicted, rest) for rest in rests):
            return "contradicted"
        if any(self._seen[claim] >= self.spec.repeats for claim in self._claims(one, other)):
            return "repeated"
        return ""

    def _claims(self, one: _Place, other: _Place) -> list[str]:
        """Each part of the two before the words of each: two of the four are the doctors'."""
        words = (one.after, other.after)
        return [f"{part.text}{word}" for part in (one.part, other.part) for word in words]

    def _drawn(self, pairs: list[tuple[_Place, _Place]], number: int) -> list[tuple[_Place, _Place]]:
        chance = Random(f"{self.context.seed}:dialogues")
        return chance.sample(pairs, min(number, len(pairs)))

    def _outcomes(self, row: Fact[Dialogue], place: _Place, partner: _Place) -> list[Outcome]:
        said, part, new = row.payload, place.part, partner.part.text
        own = said.model_copy(update={"partner": partner.source})
        change = AnswerChange(rule=part.rule, before=part.text, after=new)
        answer = replace_span(said.answer, part.span, new)
        altered = own.model_copy(update={"answer": answer, "changes": (*said.changes, change)})
        return [
            Kept(self._row(row, own, f"{part.rule}/own", "own"), "own"),
            Kept(self._row(row, altered, part.rule, "altered"), "altered"),
        ]

    def _row(self, row: Fact[Dialogue], payload: Dialogue, rule: str, slot: str) -> Row:
        return _FACT.child(row, produced_by=self.produced_by(rule), slot=slot, payload=payload)
