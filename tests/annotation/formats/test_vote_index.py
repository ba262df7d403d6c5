"""An export finds votes by numbers as a search through all of them would."""

from dataclasses import replace

import pytest
from export_worlds import PEOPLE, START, material_of, spec_of, task_of
from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.annotation.base import Subject
from benchbuilder.annotation.formats.models import VoteRecord
from benchbuilder.annotation.tasks import judgement_requests

pytestmark = pytest.mark.push

TASKS = [task_of("a", "b", [("t", "x"), ("t", "y")]), task_of("c", "d"), task_of("e", "f")]
SPEC = spec_of()
ASKED = judgement_requests(TASKS[:2], SPEC)
GONE = Subject("c0", next(iter(ASKED)).wording), replace(next(iter(ASKED)), wording="w0")
votes = st.builds(
    lambda rater, subject, value: VoteRecord(
        rater.person, rater.code, rater.role, subject, "factual", value, "", START
    ),
    st.sampled_from(PEOPLE), st.sampled_from([*ASKED, *GONE]), st.sampled_from([0, 1, None]),
)  # fmt: skip


@pytest.mark.push
@given(st.lists(votes, max_size=30))
def test_votes_are_found_by_numbers(given_votes):
    material = material_of(spec=SPEC, tasks=TASKS, votes=given_votes)
    last = {(vote.code, vote.subject): vote for vote in given_votes}
    counting = [v for v in given_votes if last[v.code, v.subject] is v and v.value is not None]
    assert list(map(id, material.counting_votes())) == list(map(id, counting))
    for code in ("A1", "J1", "nobody"):
        for subject in (*ASKED, *GONE):
            assert material.last_vote(code, subject) is last.get((code, subject))
    for task in TASKS:
        own = [v for v in counting if v.subject in ASKED and ASKED[v.subject].task_key == task.key]
        assert list(map(id, material.votes_on(task))) == list(map(id, own))
    index = material.vote_index
    assert index.counting == len(counting)
    assert index.counting_asked == sum(v.subject in ASKED for v in counting)
    assert index.unplaced == sum(v.subject.key == "c0" for v in given_votes)
    places = {key: task.key for task in TASKS for key in (task.key, *(one.key for one in task.paragraphs))}
    assert index.voted_tasks == len({places[v.subject.key] for v in given_votes if v.subject.key in places})
