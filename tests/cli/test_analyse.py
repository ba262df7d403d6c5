"""``benchbuild analyse`` on the bundled sample, and the items that it sends back, as a review of their own."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
from html_page import Page
from once import EVALUATED, Once

from benchbuilder.annotation import row_decisions
from benchbuilder.cli.dispatch import main
from benchbuilder.testing import fake_openai_server

RECIPE = "recipe=care_mi"
ANALYSIS = Path("builds/care_mi/analysis")


@pytest.fixture(scope="module")
def evaluated(once: Once) -> Path:
    return once.after(EVALUATED)


@pytest.fixture
def here(evaluated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(evaluated, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.mark.full
@pytest.mark.usefixtures("here")
def test_the_sample_is_analysed_and_says_that_its_answers_are_made_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyse", RECIPE]) == 0
    said = capsys.readouterr().out
    assert "note: Illustrative: made from bundled sample data" in said
    assert "came with the sample. They are made up: no model gave them" in said
    assert "items are scored by ratings that came with the sample. They are made up." in said
    assert "5 models answered " in said
    assert "next: open builds/care_mi/analysis/analysis.html in a browser" in said
    assert "Difficulty alone is shown: 5 models have answers; 20 are needed" in said
    data = json.loads((ANALYSIS / "analysis.json").read_text("utf-8"))
    assert {"items", "wrong_answers", "to_experts", "difficulty", "groups", "subset"} <= set(data)
    assert data["illustrative"] is True
    assert "编造" in data["notes"][1]  # in the language of the recipe
    assert all(model["invented"] == (model["group"] != "rule") for model in data["models"])
    with (ANALYSIS / "models.csv").open(encoding="utf-8-sig", newline="") as stream:
        models = {row["model"]: row for row in csv.DictReader(stream)}
    assert models["model_jia"]["made_up"] == "yes"
    assert models["always_agree"]["made_up"] == ""
    with (ANALYSIS / "items.csv").open(encoding="utf-8-sig", newline="") as stream:
        answered = [row for row in csv.DictReader(stream) if row["n"]]
    assert {row["made_up"] for row in answered} == {"5"}
    sent = [json.loads(line) for line in (ANALYSIS / "to_experts.jsonl").read_text("utf-8").splitlines()]
    assert [row["suspicion"] for row in sent] == sorted((row["suspicion"] for row in sent), reverse=True)
    assert all(row["made_up"] == 5 and row["full-question"] and row["evidence"] for row in sent)
    page = Page((ANALYSIS / "analysis.html").read_text("utf-8"))
    assert {"analysis.zh.html", "../evaluation/results.html", "../report.html"} <= set(page.links)
    page = Page((ANALYSIS / "analysis.zh.html").read_text("utf-8"))
    assert page.text["items"].count("编造的回答") == 2  # at the map, and at its table
    assert {"analysis.html", "../evaluation/results.zh.html", "../report.zh.html"} <= set(page.links)
    assert page.ids.count(f"back-{len(sent)}") == 1
    before = {path.name: path.read_bytes() for path in ANALYSIS.iterdir()}
    assert main(["analyse", RECIPE]) == 0
    assert {path.name: path.read_bytes() for path in ANALYSIS.iterdir()} == before


@pytest.mark.push
@pytest.mark.usefixtures("here")
def test_without_answers_there_is_nothing_to_analyse(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree("builds/care_mi/evaluation")
    assert main(["analyse", RECIPE]) == 3
    assert "there are no answers to analyse" in capsys.readouterr().err


@pytest.mark.full
@pytest.mark.usefixtures("here")
def test_items_go_back_to_people_and_their_votes_become_reports(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["votes", "export", "csv", RECIPE, "--project", "flagged"]) == 3  # nothing was sent back yet
    assert "flagged: left out, benchbuild analyse has sent no items back yet" in capsys.readouterr().out
    assert main(["analyse", RECIPE]) == 0
    assert main(["votes", "decisions", RECIPE, "--project", "flagged"]) == 3  # no tasks
    assert main(["votes", "export", "csv", RECIPE, "--project", "flagged"]) == 0
    capsys.readouterr()
    first = json.loads((ANALYSIS / "to_experts.jsonl").read_text("utf-8").splitlines()[0])
    vote_on(first["id"])
    assert main(["votes", "decisions", RECIPE, "--project", "flagged"]) == 0
    said = capsys.readouterr().out
    assert ": 1 decided, " in said
    folder = Path("builds/care_mi/annotation/decisions/flagged")
    (report,) = [json.loads(line) for line in (folder / "reports.jsonl").read_text("utf-8").splitlines()]
    assert (report["item"], report["kind"]) == (first["id"], "wrong_key")
    assert "wrong_key, found by 2 people / 见教科书" in report["text"]
    assert main(["votes", "decisions", RECIPE, "--project", "claims"]) == 2


def vote_on(item: str) -> None:
    """Two people say that the key of an item is wrong, and nothing else."""
    from benchbuilder.annotation import open_annotation_store
    from benchbuilder.annotation.database.models import Submission
    from benchbuilder.annotation.tasks import judgement_requests

    with open_annotation_store(None, Path("builds/care_mi/annotation")) as store:
        people = [store.invite(name, "annotator")[0] for name in ("wang", "li")]
        project = store.project("flagged")
        assert project is not None
        task = next(one.task for one in row_decisions(store, "flagged") if one.about("id") == (item,))
        asked = judgement_requests([task], project.spec)
        values = {"wrong_key": 1, "remark": "见教科书"}
        for person in people:
            lines = store.list_assignments(person, "flagged", count=1000)
            number = next(
                line.number for line in lines
                if (found := store.assignment(person, "flagged", line.number)) and found.task.key == task.key
            )  # fmt: skip
            found = store.assignment(person, "flagged", number)
            assert found is not None
            given = {subject: values.get(what.question, 0) for subject, what in asked.items()}
            store.submit(person, found.task_id, Submission(given))


REPLIES = """
import csv, zlib

csv.field_size_limit(10**9)
with open({items!r}, encoding="utf-8-sig", newline="") as stream:
    rows = [row for row in csv.DictReader(stream, delimiter="\\t") if row["q-type"] == "TF"]
RIGHT = {{row["full-question"].removesuffix("吗？").removesuffix("，这种说法对"): row["expected"] for row in rows}}
CLAIMS = sorted(RIGHT, key=len, reverse=True)


def reply(messages, body):
    text = messages[-1]["content"]
    claim = next((claim for claim in CLAIMS if claim in text), None)
    if claim is None:
        return "不知道。"
    knows = zlib.crc32(claim.encode()) % 10 < 8
    if body["model"] == "fragile" and text.startswith("听说"):
        knows = zlib.crc32(claim.encode()) % 10 < 2
    return "对。" if (RIGHT[claim] == "yes") == knows else "不对。"
"""


@pytest.mark.full
@pytest.mark.usefixtures("here")
def test_a_sample_of_questions_in_several_wordings_shows_who_hangs_on_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "replies.py"
    script.write_text(REPLIES.format(items=str(Path("builds/care_mi/items.tsv").absolute())), encoding="utf-8")
    words = [RECIPE, "evaluation=[zh_rules,zh_wordings]", "evaluation.wordings.families=40", "evaluation.outputs=null",
             "evaluation.baselines=null", "evaluation.scorers.similarity=null"]  # fmt: skip
    with fake_openai_server({"plugin": str(script)}) as server:
        for name in ("steady", "fragile"):
            key = f"evaluation.models.{name}"
            words += [f"{key}.kind=openai", f"{key}.name={name}", f"{key}.base_url={server.base_url}"]
        assert main(["evaluate", "--quote", *words]) == 0
        quoted = capsys.readouterr().out
        assert "reworded_answer.fragile" in quoted
        assert not server.log()
        assert main(["evaluate", *words]) == 0
        asked = len(server.log())
        assert main(["evaluate", *words]) == 0
        assert len(server.log()) == asked, "what was answered is not asked again"
    capsys.readouterr()
    assert main(["analyse", *words]) == 0
    said = capsys.readouterr().out
    assert "2 models answered a sample of questions in 4 wordings: built, plain, heard, short." in said
    data = json.loads((ANALYSIS / "analysis.json").read_text("utf-8"))["wordings"]
    models = {model["model"]: model for model in data["models"]}
    assert models["steady"]["families"] == models["fragile"]["families"] == 40
    assert asked == 2 * (390 + 3 * models["steady"]["items"])
    assert models["steady"]["spread"]["value"] == models["steady"]["flips"]["value"] == 0
    assert models["steady"]["without"] == [0, 0, 0, 0]
    means = [mean["value"] for mean in models["fragile"]["means"]]
    assert means[0] == means[1] == means[3] == models["steady"]["means"][0]["value"]
    assert means[2] < 0.35
    assert models["fragile"]["p"] == 0.001
    assert models["fragile"]["flips"]["value"] == pytest.approx(means[0] - means[2])
    assert models["fragile"]["ranks"] == [1, 1, 2, 1]
    with (ANALYSIS / "models.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = {row["model"]: row for row in csv.DictReader(stream)}
    assert float(rows["fragile"]["wording_spread"]) > 0.4
    assert rows["model_jia"]["wording_spread"] == ""
    assert rows["model_jia"]["made_up"] == "yes", "the recipe no longer names the file, but the sample is known"
    assert (rows["always_agree"]["group"], rows["people"]["group"]) == ("rule", "people")
    assert "came with the sample. They are made up" in said
    assert (rows["fragile"]["variants"], rows["model_jia"]["variants"]) == ("1", "")
    assert main(["results", *words]) == 0  # answers to other wordings are no answers to the items
    assert main(["analyse", RECIPE]) == 0  # what was answered once stays, though the recipe no longer asks
    assert "in 4 wordings" in capsys.readouterr().out
