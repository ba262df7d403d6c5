"""The exporter `claims`: every part of every answer as JSON Lines, and a page of the answers that are worst."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePath
from typing import Annotated, Any, ClassVar, Self

from markupsafe import Markup, escape
from pydantic import Field

from benchbuilder.config import BootstrapSpec, KindSpec
from benchbuilder.core import AnswerClaim, Item, PageTexts, Row, atomic_path, strip_reasoning, write_atomically
from benchbuilder.evaluation.claims.counts import ClaimCounts, count_claims
from benchbuilder.evaluation.judges.base import Case, make_case
from benchbuilder.evaluation.results import PACKAGES
from benchbuilder.evaluation.results.claim_audit import draw_claims, row_to_rate, sheet_to_rate
from benchbuilder.evaluation.results.claims import OUTCOMES, ClaimResults, claim_tables, read_claims
from benchbuilder.evaluation.results.context import PAGE_FUNCTIONS, ResultsFrame, bootstrap_settings
from benchbuilder.evaluation.results.run import EvaluationRun, gather_run
from benchbuilder.evaluation.steps.claims import CLAIMS
from benchbuilder.exporters import (
    Exporter,
    FileName,
    FinishedBuild,
    LanguageLink,
    PageSpec,
    name_in_language,
    render_html,
    visible_text,
    write_pages,
)

COLUMNS = tuple(name for name in AnswerClaim.model_fields if name == "of" or name not in Row.model_fields)
"""What a line says of a part."""


class ClaimsPageSpec(PageSpec):
    """`file` is the first part of the file names. `most` is how many answers are shown, the worst first.

    Those that one page does not hold stand in the folder ``FILE_pages``, `per_page` on each.
    `rate` is how many claims are drawn for people to rate; 0 writes no such file.
    """

    file: FileName = "claims"
    rate: Annotated[int, Field(ge=0, le=5_000)] = 120
    most: Annotated[int, Field(ge=0, le=5_000)] = 5_000
    per_page: Annotated[int, Field(ge=1, le=200)] = 200


class ClaimsExporter(Exporter):
    """The parts of answers with their verdicts: ``claims.jsonl`` has all, ``claims.html`` the worst answers in full.

    ``claims_to_rate`` has a sample for people to rate, for the review app and as a sheet.
    """

    kind: ClassVar[str] = "claims"
    spec_class: ClassVar[type[KindSpec]] = ClaimsPageSpec

    spec: ClaimsPageSpec

    def can_write(self, finished: FinishedBuild) -> bool:
        """Whether claims of answers were read."""
        return super().can_write(finished) and any(name.startswith(f"{CLAIMS}.") for name in finished.tables)

    def output_names(self) -> tuple[str, ...]:
        """The names of the page and of the data."""
        rated = [f"{self.spec.file}_to_rate.{suffix}" for suffix in ("jsonl", "csv") if self.spec.rate]
        own = (f"{self.spec.file}.jsonl", f"{self.spec.file}_pages", *rated)
        return (*self.spec.page_names(f"{self.spec.file}.html"), *own)

    def write(self, finished: FinishedBuild, folder: Path) -> list[Path]:
        """Write the data, then the page in each language."""
        from benchbuilder.evaluation.results.claim_exporter import ClaimPage  # a build without claims does without

        path = folder / f"{self.spec.file}.jsonl"
        with atomic_path(path, sync=False) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
            stream.writelines(_lines(finished))
        page = ClaimPage.read(finished, self.spec.most)
        texts, paths = self.spec.reader_texts(), [path]
        if self.spec.rate:
            rows = list(_rows_to_rate(finished, self.spec.rate))
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
            for suffix, data in (("jsonl", lines), ("csv", sheet_to_rate(rows))):
                paths.append(write_atomically(folder / f"{self.spec.file}_to_rate.{suffix}", data, sync=False))
        pages = page.split(self.spec.per_page)
        for number, some in enumerate(pages, 1):
            place = PurePath(f"{self.spec.file}_pages/{number}.html" if number > 1 else f"{self.spec.file}.html")
            (folder / place.parent).mkdir(exist_ok=True)
            here = PageOf(self.spec.file, number, len(pages), texts[0].language)
            written = partial(some.html, path.name, here)
            paths += write_pages(folder / place.parent, place.name, texts, written, sync=False)
        return paths


def _lines(finished: FinishedBuild) -> Iterator[str]:
    """A line for each part, system by system."""
    for name, table in finished.tables.items():
        for batch in table.batches(COLUMNS) if name.startswith(f"{CLAIMS}.") else ():
            for row in batch.select(list(COLUMNS)).to_pylist():
                yield json.dumps(row, ensure_ascii=False) + "\n"


def _rows_to_rate(finished: FinishedBuild, most: int) -> Iterator[dict[str, Any]]:
    """A sample of the claims of models and people, as people are shown them."""
    baselines: Mapping[str, Any] = (finished.recipe.get("evaluation") or {}).get("baselines") or {}
    rules = {name for name, baseline in baselines.items() if baseline and baseline["kind"] != "people"}
    answers = (rows for rows in _claims_by_answer(finished) if rows[0].model not in rules)
    drawn = draw_claims(answers, most, int(finished.recipe.get("seed") or 0))
    for shown in _shown(finished, {answer: at for at, answer in enumerate(sorted(set(drawn.values())))}):
        yield from (row_to_rate(part, shown.case) for part in shown.parts if part.id in drawn)


_VERDICTS = ("supported", "contradicted", "not_addressed")


@dataclass(frozen=True)
class ShownAnswer:
    """An answer on the page: its number there, its item as a case, its parts, and what they come to."""

    number: int
    model: str
    item: str
    language: str
    case: Case
    parts: tuple[AnswerClaim, ...]
    counts: ClaimCounts

    @property
    def outcome(self) -> str:
        """What the answer comes to; ``empty`` without text."""
        return self.counts.outcome if self.case.answer else "empty"

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The verdicts of its claims, each once."""
        return tuple(name for name in _VERDICTS if any(part.verdict == name for part in self.parts))

    @property
    def faults(self) -> tuple[str, ...]:
        """Why parts of it have no verdict, or are not as the verifier said, each once."""
        return tuple(dict.fromkeys(part.reason for part in self.parts if part.reason))

    def marked_answer(self, t: PageTexts) -> Markup:
        """The answer with its parts marked; a part with a quote leads to it."""
        return Markup("").join(_marked_answer(self.case.answer, self.parts, self.number, t))

    def marked_evidence(self) -> list[Markup]:
        """The paragraphs with the quotes marked."""
        return [
            Markup("").join(_marked_paragraph(text, [part for part in self.parts if part.paragraph == at], self.number))
            for at, text in enumerate(self.case.evidence)
        ]


@dataclass(frozen=True)
class PageOf:
    """Which of several pages one is. `opens` is the language of the pages whose names say none."""

    file: str
    number: int
    pages: int
    opens: str

    def links(self, t: PageTexts) -> list[tuple[int, str]]:
        """The number and the address of each page in the language of `t`; none if there is one page."""
        names = [f"{self.file}.html", *(f"{self.file}_pages/{number}.html" for number in range(2, self.pages + 1))]
        if t.language != self.opens:
            names = [str(PurePath(name).with_name(name_in_language(name, t.language))) for name in names]
        up = "../" if self.number > 1 else ""
        return [(number, up + name) for number, name in enumerate(names, 1)] if self.pages > 1 else []


@dataclass(frozen=True)
class ClaimPage:
    """What the page shows, in any language."""

    recipe: Mapping[str, Any]
    run: EvaluationRun
    found: ClaimResults | None
    bootstrap: BootstrapSpec
    answers: tuple[ShownAnswer, ...]
    total: int

    @classmethod
    def read(cls, finished: FinishedBuild, most: int) -> Self:
        """Read the `most` worst answers of a finished evaluation."""
        evaluation: Mapping[str, Any] = finished.recipe.get("evaluation") or {}
        bootstrap = BootstrapSpec.model_validate(evaluation["bootstrap"])
        run = gather_run(finished, ())
        found = read_claims(finished.tables, run.items, evaluation, bootstrap_settings(bootstrap))
        ranked = sorted(_ranked(finished), key=lambda one: one[0])
        shown = tuple(_shown(finished, {answer: at for at, (_, answer) in enumerate(ranked[:most], 1)}))
        return cls(finished.recipe, run, found, bootstrap, shown, len(ranked))

    def split(self, size: int) -> list[Self]:
        """The page in pages of at most `size` answers."""
        starts = range(0, max(1, len(self.answers)), size)
        return [replace(self, answers=self.answers[at : at + size]) for at in starts]

    def html(self, data: str, here: PageOf, t: PageTexts, languages: Sequence[LanguageLink]) -> str:
        """One page; `data` is the name of the file with all parts. The first one has the tables."""
        frame = ResultsFrame(self.run, t, bootstrap_settings(self.bootstrap), 0.0, 0.0)
        choices = {
            "model": sorted({one.model for one in self.answers}),
            "outcome": [name for name in OUTCOMES if any(one.outcome == name for one in self.answers)],
            "verdict": [name for name in _VERDICTS if any(name in one.verdicts for one in self.answers)],
            "fault": sorted({fault for one in self.answers for fault in one.faults}),
        }
        context = {
            "t": t,
            "languages": languages,
            "recipe": self.recipe,
            "card": self.recipe["card"],
            "run": self.run,
            "tables": claim_tables(frame, self.found) if here.number == 1 else (),
            "here": here,
            "found": self.found,
            "answers": self.answers,
            "total": self.total,
            "data": data,
            "choices": choices,
            **PAGE_FUNCTIONS,
        }
        return render_html("claims.html.j2", PACKAGES, **context)


def _claims_by_answer(finished: FinishedBuild) -> Iterator[list[AnswerClaim]]:
    """The parts of each answer: rows of one answer stand together."""
    for name, table in finished.tables.items():
        own: list[AnswerClaim] = []
        for row in table if name.startswith(f"{CLAIMS}.") else ():
            if own and row.of != own[0].of:
                yield own
                own = []
            own.append(row)
        if own:
            yield own


def _ranked(finished: FinishedBuild) -> Iterator[tuple[tuple[Any, ...], str]]:
    """How bad each answer is, and its id: what asserts the wrong statement comes first."""
    for place, rows in enumerate(_claims_by_answer(finished)):
        counts = count_claims(rows)
        rank = (not counts.asserts_wrong, -counts.contradicted, counts.asserts_right, -counts.claims, place)
        yield rank, rows[0].of


def _shown(finished: FinishedBuild, numbers: Mapping[str, int]) -> Iterator[ShownAnswer]:
    """The answers of these ids, in the order of their numbers."""
    parts = {rows[0].of: rows for rows in _claims_by_answer(finished) if rows[0].of in numbers}
    wanted = {rows[0].item for rows in parts.values()}
    items: dict[str, Item[Any]] = {row.id: row for row in finished.tables[finished.items].find(wanted)}
    texts: dict[str, str] = {}
    for name, table in finished.tables.items():
        if name.startswith("answer."):
            texts |= {row.id: strip_reasoning(row.text) or "" for row in table.find(numbers)}
    for answer, number in sorted(numbers.items(), key=lambda one: one[1]):
        rows, item = parts[answer], items[parts[answer][0].item]
        case = make_case(item, texts.get(answer, ""))
        own = tuple(row for row in rows if row.number)
        yield ShownAnswer(number, rows[0].model, item.id, item.language, case, own, count_claims(rows))


def _marked_answer(text: str, parts: Sequence[AnswerClaim], number: int, t: PageTexts) -> Iterator[Markup]:
    at = 0
    for part in parts:
        yield _plain(text[at : part.start])
        look = f"part {part.verdict or part.kind}" + (" taken-back" if part.taken_back_by is not None else "")
        said = t.get(f"claims_page.{part.verdict or part.kind}", part.verdict or part.kind)
        if part.taken_back_by is not None:
            said = t("claims_page.taken_back", what=said)
        words, marks = _plain(text[part.start : part.end]), _stances(part)
        link = Markup(' href="#e{}-{}"').format(number, part.number) if part.paragraph is not None else Markup("")
        tag = Markup("a" if link else "span")
        yield Markup('<{0} class="{1}"{2} title="{3}">{4}</{0}>{5}').format(tag, look, link, said, words, marks)
        at = part.end
    yield _plain(text[at:])


def _stances(part: AnswerClaim) -> Markup:
    """The marks of what a part does with the statements: R and W, with a bar before what it denies."""
    marks = [("R", part.right), ("W", part.wrong)]
    shown = [("¬" if stance == "denies" else "") + letter for letter, stance in marks if stance != "none"]
    return Markup("").join(Markup('<sup class="stance">{}</sup>').format(mark) for mark in shown)


def _marked_paragraph(text: str, parts: Sequence[AnswerClaim], number: int) -> Iterator[Markup]:
    """A paragraph with its quotes; where they overlap, their union is marked."""
    quotes = sorted((part.quote_start or 0, part.quote_end or 0, part.number) for part in parts)
    at = 0
    while quotes:
        start, end, _ = quotes[0]
        own = [quotes.pop(0)]
        while quotes and quotes[0][0] < end:
            end = max(end, quotes[0][1])
            own.append(quotes.pop(0))
        yield _plain(text[at:start])
        anchors = Markup("").join(Markup('<span id="e{}-{}"></span>').format(number, part) for _, _, part in own)
        yield Markup("<mark>{}{}</mark>").format(anchors, _plain(text[start:end]))
        at = end
    yield _plain(text[at:])


def _plain(text: str) -> Markup:
    return escape(visible_text(text))
