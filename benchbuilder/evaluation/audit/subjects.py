"""What is audited: the items of a build (or its candidates) with all that they were made of, as plain subjects."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import (
    STATEMENT_FORM,
    Choice,
    Item,
    Row,
    Statement,
    Table,
    Triple,
    combined_column,
    join_shared_answers,
)
from benchbuilder.exporters import (
    FinishedBuild,
    ReportEntry,
    candidate_entries,
    entry_of,
    entry_step,
    item_entries,
    load_entries,
)


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
class AuditKnowledge:
    """What the build knows besides its items: triples, and all paragraphs.

    The triples are those that have an end of an audited text, or a concept that shares a triple with one. Views look up
    no others.
    """

    triples: frozenset[tuple[str, str, str]] = frozenset()
    paragraphs: Sequence[str] = ()

    @cached_property
    def degrees(self) -> Mapping[str, int]:
        """By concept, how many triples have it at one of their ends."""
        found: dict[str, int] = {}
        for head, _, tail in self.triples:
            for end in {head, tail}:
                found[end] = found.get(end, 0) + 1
        return found

    @cached_property
    def neighbours(self) -> Mapping[str, frozenset[str]]:
        """By concept, every concept that shares a triple with it."""
        found: dict[str, set[str]] = {}
        for head, _, tail in self.triples:
            found.setdefault(head, set()).add(tail)
            found.setdefault(tail, set()).add(head)
        return {concept: frozenset(others) for concept, others in found.items()}


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


def benchmark_of_build(
    finished: FinishedBuild, most: int, seed: int, *, group: str = "answer_texts"
) -> AuditedBenchmark:
    """The items of a build, or its candidates while it has no items; a sample of `most` of them if there are more."""
    step = entry_step(finished)
    table, kind = finished.tables.get(step), "items" if step == finished.items else "candidates"
    whole = 0 if table is None else len(table)
    if table is None or whole <= most:
        chosen = item_entries(finished) or candidate_entries(finished)
    else:
        columns = zip(*(table.column(name) for name in ("id", "family", "fact")), strict=True)
        families = {row: str(family or fact or row) for row, family, fact in columns}
        drawn = _draw_families(families.values(), most, seed)
        chosen = load_entries(finished, [row for row, family in families.items() if family in drawn])
    found = _benchmark(chosen, whole, kind, _Ancestry(finished, chosen))
    found = replace(found, knowledge=_knowledge(finished, found))
    return _grouped(found, chosen) if group == "answer_texts" else found


def benchmark_of_items(
    rows: Sequence[Item[Any]], most: int, seed: int, *, group: str = "answer_texts"
) -> AuditedBenchmark:
    """Items without the build that made them; views of facts do not apply to them."""
    entries = [entry_of(row) for row in rows]
    chosen = sample_of_families(entries, most, seed)
    found = _benchmark(chosen, len(entries), "items", None)
    return _grouped(found, chosen) if group == "answer_texts" else found


def _grouped(found: AuditedBenchmark, entries: Sequence[ReportEntry]) -> AuditedBenchmark:
    """The benchmark with items in one family that share an answer which another row lent as a wrong one."""
    answers = [(entry.cells.get("answer", ""), entry.cells.get("answer-wrong", "")) for entry in entries]
    lent = [getattr(entry.row, "wrong_from", "") == "rows" for entry in entries]
    if not any(lent):
        return found
    names = join_shared_answers([family_of(entry.row) for entry in entries], answers, lent)
    group_of = {entry.row.id: name for entry, name in zip(entries, names, strict=True)}

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
    return str(getattr(row, "family_name", "") or getattr(row, "family", "") or getattr(row, "fact", "") or row.id)


def sample_of_families(entries: Sequence[ReportEntry], most: int, seed: int) -> list[ReportEntry]:
    """All entries, or whole families drawn at random by `seed` until there are `most` entries; in their order."""
    if len(entries) <= most:
        return list(entries)
    drawn = _draw_families((family_of(entry.row) for entry in entries), most, seed)
    return [entry for entry in entries if family_of(entry.row) in drawn]


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


def _benchmark(entries: Sequence[ReportEntry], whole: int, kind: str, ancestry: _Ancestry | None) -> AuditedBenchmark:
    questions: list[AuditSubject] = []
    pairs: list[AuditPair] = []
    for entry in entries:
        subject = _subject_of_entry(entry)
        texts = (entry.cells.get("answer", ""), entry.cells.get("answer-wrong", ""))
        if subject.expected:
            asked = None if ancestry is None else ancestry.asked_statement(entry.row)
            questions.append(subject if ancestry is None else ancestry.describe(subject, asked))
        verdict_only = getattr(entry.row, "verdict_only", False)  # its answers would show only how many are yes
        if all(texts) and texts[0] != texts[1] and not verdict_only:
            right, wrong = (_answer_subject(subject, text, entry, ancestry) for text in texts)
            pairs.append(AuditPair(right, wrong))
    return AuditedBenchmark(
        tuple(questions), tuple(pairs), len(entries), len({family_of(entry.row) for entry in entries}), kind, whole,
        any("evidence" in _prompt_fields(entry.row) for entry in entries[:1]),
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


def _answer_subject(subject: AuditSubject, text: str, entry: ReportEntry, ancestry: _Ancestry | None) -> AuditSubject:
    """One answer of an entry; the question stays hidden."""
    answer = replace(subject, text=text, expected="", negated=False)
    if ancestry is None:
        return answer
    return ancestry.describe(answer, ancestry.statement_of(entry.row, text))


class _Ancestry:
    """The rows that entries were made from: candidates, questions, statements and facts, by id."""

    def __init__(self, finished: FinishedBuild, entries: Sequence[ReportEntry]) -> None:
        wanted = {parent for entry in entries for parent in (entry.row.id, *entry.row.parents)}
        self._questions: dict[str, str] = {}
        self._candidates: dict[str, str] = {}
        self._statements: dict[str, Statement] = {}
        self._facts: dict[str, Row] = {}
        for counts in finished.step_counts:
            if counts.step not in finished.tables:
                continue
            if counts.role in ("question", "candidate"):
                known = self._questions if counts.role == "question" else self._candidates
                found = finished.tables[counts.step].find(wanted)
                known.update(zip(found.ids(), found.column("of"), strict=True))
            elif counts.role in ("statement", "fact"):
                rows: dict[str, Any] = self._statements if counts.role == "statement" else self._facts
                rows.update((row.id, row) for row in finished.tables[counts.step].find(wanted - rows.keys()))

    def asked_statement(self, row: Row) -> Statement | None:
        """The statement that the question of an item or a candidate is about."""
        candidate = row.id if row.id in self._candidates else str(getattr(row, "candidate", ""))
        question = self._candidates.get(candidate, "")
        return self._statements.get(self._questions.get(question, ""))

    def statement_of(self, row: Row, text: str) -> Statement | None:
        """The statement with the text of an answer."""
        found = (self._statements.get(parent) for parent in row.parents)
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


def _triples_with(tables: Sequence[Table[Any]], ends: Collection[str]) -> set[tuple[str, str, str]]:
    """The triples of `tables` with one of `ends` at either end."""
    wanted = pc.SetLookupOptions(pa.array(sorted(ends), pa.string()))
    found = set[tuple[str, str, str]]()
    for table in tables if ends else ():
        for batch in table.batches(["payload.head", "payload.relation", "payload.tail"]):
            columns: list[Any] = [combined_column(batch, f"payload.{name}") for name in ("head", "relation", "tail")]
            masks: list[Any] = [pc.call_function("is_in", [columns[place]], wanted) for place in (0, 2)]
            mask: Any = pc.call_function("or", masks)
            found.update(zip(*(column.filter(mask).to_pylist() for column in columns), strict=True))
    return found


def _knowledge(finished: FinishedBuild, audited: AuditedBenchmark) -> AuditKnowledge:
    """The triples of the sources near the audited texts, and the paragraphs of the knowledge bases."""
    tables: list[Table[Any]] = []
    paragraphs: list[str] = []
    cut = [counts for counts in finished.step_counts if counts.role == "passage" and counts.inputs]
    for counts in finished.step_counts:
        table = finished.tables.get(counts.step)
        if table is None:
            continue
        if counts.role == "fact" and getattr(table.row.model_fields["payload"].annotation, "kind", "") == "triple":
            tables.append(table)
        elif counts in cut or (counts.role == "passage" and not cut):
            paragraphs += table.column("text")
    subjects = [*audited.questions, *(answer for pair in audited.pairs for answer in (pair.right, pair.wrong))]
    ends = {end for subject in subjects for end in (subject.answer, subject.concept) if end}
    first = _triples_with(tables, ends)
    near = ends.union(*((head, tail) for head, _, tail in first))
    triples = _triples_with(tables, near)
    return AuditKnowledge(frozenset(triples), paragraphs)
