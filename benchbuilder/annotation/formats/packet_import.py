"""Reads filled annotation sheets as votes for the app; only builds write such sheets."""

from __future__ import annotations

from benchbuilder.annotation.formats.models import ExportInput, ParsedVotes
from benchbuilder.annotation.formats.parse_votes import VoteCollector
from benchbuilder.annotation.formats.user_table import UserTable
from benchbuilder.annotation.sheets.reading import SheetContents, read_vote_sheet
from benchbuilder.annotation.tasks import wording_key


def read_annotation_sheet(name: str, data: bytes, export: ExportInput, users: UserTable | None = None) -> ParsedVotes:  # noqa: ARG001
    """Read the votes of an annotation sheet; its ``[annotator]`` is the name of a person."""
    people = {rater.person: rater for rater in export.all_raters() if rater.role != "lead"}
    reading = SheetContents(people, {wording_key(q): q for q in export.project.spec.questions_about().values()})
    read_vote_sheet(name, data, reading)
    collector = VoteCollector(export)
    collector.parsed.problems += reading.problems
    notes = {(comment.annotator, comment.key): comment.text for comment in reading.comments}
    for vote in reading.votes:
        question = collector.question_for(vote.subject)
        collector.add_answer(
            people[vote.annotator], vote.subject, vote.value, where=vote.where,
            label="" if question is None else question.label, note=notes.get((vote.annotator, vote.subject.key), ""),
        )  # fmt: skip
    return collector.parsed
