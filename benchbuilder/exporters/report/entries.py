"""The entries of a report: items, or candidates while there are none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchbuilder.core import STATEMENT_FORM, Claim, Item, Row, Support, cells_of
from benchbuilder.exporters.base import FinishedBuild


@dataclass(frozen=True)
class ReportEntry:
    """One item or candidate. `evidence` is what supports it (for a candidate: what was retrieved for it)."""

    row: Row
    cells: Mapping[str, str]
    evidence: tuple[Support, ...] = ()

    @property
    def source(self) -> str:
        """Its source, or the class that a step sorted it into."""
        return self.row.partition

    @property
    def type(self) -> str:
        """Its type as written in output files (TF, OE); empty for payloads without types."""
        return self.cells.get("q-type", "")

    @property
    def form(self) -> str:
        """How it asks: ``statement``, or the sentence that shows a question."""
        return str(getattr(self.row, "form", STATEMENT_FORM))

    @property
    def expected(self) -> str:
        """The verdict that is right, ``yes`` or ``no``; empty where there is none."""
        return self.cells.get("expected", "")

    @property
    def question(self) -> str:
        """What is asked, context included; for payloads without questions their first cell."""
        return self.cells.get("full-question") or self.cells.get("question") or next(iter(self.cells.values()), "")

    def column(self, name: str) -> str:
        """The name of a cell in reports: in a true/false item, the answer need not be the right one."""
        about_it = bool(self.expected) and "answer-wrong" not in self.cells
        return f"item-{name}" if name == "answer" and about_it else name

    @property
    def reviewed(self) -> bool:
        """Whether people have judged it."""
        return isinstance(self.row, Item) and self.row.reviewed


@dataclass(frozen=True)
class EntryAncestor:
    """A row that an entry was made from: the step that made it, by which rule, and its text."""

    step: str
    role: str
    rule: str
    text: str


def candidate_step(finished: FinishedBuild) -> str:
    """The last step that makes candidates, or an empty name."""
    names = [account.step for account in finished.step_counts if account.role == "candidate"]
    return names[-1] if names else ""


def entry_step(finished: FinishedBuild) -> str:
    """The step whose rows are the entries: items, or candidates while there are none; empty without either."""
    steps = (finished.items, candidate_step(finished))
    return next((step for step in steps if step in finished.tables and len(finished.tables[step])), "")


def item_entries(finished: FinishedBuild) -> list[ReportEntry]:
    """The items, empty while votes are missing."""
    if finished.items not in finished.tables:
        return []
    return [entry_of(row) for row in finished.tables[finished.items]]


def entry_of(row: Row, evidence: tuple[Support, ...] | None = None) -> ReportEntry:
    """The entry of an item, or of a candidate with its `evidence`."""
    return ReportEntry(row, cells_of(row), _support(row) if evidence is None else evidence)


def supports_of(rows: Iterable[Any]) -> tuple[Support, ...]:
    """Rows of evidence as the paragraphs of an entry."""
    return tuple(Support(**{name: getattr(row, name) for name in Support.model_fields}) for row in rows)


def candidate_entries(finished: FinishedBuild) -> list[ReportEntry]:
    """The candidates with the paragraphs that were retrieved for them."""
    step = candidate_step(finished)
    if step not in finished.tables:
        return []
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for account in finished.step_counts:
        if account.role == "evidence" and account.step in finished.tables:
            for row in finished.tables[account.step]:
                found[row.of].append(row)
    return [entry_of(row, supports_of(found[row.id])) for row in finished.tables[step]]


def _support(row: Row) -> tuple[Support, ...]:
    payload = getattr(row, "payload", None)
    return payload.evidence if isinstance(payload, Claim) else ()


def sources_of(finished: FinishedBuild) -> list[str]:
    """Names of the sources that candidates are made from, in flow order; none where only evidence is found."""
    inputs = {account.step: account.inputs for account in finished.step_counts}
    above, todo = set[str](), [account.step for account in finished.step_counts if account.role == "candidate"]
    while todo:
        above.update(todo)
        todo = [name for step in todo for name in inputs.get(step, {}).get("each", ()) if name not in above]
    sources = [account for account in finished.step_counts if not account.inputs]
    return [account.step for account in sources if account.step in above or account.role != "passage"]


def entry_ancestors(finished: FinishedBuild, entries: Sequence[ReportEntry]) -> dict[str, list[EntryAncestor]]:
    """For the id of each entry the facts, statements and questions that it was made from, in flow order.

    A row that filters passed on counts for the step that made it.
    """
    wanted = {parent for entry in entries for parent in entry.row.parents}
    known: dict[str, EntryAncestor] = {}
    for account in finished.step_counts:
        if account.role not in ("fact", "statement", "question") or account.step not in finished.tables:
            continue
        for row in finished.tables[account.step].find(wanted - known.keys()):
            rule = f"{row.produced_by.rule}@{row.produced_by.version}"
            known[row.id] = EntryAncestor(account.step, account.role, rule, _text_of(row))
    place = {row_id: index for index, row_id in enumerate(known)}
    return {
        entry.row.id: [known[i] for i in sorted(known.keys() & set(entry.row.parents), key=place.__getitem__)]
        for entry in entries
    }


def _text_of(row: Any) -> str:
    text = getattr(row, "text", "")
    if text:
        return f"{getattr(row, 'context', '')}{text}"
    return " · ".join(cell for cell in cells_of(row).values() if cell)
