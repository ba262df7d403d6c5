from __future__ import annotations

import random
from pathlib import Path

import pytest
import sqlalchemy
from vote_world import World, replayed, spec_of, task_of, tasks_of

from benchbuilder.annotation.database import history, schema
from benchbuilder.annotation.database.models import GoldAccuracy, ImportedVote
from benchbuilder.annotation.database.sanitise import load_json
from benchbuilder.core.errors import DataError


def test_the_history_says_who_said_what_when_and_through_which_channel(world: World):
    person = world.annotators(2)[0]
    task = task_of(0)
    world.lay_out([task])
    world.submit(person, note="一", sound=0)
    world.clock.tick(hours=1)
    world.store.undo_last(person, "p")
    first, second = world.store.vote_events("p")
    assert (first.task, first.subject, first.question) == (task.key, world.subject(task), "sound")
    assert (first.person, first.code, first.role, first.channel) == ("专家1", "A1", "annotator", "app")
    assert (first.value, first.note, second.value, second.note) == (0, "一", None, "")
    assert (second.created_at - first.created_at).total_seconds() == 3600
    assert second.created_at == world.clock.now
    assert list(world.store.vote_events("p", since=first.id)) == [second]
    assert [event.id for event in world.store.events("p")][-1] == second.event


def test_long_histories_come_in_parts(world: World, monkeypatch: pytest.MonkeyPatch):
    person = world.annotators(2)[0]
    world.lay_out(tasks_of(7))
    for _ in range(7):
        world.submit(person)
    everything = list(world.store.vote_events("p")), list(world.store.events("p"))
    for size in (1, 3, 7, 8):
        monkeypatch.setattr(history, "_PAGE", size)
        assert (list(world.store.vote_events("p")), list(world.store.events("p"))) == everything
    assert len(everything[0]) == 7


def test_history_cannot_be_rewritten(world: World):
    person = world.annotators(2)[0]
    world.lay_out(tasks_of(1))
    world.submit(person)
    before = (list(world.store.vote_events("p")), list(world.store.events("p")))
    engine = world.store._transactions.engine
    statements = [
        "UPDATE votes SET value = '0'",
        "DELETE FROM votes",
        "UPDATE events SET at = at",
        "DELETE FROM events",
    ]
    if engine.dialect.name != "sqlite":
        statements += ["TRUNCATE votes", "TRUNCATE events CASCADE"]
    for statement in statements:
        with pytest.raises(sqlalchemy.exc.DBAPIError, match="can only be added to"), engine.begin() as connection:
            connection.execute(sqlalchemy.text(statement))
    if engine.dialect.name == "sqlite":
        replaced = "INSERT OR REPLACE INTO votes SELECT * FROM votes"
        with pytest.raises(sqlalchemy.exc.DBAPIError, match="can only be added to"), engine.begin() as connection:
            connection.execute(sqlalchemy.text(replaced))
    assert (list(world.store.vote_events("p")), list(world.store.events("p"))) == before


def votes_that_count(world: World) -> set[tuple]:
    with world.store._transactions.reading() as connection:
        query = sqlalchemy.select(schema.current_votes, schema.people.c.code).join(
            schema.people, schema.people.c.id == schema.current_votes.c.person_id
        )
        return {(row.code, row.key, row.wording, row.value, row.vote_id) for row in connection.execute(query)}


@pytest.mark.full
def test_votes_that_count_are_those_of_the_history(world: World):
    """Whatever people do in whatever order, the fast table is what a replay of the history gives."""
    draw = random.Random(20)
    people = world.annotators(3)
    judge = world.invite("仲裁", "adjudicator")
    spec = spec_of("sound", "degree", "supports", "remark")
    shown = [task_of(number, number % 3) for number in range(6)]
    world.lay_out(shown, spec)

    def submit() -> None:
        person = draw.choice(people)
        tasks = [task for _, task in world.store.tasks("p") if world.id_of(task) in world.ids(person)]
        values = {"sound": draw.randint(0, 1), "degree": draw.choice([0, 0.3, 0.55, 1.0]), "supports": 1}
        if draw.random() < 0.4:
            values["remark"] = draw.choice(["一", "二"])
        if tasks:
            world.submit(person, draw.choice(tasks), draw.choice(["", "备注"]), **values)

    def import_one() -> None:
        task = draw.choice(world.store.tasks("p"))[1]
        vote = ImportedVote(draw.choice(people).name, world.subject(task), draw.randint(0, 1))
        world.store.import_votes("p", [vote], "csv")

    def adjudicate() -> None:
        id_ = world.store.next_dispute(judge, "p")
        if id_ is not None:
            assert world.decide(judge, id_, draw.randint(0, 1), reason="理由") == "kept"

    def change_tasks() -> None:
        changed = [task_of(number, draw.randint(0, 2)) for number in draw.sample(range(8), 5)]
        world.lay_out(changed, spec_of("sound", "degree", "supports", "remark", per_task=draw.choice([2, 3])))

    def shut_out() -> None:
        person = draw.choice(people)
        world.store.revoke(person.name)
        world.store.reinvite(person.name)

    def undo() -> None:
        world.store.undo_last(draw.choice([*people, judge]), "p")

    steps = [submit] * 12 + [undo] * 5 + [adjudicate] * 3 + [import_one] * 3 + [change_tasks, shut_out]
    for _ in range(80):
        world.clock.tick(seconds=draw.randint(1, 4000))
        draw.choice(steps)()
        naive = replayed(world.store, "p")
        kept = world.store.current_votes("p", include_retired=True)
        assert (kept.by_subject, kept.decisions) == (naive.by_subject, naive.decisions)
    last = {(vote.code, vote.subject): vote for vote in world.store.vote_events("p")}
    counting = {(v.code, v.subject.key, v.subject.wording, v.value, v.id) for v in last.values() if v.value is not None}
    assert {(c, k, w, load_json(value), id_) for c, k, w, value, id_ in votes_that_count(world)} == counting
    query = sqlalchemy.select(schema.tasks.c.id, schema.tasks.c.open_disputes, schema.tasks.c.agreement)
    with world.store._transactions.writing() as connection:
        settled = connection.execute(query.order_by(schema.tasks.c.id)).all()
        connection.execute(sqlalchemy.update(schema.tasks).values(open_disputes=5, agreement=0.5))
        connection.execute(sqlalchemy.update(schema.projects).values(spec=schema.projects.c.spec + " "))
    world.lay_out([task for _, task in world.store.tasks("p")], world.spec)
    with world.store._transactions.reading() as connection:
        judged = set(connection.scalars(sqlalchemy.select(schema.current_votes.c.task_id)))
        again = connection.execute(query.order_by(schema.tasks.c.id)).all()
    assert [row for row in again if row.id in judged] == [row for row in settled if row.id in judged]


def test_the_digest_is_of_votes_and_not_of_how_they_came(url: str, tmp_path: Path):
    found = []
    for number, where in enumerate((url, f"sqlite:///{tmp_path / 'other.db'}")):
        world = World(where)
        people = world.annotators(2)
        world.lay_out(tasks_of(4) if number else tasks_of(5)[:0:-1] + tasks_of(1))
        digests = {world.store.votes_digest("p")}
        for person in people[:: 1 if number else -1]:
            for task in tasks_of(4):
                world.submit(person, task, sound=1)
                digests.add(world.store.votes_digest("p"))
        assert len(digests) == 9
        world.submit(people[0], tasks_of(1)[0], sound=0)
        digests.add(world.store.votes_digest("p"))
        assert len(digests) == 10
        world.submit(people[0], tasks_of(1)[0], sound=1)
        found.append(world.store.votes_digest("p"))
        world.lay_out([])
        found.append(world.store.votes_digest("p"))
        world.store.close()
    assert len(set(found)) == 1


def test_the_project_owner_sees_the_progress_of_everybody(world: World):
    first, second = world.annotators(2)
    judge = world.invite("仲裁", "adjudicator")
    gold = [task_of(90 + number, expected={"sound": 1, "degree": 0.8}) for number in range(2)]
    world.lay_out(tasks_of(3) + gold, spec_of("sound", "degree", min_seconds=20))
    for task, seconds in ((tasks_of(1)[0], 30), (gold[0], 5)):
        world.open(first, task)
        world.clock.tick(seconds=seconds)
        world.submit(first, task, sound=1, degree=0.6)
    world.submit(second, tasks_of(1)[0], sound=0, degree=0.6)
    found = world.store.staff_progress("p")
    assert (found.tasks, found.complete, found.gold_tasks, found.retired, found.disputes, found.unassigned) == (
        3,
        1,
        2,
        0,
        1,
        0,
    )
    one, two, three = found.people
    assert (one.person.code, one.seconds, one.progress.done) == ("A1", (30, 5), 2)
    assert one.gold == GoldAccuracy(correct=2, judged=2)
    assert (two.progress.done, two.gold) == (1, GoldAccuracy())
    assert three.person == judge
    assert three.progress.open == 1
    with pytest.raises(DataError, match="there is no project"):
        world.store.staff_progress("q")
