"""``benchbuild votes quality``: floors, the model of voters, and the recheck from its sample to card and report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from once import BUILT, Once

from benchbuilder.annotation import AnnotationStore, open_annotation_store
from benchbuilder.annotation.database.models import Submission
from benchbuilder.annotation.tasks import judgement_requests
from benchbuilder.cli.dispatch import main
from benchbuilder.config import load_recipe
from benchbuilder.publishing.release.material import gather_material

RECIPE = "recipe=care_mi"
WORKPLACE = Path("builds/care_mi/annotation")


@pytest.fixture
def here(once: Once, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work = once.copied(BUILT, tmp_path / "work")
    monkeypatch.chdir(work)
    return work


@pytest.mark.push
@pytest.mark.usefixtures("here")
def test_the_sample_says_that_nobody_gave_its_votes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["votes", "quality", RECIPE]) == 0
    said = capsys.readouterr().out
    assert "The votes came with the sample: they show the form, and nobody gave them." in said
    assert "98.8 % of the decisions are the same, so AC1 counts" in " ".join(said.split())
    assert "Dawid and Skene's model of voters, shown and not used" in said
    assert "cannot see errors that voters share" in said
    assert "decided: 0 of 100. The rate is known when all are decided" in said
    assert not (WORKPLACE / "rechecks").exists()
    assert main(["votes", "quality", "more", RECIPE]) == 2
    shutil.rmtree("builds/care_mi/store")
    assert main(["votes", "quality", RECIPE]) == 3


def judge(store: AnnotationStore, wrong: int) -> None:
    """Everybody judges what they have: the first items are wrong, by the word of all."""
    tasks = dict(store.tasks("recheck"))
    bad = sorted(tasks)[:wrong]
    project = store.project("recheck")
    assert project is not None
    for person in store.people():
        for line in store.list_assignments(person, "recheck", count=1000) if person.role == "annotator" else ():
            opened = store.assignment(person, "recheck", line.number)
            assert opened is not None
            requests = judgement_requests([opened.task], project.spec)
            values = {
                subject: int(request.question == "wrong_key" and line.task_id in bad)
                for subject, request in requests.items() if request.question != "remark"
            }  # fmt: skip
            assert store.submit(person, line.task_id, Submission(values)) == "kept"


@pytest.mark.full
@pytest.mark.usefixtures("here")
def test_others_check_a_sample_and_the_rate_reaches_the_card(capsys: pytest.CaptureFixture[str]) -> None:
    own = [RECIPE, "annotation=sheets"]  # as it was built: items of the app's votes would be others
    assert main(["votes", "export", "csv", *own, "--project", "recheck"]) == 0
    with open_annotation_store(None, WORKPLACE) as store:
        for name in ("a", "li", "wu"):  # a filled in a sheet of the sample
            store.invite(name, "annotator")
        assert [len(store.list_assignments(person, "recheck", count=1000)) for person in store.people()] == [
            0,
            100,
            100,
        ]
        judge(store, wrong=5)
    capsys.readouterr()
    assert main(["votes", "quality", RECIPE]) == 0
    said = capsys.readouterr().out
    assert "wrong labels: 5 of 100, 5." in said
    assert "bounds: 95 %, Wilson, two-sided" in said
    assert main(["votes", "decisions", *own, "--project", "recheck"]) == 0
    reports = (WORKPLACE / "decisions/recheck/reports.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["kind"] for line in reports] == ["wrong_key"] * 5
    (task,) = gather_material(load_recipe([RECIPE]), Path.cwd()).tasks
    assert task.finished.recheck is not None
    assert (task.finished.recheck.whole.wrong, task.finished.recheck.people) == (5, 2)
    assert {json.loads(line)["item"] for line in reports} <= set(task.finished.tables["items"].ids())
    assert main([RECIPE]) == 0
    card = Path("builds/care_mi/tables/annotation.md").read_text("utf-8")
    report = Path("builds/care_mi/report.html").read_text("utf-8")
    assert "| Total | 390 | 100 | 5 | 5." in card
    chinese = Path("builds/care_mi/report.zh.html").read_text("utf-8")
    assert "at most" in report
    assert "至多" in chinese
    assert "标签错误率未知" not in chinese
