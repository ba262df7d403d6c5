"""Rows with a payload that people judge: gates, a choice of the lowest, places of several steps, files and app."""

import csv
import json

import pytest
from files_spec import raw_files
from filled_sheets import write_sample_row_votes

from benchbuilder.annotation.backends.app import AppSpec
from benchbuilder.annotation.backends.sheets import SheetsSpec
from benchbuilder.annotation.base import NoBackendSpec
from benchbuilder.annotation.database.models import Submission
from benchbuilder.annotation.database.project_setup import CLAIMS_PROJECT, open_annotation_store
from benchbuilder.annotation.tasks import judgement_requests
from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import RecipeError, WaitingForPeople
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Choice, Claim, Fact, Item, Option, Triple
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.core.registry import row_name
from benchbuilder.pipeline.accounting.gathers import account_gather
from benchbuilder.steps.vote import VoteOnRows, VoteSpec
from benchbuilder.testing import check_step

ROW = {"origin": Origin(file="chats.csv", line=1), "produced_by": ProducedBy(rule="test"), "language": "en"}
SCALE = {n: f"rank {n}" for n in range(1, 8)}
WRONG = {"order": 1, "label": "Wrong", "text": "Is the answer wrong?"}
RATING = {"order": 2, "label": "Sense", "text": "How much sense does it make?", "answer": "scale", "options": SCALE}
LABELS = {"sheet": "Sheet", "guide": "Guide", "item": "No", "note": "Note", "annotator": "Who", "key": "Key",
          "instructions": []}  # fmt: skip
JUDGED = {
    "questions": {"wrong": WRONG, "sense": RATING}, "rule": "mean", "keep": {"wrong": 1},
    "fields": {"question": "Question", "answer": "Answer", "context": None},
    "bootstrap": {"samples": 100, "level": 0.95, "seed": 1},
}  # fmt: skip
LOWEST = {"question": "sense", "which": "lowest", "n": 2}


def files(**changes):
    return SheetsSpec.model_validate(
        {"kind": "sheets", "annotators": ["a", "b", "c"], "labels": LABELS, **JUDGED, **changes}
    )


def app(**changes):
    given = {"kind": "app", "per_task": 2, "title": "T", "heading": "H", "paragraph": "P", **JUDGED, **changes}
    return AppSpec.model_validate(given)


def items(count=6):
    payloads = [
        Claim(type="oe", question=f"What is {n}?", answer=f"It is {n}.", answer_wrong="secret", context="hidden")
        for n in range(count)
    ]
    made = {**ROW, "partition": "tampered", "candidate": "", "fact": "", "reviewed": False}
    return [Item[Claim].build(payload=payload, **made) for payload in payloads]


def stage(folder, votes=None, step="confirm", **spec):
    context = StepContext(seed=5, language="en", step=step, cache=folder / "cache", workplace=folder / "annotation")
    given = {"kind": "vote", "from": "rows", "votes": votes or files(), **spec}
    return VoteOnRows(VoteSpec.model_validate(given), context)


def run(made, rows, row=Item[Claim]):
    tables = {"each": Table.of(rows, row)}
    gathered = made.gather(tables)
    json.dumps(gathered.notes)
    shard = account_gather(made, tables, gathered, row)
    return list(shard.rows), {line["row"]: line for line in shard.outcomes.to_pylist()}, gathered.notes


def number(row):
    return int(row.payload.question.strip("What is?"))


def judge(person, row, question):
    """Rows 0 to 4 are wrong, of which c thinks otherwise of 4; sense is 7 less the number, a bit higher by a."""
    n = number(row)
    if question == "wrong":
        return int(n <= 4 and not (n == 4 and person == "c"))
    return min(7, 7 - n + (person == "a"))


def test_packets_go_out_by_step_and_show_just_the_fields(tmp_path):
    with pytest.raises(WaitingForPeople) as caught:
        run(stage(tmp_path), items())
    waiting = caught.value
    assert waiting.missing == {"a: claim": 12, "b: claim": 12, "c: claim": 12}
    assert waiting.what == "36 judgements are missing: a 12 on rows, b 12 on rows, c 12 on rows"
    assert "annotation/confirm/to_fill" in waiting.where
    assert "put them into annotation/confirm/filled" in waiting.next
    (sheet,) = (tmp_path / "annotation" / "confirm" / "to_fill").glob("a-*.csv")
    with sheet.open(encoding="utf-8-sig", newline="") as stream:
        head, *lines = list(csv.reader(stream))
    assert [cell.partition(" [q:")[0] for cell in head] == [
        "No [item]", "Question [text]", "Answer [f:answer]", "Wrong", "Sense", "Note [note]", "Who [annotator]",
        "Key [key]",
    ]  # fmt: skip
    told = " ".join(" ".join(line) for line in lines)
    assert {line[1] for line in lines} == {f"What is {n}?" for n in range(6)}
    assert not {"secret", "hidden", "tampered"} & set(told.split())


def test_gates_then_the_lowest_are_chosen(tmp_path):
    rows = items()
    write_sample_row_votes(rows, files(), judge, tmp_path / "annotation" / "confirm" / "filled", seed=5)
    kept, outcomes, notes = run(stage(tmp_path, choose=LOWEST), rows)
    assert [number(row) for row in kept] == [3, 4]  # the majority says that 4 is wrong, too
    assert all(row.reviewed for row in kept)
    assert {row.of for row in kept} <= {row.id for row in rows}
    reasons = {number(row): (outcomes[row.id]["reason"], outcomes[row.id]["detail"]) for row in rows}
    assert reasons[5] == ("not_wrong", "mean of all")
    assert reasons[2] == ("not_chosen", "sense is 5.33333")
    assert reasons[0][0] == reasons[1][0] == "not_chosen"
    assert notes["reviewed"] is True
    assert notes["gates"] == [{"gate": "wrong", "dropped": 1, "kept": 5}]
    assert notes["chosen"] == {**LOWEST, "of": 5, "last": pytest.approx(4.333333)}
    assert notes["agreement"]["wrong"]["n"] == 6
    assert notes["agreement"]["sense"]["scale"] == "ordinal"
    assert notes["votes"]["annotators"] == {"a": 12, "b": 12, "c": 12}


@pytest.mark.parametrize(("which", "numbers"), [("lowest", {4, 5}), ("highest", {0, 1})])
def test_lowest_and_highest(tmp_path, which, numbers):
    rows, spec = items(), files(keep={})
    write_sample_row_votes(
        rows, spec, lambda *given: judge("b", *given[1:]), tmp_path / "annotation" / "confirm" / "filled", seed=5
    )
    kept, *_ = run(stage(tmp_path, spec, choose={**LOWEST, "which": which}), rows)
    assert {number(row) for row in kept} == numbers


def test_people_must_agree_with_what_each_row_says_of_itself(tmp_path):
    """Rows 0 to 3 say that they are wrong, 4 and 5 that they are not: people who do not see it find 0 to 4 wrong."""
    made = {**ROW, "partition": "mixed", "candidate": "", "fact": "", "reviewed": False}
    rows = [
        Item[Claim].build(
            payload=Claim(type="tf", expected="yes" if n <= 3 else "no", question=f"What is {n}?", answer=f"It is {n}.",
                          answer_wrong="secret"),
            **made,
        )
        for n in range(6)
    ]  # fmt: skip
    spec, agree = files(keep={}), {"wrong": "payload.expected"}
    write_sample_row_votes(rows, spec, judge, tmp_path / "annotation" / "confirm" / "filled", seed=5)
    kept, outcomes, notes = run(stage(tmp_path, spec, agree=agree), rows)
    assert [number(row) for row in kept] == [0, 1, 2, 3, 5]
    assert outcomes[rows[4].id]["reason"] == "disagrees"
    assert outcomes[rows[4].id]["detail"] == "wrong is 1, and payload.expected is no"
    assert notes["gates"] == [{"gate": "wrong", "dropped": 1, "kept": 5}]


@pytest.mark.parametrize(
    ("agree", "why"),
    [({"sense": "payload.expected"}, "yes or no"), ({"wrong": "payload.truth"}, "no such column")],
)
def test_agreement_needs_a_question_and_a_column(tmp_path, agree, why):
    (issue,) = stage(tmp_path, agree=agree).validate_inputs({"each": Item[Claim]})
    assert why in issue.message


def test_ties_go_by_id_whatever_the_order_of_rows(tmp_path):
    rows, spec = items(), files(keep={})
    write_sample_row_votes(rows, spec, lambda *_: 1, tmp_path / "annotation" / "confirm" / "filled", seed=5)
    for order in (rows, rows[::-1]):
        kept, *_ = run(stage(tmp_path, spec, choose=LOWEST), order)
        assert {row.of for row in kept} == set(sorted(row.id for row in rows)[:2])


def test_fewer_rows_than_wanted_all_go_on(tmp_path):
    rows, spec = items(2), files(keep={})
    write_sample_row_votes(rows, spec, judge, tmp_path / "annotation" / "confirm" / "filled", seed=5)
    kept, _, notes = run(stage(tmp_path, spec, choose={**LOWEST, "n": 9}), rows)
    assert len(kept) == 2
    assert notes["chosen"]["of"] == 2


def test_nobody_is_asked(tmp_path):
    rows = items()
    kept, _, notes = run(stage(tmp_path, NoBackendSpec(kind="none"), ways={"sheets": files()}, choose=LOWEST), rows)
    assert [row.of for row in kept] == [row.id for row in rows]
    assert not any(row.reviewed for row in kept)
    assert notes == {"reviewed": False}
    assert not (tmp_path / "annotation").exists()
    write_sample_row_votes(rows, files(keep={}), judge, tmp_path / "annotation" / "confirm" / "filled", seed=5)
    reviewed, *_ = run(stage(tmp_path, files(keep={})), rows)
    assert [row.id for row in reviewed] == [row.id for row in kept]  # an item is the same, reviewed or not


def test_facts_pass_as_they_are(tmp_path):
    options = (Option(key="A", text="x"), Option(key="B", text="y"))
    facts = [
        Fact[Choice].build(payload=Choice(question=f"What is {n}?", options=options, answer_key="A", answer="x"),
                           partition="exam", **ROW)
        for n in range(4)
    ]  # fmt: skip
    spec = files()
    write_sample_row_votes(facts, spec, judge, tmp_path / "annotation" / "confirm" / "filled", seed=5)
    kept, *_ = run(stage(tmp_path, spec), facts, Fact[Choice])
    assert kept == facts


def test_rows_that_look_the_same_are_judged_once(tmp_path):
    rows = items(2)
    twin = Item[Claim].build(payload=rows[0].payload, candidate="", fact="", reviewed=False, partition="other", **ROW)
    write_sample_row_votes([*rows, twin], files(), judge, tmp_path / "annotation" / "confirm" / "filled", seed=5)
    kept, _, notes = run(stage(tmp_path), [*rows, twin])
    assert len(kept) == 3
    assert notes["agreement"]["wrong"]["n"] == 2


def test_two_steps_keep_apart_in_files(tmp_path):
    rows = items()
    other = files(questions={"wrong": {**WRONG, "text": "Is it right?"}, "sense": None})
    for step, spec in (("confirm", files()), ("rate", other)):
        with pytest.raises(WaitingForPeople):
            run(stage(tmp_path, spec, step=step), rows)
    write_sample_row_votes(rows, files(), judge, tmp_path / "annotation" / "confirm" / "filled", seed=5)
    with pytest.raises(WaitingForPeople) as caught:
        run(stage(tmp_path, other, step="rate"), rows)
    assert not caught.value.why  # votes of the other step are none of its business
    assert len(list((tmp_path / "annotation" / "rate" / "to_fill").glob("*.csv"))) == 3
    kept, _, notes = run(stage(tmp_path), rows)
    assert len(kept) == 5
    assert notes["votes"]["stale"] == 0
    assert not (tmp_path / "annotation" / "confirm" / "to_fill").exists()
    assert stage(tmp_path).external_inputs() != stage(tmp_path, step="rate").external_inputs()


def test_two_steps_keep_apart_in_the_app(tmp_path):
    rows = items(3)
    for step in ("confirm", "rate"):
        with pytest.raises(WaitingForPeople) as caught:
            run(stage(tmp_path, app(), step=step), rows[: 3 if step == "confirm" else 2])
        assert "the review app" in caught.value.where
    with open_annotation_store(None, tmp_path / "annotation") as store:
        assert [project.name for project in store.projects()] == ["confirm", "rate"]
        assert CLAIMS_PROJECT not in [project.name for project in store.projects()]
        assert [len(store.tasks(name)) for name in ("confirm", "rate")] == [3, 2]
        task = store.tasks("confirm")[0][1]
        assert [name for name, _ in task.fields] == ["question", "answer"]
        for person in [store.invite(name, "annotator")[0] for name in ("ann", "bob")]:
            while (place := store.next_number(person, "confirm")) is not None:
                work = store.assignment(person, "confirm", place)
                n = int(dict(work.task.fields)["question"].strip("What is?"))
                asked = judgement_requests([work.task], app())
                values = {subject: 1 if what.question == "wrong" else 7 - n for subject, what in asked.items()}
                assert store.submit(person, work.task_id, Submission(values)) == "kept"
    kept, outcomes, notes = run(stage(tmp_path, app(), choose=LOWEST), rows)
    assert [number(row) for row in kept] == [1, 2]
    assert {outcomes[row.id]["reason"] for row in rows if number(row) == 0} == {"not_chosen"}
    assert notes["agreement"]["sense"]["n"] == 3
    with pytest.raises(WaitingForPeople):
        run(stage(tmp_path, app(), step="rate"), rows[:2])


def test_how_long_people_will_work_is_said_before_they_begin(tmp_path):
    def asks(**more):
        with pytest.raises(WaitingForPeople) as caught:
            run(stage(tmp_path, app(**more)), items(3))
        return caught.value.what

    assert asks(suggested_seconds=600).endswith("; about 1.0 hours of work, at 600 s a task")  # 3 tasks of 2 people
    assert asks(suggested_seconds=3600 * 4).endswith("; about 24 hours of work, at 14400 s a task")
    assert "hours" not in asks()
    with open_annotation_store(None, tmp_path / "annotation") as store:
        ann = store.invite("ann", "annotator")[0]
        place = store.next_number(ann, "confirm")
        assert place is not None
        work = store.assignment(ann, "confirm", place)
        values = dict.fromkeys(judgement_requests([work.task], app()), 1)
        assert store.submit(ann, work.task_id, Submission(values)) == "kept"
    assert "; about 0.8 hours" in asks(suggested_seconds=600)  # 5 of 6 are left


@pytest.mark.parametrize(
    ("spec", "key", "found"),
    [
        ({"votes": files(fields={"question": "Q", "nothing": "N"})}, "votes.fields", "nothing"),
        ({"ways": {"sheets": files(fields={"nothing": "N"})}}, "ways.sheets.fields", "nothing"),
        ({"choose": {**LOWEST, "question": "fun"}}, "choose.question", "fun"),
        ({"votes": files(min_evidence=1)}, "votes.min_evidence", "1"),
        (
            {"votes": files(questions={"wrong": WRONG, "supports": {**RATING, "subject": "evidence"}})},
            "votes.questions.supports.subject",
            "evidence",
        ),
        ({"votes": SheetsSpec.model_validate(raw_files())}, "votes.fields", "{}"),
    ],
)
def test_what_does_not_fit_is_told_before_any_row(tmp_path, spec, key, found):
    complaints = list(stage(tmp_path, **spec).validate_inputs({"each": Item[Claim]}))
    assert (key, found) in [(complaint.key, complaint.actual) for complaint in complaints]
    if found != "nothing":  # what a payload shows is told by its class alone
        made = stage(tmp_path, **spec)
        with pytest.raises(RecipeError, match="1 problem"):
            run(made, items(1))


def test_the_payload_says_what_may_be_shown(tmp_path):
    (complaint,) = stage(tmp_path, files(fields={"nothing": "N"})).validate_inputs({"each": Fact[Triple]})
    assert complaint.allowed == ("head", "tail", "head_terms", "tail_terms")
    assert row_name(Fact[Triple]) == "fact[triple]"


def test_ways_are_chosen_by_the_kind_of_the_recipes_votes(tmp_path):
    own = files(fields={"answer": "A"})
    made = stage(tmp_path, SheetsSpec.model_validate(raw_files()), ways={"sheets": own, "app": app()})
    assert made.backend.spec == own
    assert list(made.validate_inputs({"each": Item[Claim]})) == []
    with pytest.raises(RecipeError) as caught:
        stage(tmp_path, app(), ways={"sheets": own})
    assert caught.value.problems[0].key == "steps.confirm.ways"
    with pytest.raises(ValueError, match="name ways by their kinds"):
        VoteSpec.model_validate({"kind": "vote", "from": "rows", "ways": {"app": own}})


@pytest.mark.parametrize("name", ["votes", "packets", "to_fill", "filled", "export"])
def test_a_step_cannot_take_the_folder_of_others(tmp_path, name):
    with pytest.raises(RecipeError, match="1 problem"):
        stage(tmp_path, step=name)


def test_a_step_without_votes_is_a_wrong_recipe(tmp_path):
    context = StepContext(seed=1, language="en", step="confirm", cache=tmp_path, workplace=tmp_path)
    with pytest.raises(RecipeError) as caught:
        VoteOnRows(VoteSpec.model_validate({"kind": "vote", "from": "rows"}), context)
    assert caught.value.problems[0].key == "steps.confirm.votes"


def test_sheets_of_candidates_need_their_labels():
    with pytest.raises(ValueError, match="sheets of candidates need part, text, right"):
        files(fields={})
    with pytest.raises(ValueError, match="or write rule: mean"):
        files(rule="adjudicate")


def test_contract(tmp_path):
    rows = items()
    write_sample_row_votes(rows, files(), judge, tmp_path / "annotation" / "confirm" / "filled", seed=5)
    shard = check_step(lambda: stage(tmp_path, choose=LOWEST), {"each": Table.of(rows, Item[Claim])})
    assert len(shard.rows) == 2
