import pickle
import random

import pytest
from filled_sheets import write_sample_votes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judged_world import World, candidate, paragraphs

from benchbuilder.annotation import candidate_evidence
from benchbuilder.annotation.aggregate import aggregate_votes, count_missing
from benchbuilder.annotation.backends.sheets import SheetsSpec
from benchbuilder.annotation.base import AnnotatorInstructions, NoBackendSpec, Votes
from benchbuilder.annotation.sheets.reading import SheetContents, read_vote_sheet
from benchbuilder.annotation.tasks import judgement_requests, make_candidate_tasks
from benchbuilder.config.spec.base import FileRef
from benchbuilder.core.errors import DataError, RecipeError, WaitingForPeople
from benchbuilder.steps.annotate import Annotate, AnnotateSpec


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def yes(person, row, paragraph, question):
    return 1


def test_without_votes_packets_go_out_and_the_build_waits(world):
    waiting = world.waiting()
    assert waiting.missing == {"a: claim": 25, "a: evidence": 20, "b: claim": 25, "b: evidence": 20}
    assert waiting.what == (
        "90 judgements are missing: a 25 on questions and 20 on paragraphs, b 25 on questions and 20 on paragraphs"
    )
    assert "annotation/to_fill" in waiting.where
    assert "put them into annotation/filled, and run the same command again" in waiting.next
    packets = sorted(file.name for file in (world.folder / "annotation" / "to_fill").iterdir())
    assert [name.split("-")[0] + name[-4:] for name in packets if not name.startswith(".")] == [
        "a.csv", "axlsx", "b.csv", "bxlsx",
    ]  # fmt: skip
    opened, said = world.packet("a")
    assert len(opened) == 25
    for row in world.candidates:
        assert row.context + row.question in said
        assert row.answer_wrong in said
        for hidden in (row.partition, row.origin.file, row.id, "yes"):
            assert hidden not in said
    assert "9.5" not in said  # no scores


def test_packets_are_equal_from_run_to_run(world, tmp_path_factory):
    other = World(tmp_path_factory.mktemp("other"))
    other.candidates.reverse()
    other.evidence.reverse()
    for place in (world, world, other):
        place.waiting()
    files = [{f.name: f.read_bytes() for f in (w.folder / "annotation" / "to_fill").iterdir()} for w in (world, other)]
    assert files[0] == files[1]


def test_nobody_is_asked_about_a_wrong_answer_that_is_not_there(world):
    bare = candidate(1, answer_wrong="")
    world.candidates[1] = bare
    world.evidence = [row for one in world.candidates for row in paragraphs(one)]
    assert world.waiting().missing == {"a: claim": 24, "a: evidence": 20, "b: claim": 24, "b: evidence": 20}
    opened, _ = world.packet("a")
    assert sorted(map(len, opened.values()))[20:] == [4, 5, 5, 5, 5]
    world.votes(yes)
    items, _, notes = world.run()
    assert bare.id in [item.candidate for item in items]
    assert [row["dropped"] for row in notes["gates"]] == [0] * 6
    assert notes["questions"]["wrong_is_wrong"]["judged"] == 4


def test_partial_votes_are_counted_and_only_the_rest_is_asked(world):
    world.votes(yes, only=("a",))
    assert world.waiting().missing == {"b: claim": 25, "b: evidence": 20}
    first = world.candidates[0].id
    world.votes(lambda p, row, e, q: 1 if p == "a" or (row.id == first and q != "fluent") else None)
    assert world.waiting().missing == {"b: claim": 21, "b: evidence": 16}
    opened, _ = world.packet("b")
    assert ["fluent"] in opened.values()
    assert not list((world.folder / "annotation" / "to_fill").glob("a-*"))


def test_the_adjudicator_is_asked_only_where_they_differ(world):
    odd, even = world.candidates[1], world.candidates[2]
    doubted = next(e for e in world.evidence if e.of == even.id)

    def judge(person, row, paragraph, question):
        if person == "meta":
            return None
        differs = (row.id == odd.id and question == "accurate_answer") or (
            paragraph is not None and paragraph.id == doubted.id
        )
        return int(not (differs and person == "b"))

    world.votes(judge)
    waiting = world.waiting()
    assert waiting.missing == {"meta: claim": 1, "meta: evidence": 1}
    opened, said = world.packet("meta")
    # the claim of the doubted paragraph is shown, with nothing to fill in
    assert sorted(opened.values()) == [[], ["accurate_answer"], ["supports"]]
    assert doubted.text in said
    assert not list((world.folder / "annotation" / "to_fill").glob("[ab]-*"))


def test_complete_votes_make_items_with_supporting_paragraphs_only(world):
    wrong, thin, clumsy = world.candidates[1:4]

    def judge(person, row, paragraph, question):
        if row.id == wrong.id and question == "accurate_answer":
            return int(person == "a")  # they differ, and meta says 0
        if row.id == thin.id and question == "supports":
            return int(paragraph.rank == 1)
        if row.id == clumsy.id and question == "fluent":
            return 0
        return int(not (question == "supports" and paragraph.rank == 2 and paragraph.base == "百科"))

    world.waiting()
    world.votes(judge)
    items, outcomes, notes = world.run()
    assert [item.candidate for item in items] == [world.candidates[0].id, world.candidates[4].id]
    assert all(item.reviewed for item in items)
    assert [(support.base, support.rank) for support in items[0].payload.evidence] == [
        ("教科书", 1), ("教科书", 2), ("百科", 1),
    ]  # fmt: skip
    used = {e.id for e in world.evidence if e.id in items[0].parents}
    assert len(used) == 3
    assert (outcomes[wrong.id]["reason"], outcomes[wrong.id]["detail"]) == ("not_accurate_answer", "adjudicated")
    assert outcomes[thin.id]["reason"] == "too_little_evidence"
    assert outcomes[thin.id]["detail"] == "2 supporting paragraphs, 3 needed"
    assert (outcomes[clumsy.id]["reason"], outcomes[clumsy.id]["detail"]) == ("not_fluent", "unanimous")
    left = {e.id: outcomes[e.id]["reason"] for e in world.evidence if e.id in outcomes}
    assert sorted(set(left.values())) == ["candidate_dropped", "not_supporting"]
    assert not (world.folder / "annotation" / "to_fill").exists()
    check_notes(notes)


def check_notes(notes):
    assert notes["reviewed"] is True
    # a and b: 25 claims + 20 paragraphs each; meta: one
    assert notes["votes"] == {
        "annotators": {"a": 45, "b": 45, "meta": 1}, "unanimous": 44, "adjudicated": 1, "unneeded": 0, "stale": 0,
        "stale_by_file": {},
    }  # fmt: skip
    agreed = notes["agreement"]
    assert list(agreed) == [
        "single_answer", "norm", "accurate_answer", "supports", "fluent", "wrong_is_wrong",
    ]  # fmt: skip
    assert agreed["single_answer"]["kappa"] == {"undefined": "undefined: both annotators gave only 1"}
    assert agreed["accurate_answer"]["percent"]["value"] == 0.8
    assert agreed["accurate_answer"]["raters"] == 2
    assert (agreed["supports"]["n"], agreed["supports"]["clusters"]) == (20, 5)
    assert [row["kept"] for row in notes["thresholds"]] == [3, 3, 3, 2, 0, 0, 0]
    assert notes["thresholds"][3]["by_partition"] == {"bios": 0, "medqa": 2}
    assert notes["thresholds"][3]["without"]["fluent"] == 3
    assert notes["gates"][-2:] == [
        {"gate": "fluent", "dropped": 1, "kept": 2}, {"gate": "wrong_is_wrong", "dropped": 0, "kept": 2},
    ]  # fmt: skip
    assert notes["questions"]["supports"]["judged"] == 20


def test_a_changed_statement_loses_its_own_votes_only(world):
    world.votes(yes)
    world.run()
    world.candidates[0] = candidate(0, answer="产后出血是丙。")
    world.evidence[:4] = paragraphs(world.candidates[0])
    waiting = world.waiting()
    assert waiting.missing == {"a: claim": 5, "a: evidence": 4, "b: claim": 5, "b: evidence": 4}
    # its old votes are reported, not used
    assert waiting.why == "18 votes are about something that is no longer shown and do not count"


def test_more_paragraphs_ask_only_about_the_new_ones(world):
    world.votes(yes)
    world.evidence = [row for c in world.candidates for row in paragraphs(c, 6)]
    assert world.waiting().missing == {"a: evidence": 10, "b: evidence": 10}
    opened, _ = world.packet("a")
    assert sorted(map(len, opened.values())) == [0] * 5 + [1] * 10


def test_a_reworded_question_is_asked_anew_and_a_removed_one_leaves_stale_votes(world):
    world.votes(yes)
    raw = world.spec.model_dump()
    raw["questions"]["fluent"]["text"] += "请再读一遍。"
    world.spec = SheetsSpec.model_validate(raw)
    assert world.waiting().missing == {"a: claim": 5, "b: claim": 5}
    raw["questions"]["fluent"] = None
    world.spec = SheetsSpec.model_validate(raw)
    items, _, notes = world.run()
    assert len(items) == 5
    assert notes["votes"]["stale"] == 10
    assert notes["votes"]["stale_by_file"] == {"annotation/filled/a.csv": 5, "annotation/filled/b.csv": 5}


def test_thresholds_are_recipe_data(world):
    world.votes(lambda p, row, e, q: int(q != "supports" or e.rank == 1))
    assert world.run()[0] == []
    world.spec = world.spec.model_copy(update={"min_evidence": 2})
    assert len(world.run()[0]) == 5


def test_votes_that_the_recipe_ships(world):
    world.votes(yes, where="shipped")
    ship = FileRef(path="sample/votes", resolved_path=str(world.folder / "annotation" / "shipped"))
    world.spec = world.spec.model_copy(update={"votes": ship})
    assert len(world.run()[0]) == 5
    before = world.stage().external_inputs()
    assert sorted(before) == ["sample/votes/a.csv", "sample/votes/b.csv", "sample/votes/meta.csv"]
    late = world.folder / "annotation" / "filled" / "round 2" / "a.csv"
    late.parent.mkdir(parents=True)
    late.write_bytes((world.folder / "annotation" / "shipped" / "a.csv").read_bytes())
    (late.parent / "~$a.xlsx").write_bytes(b"lock")
    assert set(world.stage().external_inputs()) - set(before) == {"annotation/filled/round 2/a.csv"}
    assert len(world.run()[0]) == 5  # the same vote twice counts once
    missing = world.spec.model_copy(update={"votes": FileRef(path="nowhere")})
    with pytest.raises(DataError, match=r"annotation\.votes: nowhere is missing"):
        world.stage(missing).external_inputs()


def test_contradictions_and_foreign_files_are_errors(world):
    world.votes(yes)
    world.votes(lambda p, row, e, q: int(q != "fluent"), where="filled/later", only=("a",))
    (world.folder / "annotation" / "filled" / "b.ods").write_bytes(b"x")
    (world.folder / "annotation" / "filled" / "README.md").write_bytes(b"x")
    with pytest.raises(DataError) as caught:
        world.run()
    error = caught.value
    assert error.what == "the annotation sheets cannot be used: 6 problems"
    assert "annotation/filled/b.ods: annotation sheets are .xlsx or .csv" in error.why
    assert error.why.count("a says 0, but 1 at annotation/filled/a.csv:") == 5


def test_columns_sorted_without_their_keys_are_an_error(world):
    world.votes(yes)
    path = world.folder / "annotation" / "filled" / "a.csv"
    head, *lines = path.read_text("utf-8-sig").splitlines()
    keys = [line[-21:] for line in lines]
    moved = [line[:-21] + key for line, key in zip(lines, [*keys[1:], keys[0]], strict=True)]
    path.write_text("\n".join([head, *moved]), "utf-8")
    with pytest.raises(DataError, match="25 problems"):
        world.run()


def test_texts_can_be_left_out_of_shipped_votes(world):
    folder = world.folder / "annotation" / "filled"
    write_sample_votes(world.candidates, world.evidence, world.spec, yes, folder, seed=5, with_texts=False)
    assert "是乙" not in (folder / "a.csv").read_text("utf-8-sig")
    assert len(world.run()[0]) == 5


def test_comments_reach_the_notes(world):
    world.votes(yes)
    path = world.folder / "annotation" / "filled" / "a.csv"
    head, first, *rest = path.read_bytes().decode("utf-8-sig").split("\r\n")
    first = first.replace(",,a,", ",'=见指南,a,") if ",,a," in first else first
    path.write_text("\r\n".join([head, first, *rest]), encoding="gb18030", newline="")
    (comment,) = world.run()[2]["comments"]
    assert (comment["annotator"], comment["text"]) == ("a", "=见指南")


def test_paragraphs_that_read_the_same_are_judged_and_counted_once(world):
    twin = paragraphs(world.candidates[0], texts=["甲段。", "甲段。", "乙段。"])
    world.evidence[:4] = twin
    assert world.waiting().missing["a: evidence"] == 18
    world.votes(yes)
    _, outcomes, _ = world.run()
    assert outcomes[world.candidates[0].id]["detail"] == "2 supporting paragraphs, 3 needed"
    world.spec = world.spec.model_copy(update={"min_evidence": 2})
    items, outcomes, _ = world.run()
    assert len(items[0].payload.evidence) == 2
    assert [outcomes[e.id]["reason"] for e in twin if e.id in outcomes] == ["repeated_paragraph"]


def test_the_best_paragraphs_of_any_base_are_shown_first(world):
    rows = [row.model_copy(update={"score": score}) for row, score in
            zip(paragraphs(world.candidates[0]), (1.0, 4.0, 2.0, 0.5), strict=True)]  # fmt: skip
    named = rows[3].model_copy(update={"rank": 0})
    (task,) = make_candidate_tasks(world.candidates[:1], [*rows[:3], named]).tasks
    assert [shown.text for shown in task.paragraphs] == [rows[n].text for n in (3, 1, 2, 0)]


def test_candidates_that_look_the_same_are_judged_once(world):
    same = candidate(0, of="question-9", parents=("question-9",))
    world.candidates.append(same)
    world.evidence += paragraphs(same)
    assert world.waiting().missing["a: claim"] == 25
    world.votes(yes)
    assert len(world.run()[0]) == 6


def test_nobody_is_asked(world):
    world.evidence.append(paragraphs(candidate(77), 1)[0])
    items, outcomes, notes = world.run(world.stage(NoBackendSpec(kind="none")))
    assert [item.reviewed for item in items] == [False] * 5
    assert all(len(item.payload.evidence) == 4 for item in items)
    assert outcomes[world.evidence[-1].id]["reason"] == "without_candidate"
    assert notes == {"reviewed": False}
    assert not (world.folder / "annotation").exists()
    assert not any(name.startswith("not_s") and name != "not_supporting"
                   for name in world.stage(NoBackendSpec(kind="none")).reasons)  # fmt: skip


def test_reasons_follow_the_gates(world):
    reasons = world.stage().reasons
    assert {"not_single_answer", "not_fluent", "too_little_evidence", "candidate_dropped"} <= set(reasons)
    assert "not_supports" not in reasons
    assert "最多只有一个正确答案" in reasons["not_single_answer"]


def test_a_step_without_votes_is_a_wrong_recipe(world):
    with pytest.raises(RecipeError, match="1 problem") as caught:
        Annotate(AnnotateSpec(kind="annotate", from_={"each": ("c",)}), world.stage().context)
    assert caught.value.problems[0].key == "steps.items.votes"


def test_a_packet_filled_in_where_it_lies_is_left_alone(world):
    world.waiting()
    (file,) = (world.folder / "annotation" / "to_fill").glob("a-*.csv")
    filled = file.read_bytes() + b"\r\n"
    file.write_bytes(filled)
    waiting = world.waiting()
    assert file.read_bytes() == filled
    assert f"{file.name} in annotation/to_fill changed since written" in waiting.why


def test_a_whole_life_in_xlsx(world):
    """People fill in the very workbooks that they got, in two rounds."""
    import openpyxl

    def fill_in(person, value):
        (file,) = (world.folder / "annotation" / "to_fill").glob(f"{person}-*.xlsx")
        book = openpyxl.load_workbook(file)
        work = book.worksheets[0]
        titles = [cell.value for cell in work[1]]
        for line in work.iter_rows(min_row=2):
            for title, cell in zip(titles, line, strict=True):
                if "[q:" in title and not cell.protection.locked:
                    cell.value = value(title)
        book.save(world.folder / "annotation" / "filled" / file.name)

    world.waiting()
    fill_in("a", lambda title: 1)
    fill_in("b", lambda title: int("fluent" not in title))
    assert world.waiting().missing == {"meta: claim": 5}
    fill_in("meta", lambda title: 1)
    items, _, notes = world.run()
    assert len(items) == 5
    assert notes["votes"]["adjudicated"] == 5
    assert notes["agreement"]["fluent"]["kappa"]["value"] == 0.0


class Cast:
    """Votes that stand in memory."""

    def __init__(self, judging, votes):
        self.annotation_spec, self.cast = judging, votes

    def external_inputs(self, workplace):
        return {}

    def collect(self, subjects, workplace):
        return ballot_of(self.annotation_spec, self.cast)

    def ask(self, tasks, ballot, wanted, context):
        return AnnotatorInstructions(count_missing(wanted, "annotators", "adjudicator"), "here", "judge")


def ballot_of(spec, cast):
    ballot = Votes()
    for subject, votes in cast.items():
        for person, value in votes.items():
            spec.record_vote(ballot, subject, person, value)
    return ballot


@pytest.mark.full
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_every_candidate_has_one_outcome_and_every_paragraph_one_use(tmp_path, data):
    world = World(tmp_path, count=data.draw(st.integers(1, 4)), min_evidence=data.draw(st.integers(0, 4)))
    texts = st.lists(st.sampled_from(["甲。", "乙。", "丙。"]), min_size=1, max_size=4)
    world.evidence = [row for c in world.candidates for row in paragraphs(c, texts=data.draw(texts))]
    world.evidence += paragraphs(candidate(50), data.draw(st.integers(0, 1)))
    asked = judgement_requests(make_candidate_tasks(world.candidates, world.evidence).tasks, world.spec)
    mostly = st.sampled_from([1, 1, 1, 1, 1, 0])
    complete = data.draw(st.booleans())
    votes = {}
    for subject in asked:
        given_votes = {person: data.draw(mostly) for person in world.spec.people()}
        if not complete:
            absent = data.draw(st.sets(st.sampled_from(world.spec.people())))
            given_votes = {person: value for person, value in given_votes.items() if person not in absent}
        votes[subject] = given_votes
    stage = world.stage()
    stage.backend = Cast(world.spec, votes)
    if aggregate_votes(asked, ballot_of(world.spec, votes), world.spec).missing(asked):
        assert not complete
        with pytest.raises(WaitingForPeople):
            world.run(stage)
        return
    items, outcomes, notes = world.run(stage)  # settles the accounts, and refuses what does not balance
    dropped = [line for line in outcomes.values() if line["outcome"] == "dropped"]
    assert len(items) + len(dropped) == len(world.candidates)
    used = [e.id for e in world.evidence if any(e.id in item.parents for item in items)]
    unused = [row for row, line in outcomes.items() if line["outcome"] == "unused"]
    assert sorted(used + unused) == sorted(e.id for e in world.evidence)
    assert all(len(item.payload.evidence) >= world.spec.min_evidence for item in items)
    assert notes["gates"][-1]["kept"] == len(items)
    at = [row["kept"] for row in notes["thresholds"] if row["min_evidence"] == world.spec.min_evidence]
    assert at == [len(items)]


def test_empty_in_empty_out(world):
    world.candidates, world.evidence = [], []
    items, outcomes, notes = world.run(pickle.loads(pickle.dumps(world.stage())))
    assert items == []
    assert outcomes == {}
    assert "nothing that two annotators judged" in notes["agreement"]["fluent"]["ac1"]["undefined"]


def test_gb18030_as_a_chinese_excel_saves_it(world):
    world.votes(yes)
    for path in (world.folder / "annotation" / "filled").glob("*.csv"):
        path.write_bytes(path.read_text("utf-8-sig").encode("gb18030"))
        reading = SheetContents(world.spec.people(), {})
        read_vote_sheet(path.name, path.read_bytes(), reading)
        assert reading.problems == []
    assert len(world.run()[0]) == 5


def test_a_pilot_round_asks_about_a_sample_and_drops_the_rest(world):
    stage = world.stage()
    stage.spec = stage.spec.model_copy(update={"sample": 3})
    with pytest.raises(WaitingForPeople) as waiting:
        world.run(stage)
    assert waiting.value.missing["a: claim"] == 3 * 5
    world.votes(yes)
    items, outcomes, notes = world.run(stage)
    dropped = [line["reason"] for row, line in outcomes.items() if line["outcome"] == "dropped"]
    assert dropped == ["outside_sample"] * 2
    assert len(items) == 3
    assert {item.partition for item in items} == {"medqa", "bios"}
    assert notes["votes"]["stale"] > 0  # those on the other two, given in advance
    unused = [line["reason"] for line in outcomes.values() if line["outcome"] == "unused"]
    assert unused == ["candidate_dropped"] * 8


def test_a_family_falls_as_a_whole_if_the_recipe_says_so(world):
    """What is left of a family tells a little about its verdicts: its answer is right once and wrong never."""
    families = ("family-1", "family-1", "family-2", "family-2", "")
    world.candidates = [
        row.model_copy(update={"family": family}) for row, family in zip(world.candidates, families, strict=True)
    ]
    doubted = world.candidates[0].id
    world.votes(lambda person, row, paragraph, question: int(not (row.id == doubted and question == "wrong_is_wrong")))
    assert len(world.run()[0]) == 4
    stage = world.stage()
    stage.spec = stage.spec.model_copy(update={"whole_families": True})
    items, outcomes, _ = world.run(stage)
    assert len(items) == 3
    reasons = sorted(line["reason"] for line in outcomes.values() if line["outcome"] == "dropped" and line["reason"])
    assert "family_incomplete" in reasons


def test_a_sample_divides_no_family(world):
    world.candidates = [row.model_copy(update={"family": "family-1"}) for row in world.candidates]
    stage = world.stage()
    stage.spec = stage.spec.model_copy(update={"sample": 3})
    with pytest.raises(WaitingForPeople) as waiting:
        world.run(stage)
    assert waiting.value.missing["a: claim"] == 5 * 5


def test_any_number_of_candidates_at_a_time_gives_the_same(world, monkeypatch):
    """The evidence of a candidate may stand anywhere in its table."""
    doubted = {row.id for row in world.evidence[::3]}
    world.votes(lambda person, row, paragraph, question: int(paragraph is None or paragraph.id not in doubted))
    stage = world.stage()
    stage.spec = stage.spec.model_copy(update={"sample": 4})
    items, outcomes, notes = world.run(stage)
    assert any(len(item.payload.evidence) < 4 for item in items)
    random.Random(1).shuffle(world.evidence)
    for size in (1, 2):
        monkeypatch.setattr(candidate_evidence, "_WINDOW_ROWS", size)
        again = world.run(stage)
        assert again == (items, outcomes, notes)
