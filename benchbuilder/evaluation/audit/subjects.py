"""What is audited: the items of a build (or its candidates) with all that they were made of, as plain subjects."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import STATEMENT_FORM, Choice, Item, Row, Statement, Table, Triple, join_shared_answers
from benchbuilder.evaluation.audit.knowledge import AuditKnowledge
from benchbuilder.exporters import FinishedBuild, ReportEntry, candidate_entries, entry_of, entry_step, load_entries


@dataclass(frozen=True)
class AuditOption:
    """The option of a multiple-choice question that a text states: its letter, its place from 0, and all options."""

    letter: str
    place: int
    texts: tuple[str, ...]


@dataclass(frozen=True)
class AuditSubject:
    """One text about which something is guessed: a true/false question, or one of the two answers of an item.

    Attributes:
        id: The id of its item.
        family: Its item family, which no fold divides.
        source: The partition of its item.
        type: ``tf``, ``oe``, or what the payload calls it.
        text: The text that is seen.
        expected: The right verdict, ``yes`` or ``no``; empty for answers and for open questions.
        negated: Whether the text negates its proposition.
        answer: The part of the text that answers the question of its fact; empty if unknown.
        concept: The other end of its triple; empty without a triple.
        relation: Source and relation of its triple; empty without a triple.
        option: The option that the text states, if its fact has options.
        evidence: The texts of the paragraphs of its item.
        form: How its item asks: ``statement``, or the sentence that shows a question.
    """

    id: str
    family: str
    source: str
    type: str
    text: str
    expected: str = ""
    negated: bool = False
    answer: str = ""
    concept: str = ""
    relation: str = ""
    option: AuditOption | None = None
    evidence: tuple[str, ...] = ()
    form: str = STATEMENT_FORM


@dataclass(frozen=True)
class AuditPair:
    """An item with a right and a wrong answer, each as a subject."""

    right: AuditSubject
    wrong: AuditSubject


@dataclass(frozen=True)
class AuditedBenchmark:
    """Everything that is audited.

    `questions` are the true/false questions with a known verdict, `pairs` the items with two answers that are more than
    verdicts. `items` counts all items, `families` their families, and `kind` says what they are (``items`` or
    ``candidates``). `whole` is the number before sampling. `paragraphs_shown` says whether models see the paragraphs.
    """

    questions: tuple[AuditSubject, ...]
    pairs: tuple[AuditPair, ...]
    items: int
    families: int
    kind: str
    whole: int
    paragraphs_shown: bool
    knowledge: AuditKnowledge = field(default_factory=AuditKnowledge, compare=False)


@dataclass(frozen=True, slots=True)
class _AuditedEntry:
    """What an audit needs of an item or a candidate.

    `answers` are the right and the wrong one, `lent` says whether another row lent the wrong one. `two_sided` says
    whether the answers are more than verdicts, `shows_paragraphs` whether models see them.
    """

    subject: AuditSubject
    answers: tuple[str, str]
    parents: tuple[str, ...]
    candidate: str
    lent: bool
    two_sided: bool
    shows_paragraphs: bool

    @classmethod
    def of(cls, entry: ReportEntry) -> _AuditedEntry:
        """What it needs of an entry of the report."""
        row, answers = entry.row, (entry.cells.get("answer", ""), entry.cells.get("answer-wrong", ""))
        verdict_only = getattr(row, "verdict_only", False)  # its answers would show only how many are yes
        return cls(
            _subject_of_entry(entry), answers, row.parents, str(getattr(row, "candidate", "")),
            getattr(row, "wrong_from", "") == "rows", all(answers) and answers[0] != answers[1] and not verdict_only,
            "evidence" in _prompt_fields(row),
        )  # fmt: skip


def benchmark_of_build(
    finished: FinishedBuild, most: int, seed: int, *, group: str = "answer_texts"
) -> AuditedBenchmark:
    """The items of a build, or its candidates while it has no items; a sample of `most` of them if there are more."""
    step = entry_step(finished)
    table, kind = finished.tables.get(step), "items" if step == finished.items else "candidates"
    chosen = [] if table is None else list(map(_AuditedEntry.of, _drawn_entries(finished, table, kind, most, seed)))
    found = _benchmark(chosen, 0 if table is None else len(table), kind, _Ancestry(finished, chosen))
    subjects = [*found.questions, *(side for pair in found.pairs for side in (pair.right, pair.wrong))]
    answers, concepts = ({getattr(subject, end) for subject in subjects} for end in ("answer", "concept"))
    found = replace(found, knowledge=AuditKnowledge.of_build(finished, answers, concepts))
    return _grouped(found, chosen) if group == "answer_texts" else found


def _drawn_entries(
    finished: FinishedBuild, table: Table[Any], kind: str, most: int, seed: int
) -> Iterable[ReportEntry]:
    """The entries of a table, one at a time if they are items; a sample of `most` of them if there are more."""
    if len(table) <= most:
        return map(entry_of, table) if kind == "items" else candidate_entries(finished)
    columns = zip(*(table.column(name) for name in ("id", "family", "fact")), strict=True)
    families = {row: str(family or fact or row) for row, family, fact in columns}
    drawn = _draw_families(families.values(), most, seed)
    ids = [row for row, family in families.items() if family in drawn]
    return map(entry_of, _rows_of(table, ids)) if kind == "items" else load_entries(finished, ids)


def _rows_of(table: Table[Any], ids: Sequence[str]) -> Iterator[Row]:
    """The rows of these ids, in the order of the table."""
    wanted = pa.array(ids, pa.string())
    for batch in table.batches():
        yield from Table(batch.filter(pc.is_in(batch.column("id"), value_set=wanted)), table.row)


def benchmark_of_items(
    rows: Sequence[Item[Any]], most: int, seed: int, *, group: str = "answer_texts"
) -> AuditedBenchmark:
    """Items without the build that made them; views of facts do not apply to them."""
    chosen = [_AuditedEntry.of(entry_of(row)) for row in sample_of_families(rows, most, seed)]
    found = _benchmark(chosen, len(rows), "items", None)
    return _grouped(found, chosen) if group == "answer_texts" else found


def _grouped(found: AuditedBenchmark, entries: Sequence[_AuditedEntry]) -> AuditedBenchmark:
    """The benchmark with items in one family that share an answer which another row lent as a wrong one."""
    lent = [entry.lent for entry in entries]
    if not any(lent):
        return found
    families = [entry.subject.family for entry in entries]
    names = join_shared_answers(families, [entry.answers for entry in entries], lent)
    group_of = {entry.subject.id: name for entry, name in zip(entries, names, strict=True)}

    def moved(subject: AuditSubject) -> AuditSubject:
        return replace(subject, family=group_of[subject.id])

    return replace(
        found,
        questions=tuple(map(moved, found.questions)),
        pairs=tuple(AuditPair(moved(pair.right), moved(pair.wrong)) for pair in found.pairs),
        families=len(set(names)),
    )


def family_of(row: Row) -> str:
    """The item family of an item or a candidate."""
    return str(getattr(row, "family", "") or getattr(row, "fact", "") or row.id)


def sample_of_families(rows: Sequence[Row], most: int, seed: int) -> list[Row]:
    """All rows, or whole families drawn at random by `seed` until there are `most` rows; in their order."""
    if len(rows) <= most:
        return list(rows)
    drawn = _draw_families(map(family_of, rows), most, seed)
    return [row for row in rows if family_of(row) in drawn]


def _draw_families(names: Iterable[str], most: int, seed: int) -> set[str]:
    """Families drawn at random until they have `most` entries; `names` has the family of each entry."""
    sizes = Counter(names)
    drawn, total = set[str](), 0
    for name in sorted(sizes, key=lambda name: hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=8).digest()):
        if total + sizes[name] > most and drawn:
            break
        drawn.add(name)
        total += sizes[name]
    return drawn


def _benchmark(entries: Sequence[_AuditedEntry], whole: int, kind: str, ancestry: _Ancestry | None) -> AuditedBenchmark:
    questions: list[AuditSubject] = []
    pairs: list[AuditPair] = []
    for entry in entries:
        if entry.subject.expected:
            asked = None if ancestry is None else ancestry.asked_statement(entry)
            questions.append(entry.subject if ancestry is None else ancestry.describe(entry.subject, asked))
        if entry.two_sided:
            right, wrong = (_answer_subject(text, entry, ancestry) for text in entry.answers)
            pairs.append(AuditPair(right, wrong))
    return AuditedBenchmark(
        tuple(questions), tuple(pairs), len(entries), len({entry.subject.family for entry in entries}), kind, whole,
        any(entry.shows_paragraphs for entry in entries[:1]),
    )  # fmt: skip


def _subject_of_entry(entry: ReportEntry) -> AuditSubject:
    """The question of an entry, as models see it."""
    return AuditSubject(
        id=entry.row.id, family=family_of(entry.row), source=entry.source, type=entry.type.lower(),
        text=shown_text(entry.row) or entry.question,
        expected=entry.expected if entry.expected in ("yes", "no") else "",
        negated=bool(getattr(entry.row, "negated", False)),
        evidence=tuple(support.text for support in entry.evidence),
        form=entry.form,
    )  # fmt: skip


def shown_text(row: Row) -> str:
    """What models see of an item, without type and paragraphs; empty for rows without a payload."""
    fields = _prompt_fields(row)
    texts = (value for name, value in fields.items() if name not in ("type", "evidence") and isinstance(value, str))
    return "\n".join(filter(None, texts))


def _prompt_fields(row: Row) -> Mapping[str, Any]:
    payload = getattr(row, "payload", None)
    return {} if payload is None else payload.prompt_fields()


def _answer_subject(text: str, entry: _AuditedEntry, ancestry: _Ancestry | None) -> AuditSubject:
    """One answer of an entry; the question stays hidden."""
    answer = replace(entry.subject, text=text, expected="", negated=False)
    return answer if ancestry is None else ancestry.describe(answer, ancestry.statement_of(entry, text))


class _Ancestry:
    """The rows that entries were made from: candidates, questions, statements and facts, by id."""

    def __init__(self, finished: FinishedBuild, entries: Sequence[_AuditedEntry]) -> None:
        wanted = {parent for entry in entries for parent in (entry.subject.id, *entry.parents)}
        steps = [counts for counts in finished.step_counts if counts.step in finished.tables]
        self._questions: dict[str, str] = {}
        self._candidates: dict[str, str] = {}
        self._statements: dict[str, Statement] = {}
        self._facts: dict[str, Row] = {}
        for counts in steps:
            if counts.role in ("question", "candidate"):
                known = self._questions if counts.role == "question" else self._candidates
                found = finished.tables[counts.step].find(wanted)
                known.update(zip(found.ids(), found.column("of"), strict=True))
            elif counts.role == "statement":
                rows = finished.tables[counts.step].find(wanted - self._statements.keys())
                self._statements.update((row.id, row) for row in rows)
        facts = wanted.intersection(statement.fact for statement in self._statements.values())
        for counts in reversed(steps):  # the last steps have few rows besides, the sources may have millions
            if counts.role == "fact" and facts:
                self._facts.update((row.id, row) for row in finished.tables[counts.step].find(facts))
                facts -= self._facts.keys()

    def asked_statement(self, entry: _AuditedEntry) -> Statement | None:
        """The statement that the question of an item or a candidate is about."""
        candidate = entry.subject.id if entry.subject.id in self._candidates else entry.candidate
        question = self._candidates.get(candidate, "")
        return self._statements.get(self._questions.get(question, ""))

    def statement_of(self, entry: _AuditedEntry, text: str) -> Statement | None:
        """The statement with the text of an answer."""
        found = (self._statements.get(parent) for parent in entry.parents)
        return next((statement for statement in found if statement is not None and statement.text == text), None)

    def describe(self, subject: AuditSubject, statement: Statement | None) -> AuditSubject:
        """The subject with what is known of its statement and of the fact behind it."""
        if statement is None:
            return subject
        answer = "" if statement.answer is None else statement.answer.slice_of(statement.text)
        subject = replace(subject, answer=answer, negated=statement.negated or _is_negation(statement))
        payload = getattr(self._facts.get(statement.fact), "payload", None)
        if isinstance(payload, Triple):
            concept = _other_end(payload, answer, statement)
            return replace(subject, concept=concept, relation=f"{subject.source}: {payload.relation}")
        if isinstance(payload, Choice):
            return replace(subject, option=_option_of(payload, answer))
        return subject


def _is_negation(statement: Statement) -> bool:
    """Whether a statement of a build from before the field `negated` is the negation of another."""
    return statement.joined == "negation" and statement.polarity == "false"


def _other_end(triple: Triple, answer: str, statement: Statement) -> str:
    """The end of a triple that is not the answer; of a replaced answer, the one that its statement still names."""
    if answer in (triple.head, triple.tail):
        return triple.head if answer == triple.tail else triple.tail
    named = [end for end in (triple.head, triple.tail) if end in statement.text]
    return max(named, key=len, default=triple.head)


def _option_of(choice: Choice, answer: str) -> AuditOption | None:
    """The option that an answer states: the equal one, else the longest that it contains or that contains it."""
    texts = tuple(option.text for option in choice.options)
    near = [place for place, text in enumerate(texts) if answer and (text in answer or answer in text)]
    exact = [place for place, text in enumerate(texts) if text == answer]
    if not exact and not near:
        return None
    place = exact[0] if exact else max(near, key=lambda place: len(texts[place]))
    return AuditOption(choice.options[place].key, place, texts)
