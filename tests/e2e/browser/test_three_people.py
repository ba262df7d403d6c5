"""Two annotators and an adjudicator judge the sample in the app that a command serves, and the build picks it up."""

from __future__ import annotations

import json
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from patience import patience
from playwright.sync_api import expect

from benchbuilder.annotation.base import Subject, Task
from benchbuilder.cli.dispatch import main
from benchbuilder.config.load import load_recipe
from benchbuilder.config.spec.annotation import ProjectSpec
from browser.sites import Seat, Site, answer_by_keys, field, in_steps, subjects

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WORDS = [  # one question a fact: a sample divides no family, and its questions share their paragraphs
    "recipe=care_mi", "annotation=app", "steps.items.sample=4", "steps.ask_tf_choice.polarity=true_only",
    "steps.candidates.from.each=[ask_tf_choice]", "steps.ask_set_triple.enabled=false",
]  # fmt: skip
NAMES = {"王医生": "annotator", "li-wei": "annotator", "Ana": "adjudicator"}
FIRST, SECOND, JUDGE = NAMES
NOTE = "第2段只是话题相近，见 <指南> 第3章"

# What the three say of each candidate, where it is not 1: by question, or by place of the paragraph.
AGREED: list[dict[str, int]] = [{}, {}, {"p4": 0, "p5": 0, "p6": 0}, {"p6": 0}]
OBJECTION: list[tuple[str, set[str]]] = [
    (FIRST, set()), (SECOND, {"single_answer"}), (FIRST, {"p2"}), (SECOND, {"fluent", "p1"}),
]  # fmt: skip
DECIDED: list[dict[str, int]] = [{}, {"single_answer": 0}, {"p2": 0}, {"fluent": 1, "p1": 1}]
FATES = ["kept", "not_single_answer", "too_little_evidence", "kept"]
SUPPORTS = [{1, 2, 3, 4, 5, 6}, set(), set(), {1, 2, 3, 4, 5}]


@contextmanager
def reviewing(folder: Path) -> Iterator[str]:
    """`benchbuild review` in a process of its own; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code = "import sys; from benchbuilder.cli.dispatch import main; sys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-u", "-c", code, "review", *WORDS, "--port", str(port)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder, bufsize=0,
    )  # fmt: skip
    assert process.stdout is not None
    said = b""
    try:
        deadline = time.monotonic() + patience()
        while b"serving at" not in said:
            ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            found = process.stdout.read(65536) if ready else b""
            assert found, said.decode()
            said += found
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGINT)
        try:
            said += process.communicate(timeout=patience())[0]
        except subprocess.TimeoutExpired:
            process.kill()
            said += process.communicate()[0]
    assert process.returncode == 0, said.decode()
    assert "Traceback" not in said.decode()


def invited(capsys: pytest.CaptureFixture[str], address: str) -> dict[str, str]:
    """The invite links by name, as the command tells them."""
    for role in ("annotator", "adjudicator"):
        names = [name for name, theirs in NAMES.items() if theirs == role]
        assert main(["people", "invite", *names, "--role", role, "--url", address, *WORDS]) == 0
    told = capsys.readouterr().out
    links = dict(re.findall(r"^(\S+) \(.*\n\s+(http\S+/enter/\S+)$", told, re.MULTILINE))
    assert set(links) == set(NAMES)
    return links


class Plan:
    """What everybody says of each candidate; `tasks` are in the order of the build."""

    def __init__(self, tasks: list[Task], spec: ProjectSpec) -> None:
        self.tasks, self.spec = tasks, spec
        self._keys = [task.key for task in tasks]

    def at(self, task: Task) -> int:
        """The place of a task in the plan; what annotators see of it lacks what they must not see."""
        return self._keys.index(task.key)

    def named(self, task: Task) -> dict[str, Subject]:
        """Everything asked about a task: by question, or by place of the paragraph."""
        places = {paragraph.key: f"p{place}" for place, paragraph in enumerate(task.paragraphs, start=1)}
        return {places.get(subject.key, name): subject for subject, name in subjects(task, self.spec).items()}

    def votes(self, person: str, task: Task) -> dict[Subject, int]:
        at = self.at(task)
        objecting, what = OBJECTION[at]
        own = {name: 0 for name in what if objecting == person}
        return {subject: {**AGREED[at], **own}.get(name, 1) for name, subject in self.named(task).items()}

    def decisions(self, task: Task) -> dict[Subject, int]:
        named = self.named(task)
        return {named[name]: value for name, value in DECIDED[self.at(task)].items()}


def annotate(seat: Seat, plan: Plan) -> None:
    """Everything from the link to the end; a note at the second candidate of the build."""
    seat.enter()
    with seat.loading():
        seat.page.get_by_role("link", name="Begin").click()
    name = next(name for name, link in seat.site.links.items() if link == seat.link)
    for number in range(1, len(plan.tasks) + 1):
        assert re.search(rf"/p/claims/{number}(\?|$)", seat.page.url)
        task = seat.site.asked(name, number, "claims").task
        if plan.at(task) == 1 and name == SECOND:
            seat.page.locator("#note").fill(NOTE)
            seat.page.locator("#note").blur()
        answer_by_keys(seat, plan.votes(name, task))
        with seat.loading():
            seat.press("Control+Enter")
    expect(seat.page.get_by_role("heading", level=1)).to_have_text("All done. Thank you!")


def shows_nobody(page: Page) -> None:
    html = page.content()
    assert not [name for name in (FIRST, SECOND, ">A1<", ">A2<") if name in html]


def decide_next(seat: Seat, plan: Plan, undecided: list[Task]) -> None:
    """Decide the dispute that is shown, which is one of `undecided`."""
    page = seat.page
    found = set(in_steps(page))
    task = next(task for task in undecided if {field(subject) for subject in plan.decisions(task)} == found)
    undecided.remove(task)
    shows_nobody(page)
    expect(page.locator("main")).to_contain_text(task.text)
    assert (NOTE in page.locator("main").inner_text()) == (plan.at(task) == 1)
    answers = page.locator("[data-step] ~ .judges li, .disputed .judges li")
    assert answers.count() == 2 * len(found)
    answer_by_keys(seat, plan.decisions(task))
    with seat.loading():
        seat.press("Control+Enter")


def test_two_annotators_and_an_adjudicator_make_what_the_build_picks_up(
    chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    spec: Any = load_recipe(WORDS, cwd=tmp_path, environ={}).recipe.annotation
    folder = tmp_path / "builds" / "care_mi"
    with reviewing(tmp_path) as address:
        site = Site(chromium, f"sqlite:///{folder / 'annotation' / 'review.sqlite'}", address)
        try:
            site.links = invited(capsys, address)
            site.people = {person.name: person for person in site.store.people()}
            plan = Plan([task for _, task in site.store.tasks("claims")], spec)
            assert [len(task.paragraphs) for task in plan.tasks] == [6] * len(FATES)
            for name in (FIRST, SECOND):
                annotate(site.seat(name), plan)
            judge = site.seat(JUDGE)
            judge.enter()
            expect(judge.page.locator("main")).to_contain_text("3 waiting for a decision")
            with judge.loading():
                judge.page.get_by_role("link", name="Decide").first.click()
            undecided = plan.tasks[1:]
            decide_next(judge, plan, undecided)
            decide_next(judge, plan, undecided)
            capsys.readouterr()
            assert main(WORDS) == 75
            assert re.search(r"waits: +[12] judgements? (is|are) missing: adjudicator", capsys.readouterr().out)
            decide_next(judge, plan, undecided)
            expect(judge.page.get_by_role("heading", level=1)).to_have_text("Nothing is waiting for a decision")
            assert main(WORDS) == 0
            has_what_was_voted(site, plan)
        finally:
            site.close()
        assert site.wrong() == []
    has_what_the_votes_imply(folder, plan)


def has_what_was_voted(site: Site, plan: Plan) -> None:
    wanted: dict[str, Any] = {name: {} for name in NAMES}
    for task in plan.tasks:
        for name in (FIRST, SECOND):
            wanted[name] |= plan.votes(name, task)
        wanted[JUDGE] |= plan.decisions(task)
    assert site.votes("claims") == wanted
    assert [comment.text for comment in site.store.current_votes("claims").comments] == [NOTE]


def has_what_the_votes_imply(folder: Path, plan: Plan) -> None:
    candidates = {shown_of(row): row["id"] for row in lines(folder / "candidates.jsonl")}
    ids = [candidates[dict(task.fields)["text"], dict(task.fields)["wrong"]] for task in plan.tasks]
    header, *rows = [line.split("\t") for line in (folder / "ledger.tsv").read_text(encoding="utf-8").splitlines()]
    ledger = [dict(zip(header, row, strict=True)) for row in rows]
    lost = {row["row"]: row["reason"] for row in ledger if row["step"] == "items" and row["outcome"] == "dropped"}
    assert {id_: lost.get(id_, "kept") for id_ in ids} == dict(zip(ids, FATES, strict=True))
    assert {reason for id_, reason in lost.items() if id_ not in ids} == {"outside_sample"}
    items = lines(folder / "items.jsonl")
    assert {(item["full-question"], item["answer-wrong"]) for item in items} == {
        (shown["text"], shown["wrong"])
        for shown, outcome in zip((dict(task.fields) for task in plan.tasks), FATES, strict=True)
        if outcome == "kept"
    }
    for task, outcome, places in zip(plan.tasks, FATES, SUPPORTS, strict=True):
        if outcome == "kept":
            item = next(item for item in items if item["answer-wrong"] == dict(task.fields)["wrong"])
            texts = [paragraph.text for place, paragraph in enumerate(task.paragraphs, start=1) if place in places]
            assert sorted(found["text"] for found in item["evidence"]) == sorted(texts), "by base, not as shown"


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def shown_of(row: Mapping[str, str]) -> tuple[str, str]:
    return row["context"] + row["question"], row["answer-wrong"]
