"""Filled packets of annotation by sheets, as votes for the app; they are only read: the build writes them."""

from __future__ import annotations

from benchbuilder.annotation.formats.models import Brought, Material
from benchbuilder.annotation.formats.parse_votes import Collector
from benchbuilder.annotation.formats.user_table import Users
from benchbuilder.annotation.sheets.reading import Reading, read_file
from benchbuilder.annotation.tasks import wording_key


def read_packet(name: str, data: bytes, material: Material, users: Users | None = None) -> Brought:  # noqa: ARG001
    """The votes of a packet; its ``[annotator]`` is the name of a person. See `votes.reading` for its form."""
    people = {rater.person: rater for rater in material.everyone() if rater.role != "lead"}
    reading = Reading(people, {wording_key(q): q for q in material.project.spec.asked().values()})
    read_file(name, data, reading)
    collector = Collector(material)
    collector.brought.problems += reading.problems
    notes = {(comment.annotator, comment.key): comment.text for comment in reading.comments}
    for vote in reading.votes:
        question = collector.question(vote.subject)
        collector.answer(
            people[vote.annotator], vote.subject, vote.value, where=vote.where,
            what="" if question is None else question.label, note=notes.get((vote.annotator, vote.subject.key), ""),
        )  # fmt: skip
    return collector.brought
