"""Has a model seen the benchmark? Models that remember it are found, models that only know the subject are not."""

import csv
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchbuilder.cli.dispatch import main
from benchbuilder.config import AuditSpec
from benchbuilder.config.spec.audit import AllowedLeak
from benchbuilder.core.records.payloads import Choice, Claim, Item, Option
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.evaluation.audit.exposure.completion import common_ending
from benchbuilder.evaluation.audit.exposure.options import bare_option
from benchbuilder.evaluation.audit.exposure.quiz import differing_spans
from benchbuilder.evaluation.audit.exposure.run import (
    conclude,
    fisher_excess,
    matched_excess,
    permuted_excess,
    plan_exposure,
    write_exposure,
)
from benchbuilder.models.base import Reply
from benchbuilder.testing import fake_openai_server

ROOT = Path(__file__).parents[3]
CANARY = "7d1f0c52-9e11-4b6a-8d2f-0123456789ab"
NAMES = [f"{a}{b}us" for a in ("Mar", "Ven", "Tit", "Cer", "Rhe", "Dio") for b in ("an", "el", "or", "im", "ut", "ok")]


def items(count: int = 60) -> list[Item[Claim]]:
    """True/false questions about stars in one frame; each false one names the star of another item."""
    made = []
    for n in range(count):
        head = f"the small moon number {n} of the outer field"
        right, wrong = (f"{head} turns around {NAMES[k % 36]}{k}." for k in (n, n + 7))
        shown = right if n % 2 else wrong
        made.append(Item[Claim].build(
            payload=Claim(type="tf", expected="yes" if n % 2 else "no", question=f"Is it right that {shown[:-1]}?",
                          answer=right, answer_wrong=wrong),
            candidate=f"c{n}", fact=f"fact-{n}", reviewed=True, origin=Origin(file="sky.csv", line=n + 1),
            produced_by=ProducedBy(rule="test"), language="en", partition="sky",
        ))  # fmt: skip
    return made


def choices(count: int = 60) -> dict[str, Choice]:
    options = [tuple(Option(key=key, text=f"{key} star {n}") for key in "ABCD") for n in range(count)]
    return {f"fact-{n}": Choice(question=f"Star {n} is", options=four, answer_key="A", answer=four[0].text)
            for n, four in enumerate(options)}  # fmt: skip


def plan(**audit):
    """A plan for one model, without a recipe."""
    card = SimpleNamespace(title="Sky")
    recipe = SimpleNamespace(
        card=card, seed=3, language="en", audit=AuditSpec.model_validate(audit), model=SimpleNamespace(kind="openai",
        name="m"), evaluation=None,
    )  # fmt: skip
    part = SimpleNamespace(recipe=recipe, prompt_roots=(ROOT / "prompts",), overrides=())
    return plan_exposure(part, items(), choices())  # pyright: ignore[reportArgumentType]


def asked(planned, answer: Callable[[str], str]):
    """The findings by test if a model answers each prompt with `answer`."""
    for _, talk in planned.conversations("m"):
        try:
            request = next(talk)
            while True:
                request = talk.send(Reply(answer(request.messages[-1].content), "complete"))
        except StopIteration:
            pass
    return {finding.test: finding for finding in planned.findings()}


def paraphrase(prompt: str) -> str:
    """Words in another order, which nobody has published."""
    words = prompt.split("Text: ")[1].split("\n", maxsplit=1)[0].split()
    return " ".join(random.Random(prompt).sample(words, len(words)))


def remembering(prompt: str) -> str:
    """A model that has seen every file."""
    texts = [item.payload.question for item in items()]
    if "Rewrite" in prompt:
        return paraphrase(prompt)
    if "Beginning: " in prompt:
        begin = prompt.split("Beginning: ")[1].split("\n", maxsplit=1)[0]
        return next((text[len(begin) :] for text in texts if text.startswith(begin)), "I do not know.")
    if "[MASK]" in prompt:
        masked = prompt.rsplit("option ", maxsplit=1)[-1][0]
        return f"{masked}. {masked} star {prompt.split('Star ')[1].split(' ', maxsplit=1)[0]}"
    if "identifier" in prompt:
        return CANARY
    known = [line[0] for line in prompt.splitlines() if line[1:3] == ". " and line[3:] in texts]
    return known[0] if known else "A"


def ignorant(prompt: str) -> str:
    """A model that has seen none."""
    if "Rewrite" in prompt:
        return paraphrase(prompt)
    return random.Random(prompt).choice(["A", "B", "C. star", "nothing at all", "D"])


@pytest.mark.push
def test_a_model_that_remembers_is_found_by_every_test():
    found = asked(plan(canary=CANARY), remembering)
    assert {test: found[test].word for test in ("completion", "quiz", "options", "canary")} == dict.fromkeys(
        ("completion", "quiz", "options", "canary"), "shown"
    )
    assert found["quiz"].score == 1.0
    assert found["quiz"].control is not None
    assert found["quiz"].control < 0.6


def test_a_model_that_has_seen_nothing_is_not_called_clean():
    found = asked(plan(canary=CANARY), ignorant)
    assert {found[test].word for test in ("completion", "quiz", "options", "canary")} == {"not shown"}
    assert {found[test].word for test in ("order", "min_k")} == {"not tested"}
    assert "log-probabilities" in found["order"].why


def test_without_an_identifier_the_canary_is_not_tested():
    found = asked(plan(), ignorant)
    assert (found["canary"].word, found["canary"].why) == ("not tested", "the recipe names no audit.canary")
    with pytest.raises(ValueError, match="canary"):
        AuditSpec.model_validate({"canary": "secret"})


def test_every_variant_of_a_quiz_has_the_frame_of_the_original():
    quiz = plan().tasks["quiz"]
    for task in quiz:
        prompt = next(task.begin()).messages[0].content
        options = [line[3:] for line in prompt.splitlines() if line[1:3] == ". " and line[0] in "ABCD"]
        assert len({text.rpartition(" ")[0] for text in options}) == 1
        assert len(set(options)) == 4
    assert len(quiz) == 60, "half of the items hold their wrong answer; each has a control"


@pytest.mark.push
def test_an_author_may_allow_what_is_known():
    found = list(asked(plan(canary=CANARY), remembering).values())
    rule = AllowedLeak(view="options", scope="all", why="the examination is public")
    allowed = {finding.test: finding.allowed for finding in conclude(found, 0.05, [rule])}
    assert (allowed["options"], allowed["canary"]) == ("the examination is public", "")


def test_files_hold_findings_and_replies(tmp_path: Path):
    planned = plan(canary=CANARY)
    findings = list(asked(planned, ignorant).values())
    table, replies = write_exposure(planned, findings, tmp_path)
    rows = list(csv.DictReader(table.read_text("utf-8").splitlines()))
    assert [row["test"] for row in rows] == ["completion", "quiz", "options", "canary", "order", "min_k"]
    lines = [json.loads(line) for line in replies.read_text("utf-8").splitlines()]
    assert sum(line["test"] == "completion" and line["control"] for line in lines) == 20


def test_statistics_of_replies():
    assert fisher_excess(10, 10, 0, 10) < 1e-4
    assert fisher_excess(5, 20, 5, 20) > 0.5
    assert permuted_excess([1.0] * 20, [0.0] * 20, 99, 1) == pytest.approx(0.01)
    assert permuted_excess([0.5] * 20, [0.5] * 20, 99, 1) == 1.0
    texts = [f"t{n}" for n in range(12)]
    assert matched_excess(texts, texts, str.__eq__, 99, 1) == pytest.approx(0.01)
    assert matched_excess(["t1"] * 12, texts, str.__eq__, 99, 1) == 1.0, "one reply to all is no memory"


def test_texts_are_cut_where_they_differ():
    assert differing_spans(["a", "b", "c", "d"], ["a", "x", "y", "d"]) == (["b", "c"], ["x", "y"])
    assert differing_spans(["a"], ["a", "b"]) == ([], ["b"])
    assert common_ending([f"x{n}, is it so?" for n in range(9)]) == ", is it so?"
    assert common_ending(["a", "b"]) == ""
    assert [bare_option(text, "B") for text in ("B. Mars.", "Mars", "")] == ["Mars", "Mars", ""]


@pytest.fixture
def here(once, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the built sample as the current folder."""
    shutil.copytree(once.after(("recipe=care_mi",)), tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-this-is-a-secret")
    return tmp_path / "work"


@pytest.mark.full
def test_the_command_quotes_and_continues_after_its_budget(here: Path, capsys: pytest.CaptureFixture[str]):
    with fake_openai_server({"fixed": f"A {CANARY}", "json_replies": "never"}) as server:
        words = ["audit", "--model", "recipe=care_mi", "model=openai", "model.name=fake",
                 f"model.base_url={server.base_url}", f"audit.canary={CANARY}", "audit.exposure.items=10",
                 "audit.exposure.controls=10"]  # fmt: skip
        assert main([*words, "--quote"]) == 0
        assert "exposure.fake" in capsys.readouterr().out
        assert not server.log(), "a quote asks nobody"
        assert main([*words, "budget.tokens=2000"]) == 4
        first = len(server.log())
        assert main(words) == 6
        seen = capsys.readouterr()
        assert "have seen the benchmark: fake (canary)" in " ".join(seen.err.split())
        assert '"not shown" is no proof' in seen.out
        requests = [request["hash"] for request in server.log()]
    assert 0 < first < len(requests) == len(set(requests)), "nothing is bought twice"
    assert "fake,canary,shown,1,1" in (here / "builds/care_mi/audit/exposure.csv").read_text("utf-8")


@pytest.mark.push
def test_a_quote_alone_and_a_foreign_benchmark_are_refused(here: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["audit", "recipe=care_mi", "--quote"]) == 2
    assert main(["audit", "recipe=care_mi", "--model", "--benchmark", "x.tsv"]) == 2
    assert main(["audit", "recipe=care_mi", "--model"]) == 2
    assert "there is no model to ask" in capsys.readouterr().err
