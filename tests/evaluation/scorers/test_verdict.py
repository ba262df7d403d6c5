"""The scorer `verdict`: hard answers in Chinese and English, tables as data, and what is never guessed."""

from __future__ import annotations

import pickle
import re
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from benchbuilder.config.load import load_recipe
from benchbuilder.config.spec.base import FileRef
from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import DataError
from benchbuilder.core.records.outcomes import NotApplicable
from benchbuilder.core.records.payloads import Choice, Claim, Item, Option
from benchbuilder.core.records.roles import Answer
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.evaluation.parsing.verdict_tables import read_verdict_table
from benchbuilder.evaluation.parsing.verdicts import YesNoQuestion, verdict_reader
from benchbuilder.evaluation.scorers.base import AspectScore
from benchbuilder.evaluation.scorers.verdict import VerdictScorer, VerdictSpec

TABLES = Path(__file__).parents[3] / "recipes" / "verdicts"
BOTH = (TABLES / "zh.yaml", TABLES / "en.yaml")
READER = verdict_reader(BOTH)
HARD: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "hard_verdicts.yaml").read_text("utf-8"))
ABSTENTIONS: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "abstentions.yaml").read_text("utf-8"))
CASES = [
    (question, answer, wanted)
    for part in ("answers", "more_answers", "third_answers")
    for question, groups in HARD[part].items()
    for wanted, answers in groups.items()
    for answer in answers
]
JAUNDICE = YesNoQuestion(**HARD["questions"]["jaundice"])


def read(answer: str, question: str = "jaundice") -> str:
    reading = READER.read(answer, YesNoQuestion(**HARD["questions"][question]))
    return reading.verdict or ("refused" if reading.why == "refusal" else "neither")


def test_the_table_is_large_and_holds_every_verdict():
    assert len(CASES) > 750
    for language in ("[\u4e00-\u9fff]", "[A-Za-z]"):
        for wanted in ("yes", "no", "neither", "refused"):
            assert sum(1 for _, answer, w in CASES if w == wanted and re.search(language, answer)) >= 3


@pytest.mark.parametrize("question", sorted(HARD["questions"]))
def test_hard_answers(question):
    wrong = {
        answer: (wanted, found)
        for asked, answer, wanted in CASES
        if asked == question and (found := read(answer, question)) != wanted
    }
    assert wrong == {}


@pytest.mark.parametrize(
    "dress",
    [
        "**{}**", "`{}`", "# {}", "- {}", "> {}", "  {}  ", "\n\n{}\n\n", "<think>是的。不对。Yes. No.</think>{}",
        "{}</s>",
        "```\n{}\n```", "<b>{}</b>", "\ufeff{}", "\u200b{}", "{}\u3000", "“{}”",
    ],
)  # fmt: skip
def test_dress_changes_no_verdict(dress):
    plain = {"是的": "yes", "不对": "no", "這種說法錯誤": "no", "Ｙｅｓ": "yes", "not true": "no", "不确定": "neither",
             "maybe": "neither", "但是": "neither"}  # fmt: skip
    for answer, wanted in plain.items():
        assert read(dress.replace("{}", answer)) == wanted, (dress, answer)


@pytest.mark.parametrize(
    ("form", "wanted"),
    [("{}", "yes"), ("“{}”这一说法是正确的。", "yes"), ("认为{}的说法是错误的。", "no"), ("我认为{}", "yes"),
     ("并非{}。", "no"), ("It is true that {}", "yes"), ("It is false that {}.", "no"), ("I think that {}", "yes")],
)  # fmt: skip
def test_claim_and_contrary_are_read_alike(form, wanted):
    """Neither verdict is easier to read: with claim and contrary exchanged, the same answer is read the other way."""
    answer = form.replace("{}", JAUNDICE.claim.rstrip("。"))
    assert READER.read(answer, YesNoQuestion("", JAUNDICE.claim, JAUNDICE.contrary)).verdict == wanted
    assert (
        READER.read(answer, YesNoQuestion("", JAUNDICE.contrary, JAUNDICE.claim)).verdict
        == {"yes": "no", "no": "yes"}[wanted]
    )


@pytest.mark.parametrize("language", sorted(ABSTENTIONS))
def test_who_says_not_to_know_abstains(language: str):
    reader = verdict_reader([TABLES / f"{name}.yaml" for name in dict.fromkeys((language, "en"))])
    wanted = dict.fromkeys(ABSTENTIONS[language]["abstained"], "abstained") | ABSTENTIONS[language]["others"]
    names = {"refusal": "refused", "undecided": "neither", "silent": "neither"}
    found = {text: (read := reader.read(text)).verdict or names.get(read.why, read.why) for text in wanted}
    assert found == wanted


def test_the_shipped_tables_have_examples_of_abstentions():
    tables = {path.stem: read_verdict_table(path) for path in TABLES.glob("*.yaml")}
    assert sum(len(table.examples.abstain) for table in tables.values()) >= 41
    assert all(table.abstain and table.examples.abstain for table in tables.values())


def test_last_verdict_wins_across_sentences_but_not_within_one():
    words = {"yes": ["是的。", "正确。", "该说法正确。"], "no": ["不是。", "错误。", "该说法不正确。"]}
    for first in [*words["yes"], *words["no"]]:
        for last, answers in words.items():
            assert all(read(f"{first}{answer}") == last for answer in answers), first
    assert read("是的，该说法不正确。") == "neither"
    assert read("是的，但该说法不正确。") == "no"


@pytest.mark.parametrize("table", BOTH)
def test_a_language_alone_knows_nothing_of_the_other(table):
    alone = verdict_reader([table])
    assert alone.read("是的。").verdict == ("yes" if table.stem == "zh" else "")
    assert alone.read("That is incorrect.").verdict == ("no" if table.stem == "en" else "")


@pytest.mark.push
@settings(max_examples=200)
@given(st.text(alphabet="是不对错的正确误并非,，。？!、 \n“”（）{}yesnotruefals.'\"*<>1", max_size=60))
def test_any_text_is_read_and_read_again_the_same(text):
    reading = READER.read(text, JAUNDICE)
    assert reading == READER.read(text, JAUNDICE)
    assert (reading.verdict == "") == (reading.why != "")
    assert not any("\ue000" <= mark <= "\uf8ff" for mark in reading.words)


@pytest.mark.parametrize(
    "piece",
    [
        "不",
        "是的，",
        '{"a":',
        "as an ai ",
        "i don't think ",
        "the answer is ",
        "很多人认为",
        "“",
        "[",
        "<a ",
        "请",
        "是或",
        "\\boxed{",
    ],
)
def test_a_model_that_repeats_itself_takes_no_time(piece):
    start = time.perf_counter()
    READER.read(piece * 2_048, JAUNDICE)
    assert time.perf_counter() - start < 8


def item(payload: Any) -> Item[Any]:
    return Item[Any].build(
        payload=payload, candidate="candidate-1", fact="fact-1", reviewed=True, language="zh", partition="bios",
        origin=Origin(file="bios.tsv", line=1), produced_by=ProducedBy(rule="test"),
    )  # fmt: skip


def answer(text: str, one: Item[Any], outcome: Any = "complete") -> Answer:
    return Answer.child(one, produced_by=ProducedBy(rule="test"), model="jia", text=text, outcome=outcome)


def claim(**changes: Any) -> Item[Any]:
    given: dict[str, Any] = {
        "type": "tf", "expected": "no", "question": "新生儿黄疸都需要治疗吗？", "answer": "新生儿黄疸不都需要治疗。",
        "answer_wrong": "新生儿黄疸都需要治疗。",
    } | changes  # fmt: skip
    return item(Claim(**given))


def scorer(folder: Path, *tables: Path, **changes: Any) -> VerdictScorer:
    files = tuple(FileRef(path=path.name, resolved_path=str(path)) for path in tables or BOTH)
    context = StepContext(seed=1, language="zh", step="verdict.jia", cache=folder, workplace=folder)
    return VerdictScorer(VerdictSpec(kind="verdict", tables=files, **changes), context)


def marked(found: VerdictScorer, text: str, one: Item[Any], outcome: Any = "complete") -> AspectScore:
    (marks,) = found.score([(answer(text, one, outcome), one)])
    assert isinstance(marks, tuple)
    return marks[0]


def test_marks_say_what_was_read(tmp_path):
    found = pickle.loads(pickle.dumps(scorer(tmp_path)))
    found.open()
    one = claim()
    assert marked(found, "不是。", one) == AspectScore("verdict", 1.0, "right", "no: 不是")
    assert marked(found, "**是的**", one) == AspectScore("verdict", 0.0, "wrong", "yes: 是的")
    assert marked(found, "不一定。", one) == AspectScore("verdict", None, "invalid", "left open: 不一定")
    assert marked(found, "抱歉，我不清楚。", one) == AspectScore(
        "verdict", None, "abstained", "no verdict given on purpose: 我不清楚"
    )
    assert marked(found, "新生儿很可爱。", one) == AspectScore("verdict", None, "invalid", "no verdict")
    assert marked(found, "<think>不是", one) == AspectScore("verdict", None, "invalid", "reasoning without an end")
    assert marked(found, "新生儿黄疸都需要治疗。", one).label == "wrong"
    assert marked(found, "新生儿黄疸不都需要治疗。", one).label == "right"
    assert marked(found, "不是。新生儿黄疸都需要治疗。", one).detail == (
        "two verdicts that cannot both hold: [claim] / 不是"
    )


@pytest.mark.parametrize("outcome", ["refused", "filtered", "missing", "empty"])
def test_no_attempt_has_a_label_of_its_own(tmp_path, outcome):
    assert marked(scorer(tmp_path), "是的" if outcome == "refused" else "", claim(), outcome) == AspectScore(
        "verdict", None, outcome
    )


def test_refusals_and_empty_texts_are_told_from_invalid_ones(tmp_path):
    found = scorer(tmp_path)
    assert marked(found, " \n", claim()).label == "empty"
    assert marked(found, "抱歉，我无法回答。", claim()).label == "refused"
    assert marked(found, "这种说法是错误的。我不能提供医疗建议。", claim()).label == "right"
    assert marked(found, "是的，因为新生儿", claim(), "truncated").label == "wrong"


def test_what_has_no_verdict_is_not_applicable(tmp_path):
    found = scorer(tmp_path)
    choice = Choice(question="?", options=(Option(key="A", text="a"),), answer_key="A", answer="a")
    for one in (claim(type="oe", expected=""), claim(expected=""), item(choice)):
        assert found.score([(answer("是的。", one), one)]) == [NotApplicable("no_verdict_asked")]
    assert set(found.reasons) == {"no_verdict_asked"}
    with pytest.raises(DataError, match="has no verdict"):
        scorer(tmp_path, expected="question").score([(answer("是的。", claim()), claim())])


def test_a_low_resource_language_is_a_table(tmp_path):
    """isiZulu with a dozen words, over the same reader."""
    table = tmp_path / "zu.yaml"
    table.write_text(
        """
stops: ".!"
asks: "?"
pauses: ",:"
longest: 60
unsure: {clause: ["(?:mhlawumbe|angazi|angiqiniseki).*"], anywhere: ["yebo noma cha"]}
affirm: {plain: ["yebo(?: kakhulu)?", "kunjalo"], evaluating: ["kuyiqiniso|(?:lesi sitatimende )?siyiqiniso"]}
deny: {plain: ["cha|qha"], evaluating: ["akulona iqiniso|akukhona|(?:lesi sitatimende )?asilona iqiniso"]}
examples: {affirm: ["Yebo."], deny: ["Cha, akulona iqiniso."], neither: ["Mhlawumbe yebo.", "yebo noma cha?"]}
""",
        "utf-8",
    )
    one = claim(expected="yes", question="Ingabe ubisi lwebele luhle?", answer="Ubisi lwebele luhle.",
                answer_wrong="Ubisi lwebele alulungile.")  # fmt: skip
    found = scorer(tmp_path, table)
    texts = ("Yebo, luhle.", "Cha.", "Yebo. Cha!", "Angazi.", "Uchago", "Ubisi lwebele luhle.", "Yebo, cha.")
    assert [marked(found, text, one).label for text in texts] == [
        "right", "wrong", "wrong", "invalid", "invalid", "invalid", "invalid"
    ]  # fmt: skip


GOOD = "stops: '.'\nasks: '?'\npauses: ','\nlongest: 40\naffirm: {plain: ['yes']}\ndeny: {plain: ['no']}\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (GOOD + "unsure: {clause: ['(maybe']}\n", "is not a regular expression"),
        (GOOD + "tail: '{nowhere}'\n", "there is no part nowhere"),
        (GOOD + "parts: {a: '{b}', b: '{a}'}\ntail: '{a}'\n", "contains itself"),
        (GOOD + "sometimes: []\n", "sometimes: Extra inputs"),
        (GOOD + "quotes: ['<<>>']\n", "each is two characters"),
        (GOOD.replace("['no']", "['no'], echo: ['not']"), "has no group"),
        (GOOD + "examples: {affirm: ['No.']}\n", "reads no, not yes"),
        (GOOD + "examples: {neither: ['Yes.']}\n", "reads yes, not as neither"),
        ("stops: [", "while parsing"),
        ("", "valid dictionary"),
    ],
)
def test_a_wrong_table_is_reported_with_its_place(tmp_path, text, why):
    path = tmp_path / "xx.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError) as caught:
        scorer(tmp_path, path).open()
    assert why in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_missing_table_is_reported(tmp_path):
    with pytest.raises(DataError, match="is missing"):
        scorer(tmp_path, tmp_path / "none.yaml").open()


@pytest.mark.push
def test_the_recipe_has_the_scorer(tmp_path):
    spec = load_recipe(["recipe=care_mi"], cwd=tmp_path, environ={}).recipe.evaluation.scorers["verdict"]
    assert [table.file.name for table in spec.tables] == ["zh.yaml", "en.yaml"]


def test_of_a_huge_answer_the_end_is_read_and_that_is_said(tmp_path):
    found = scorer(tmp_path, *BOTH)
    mark = marked(found, "嗯。" * 1_500_000 + "答案：是。", claim(expected="yes"))
    assert mark.label == "right"
    assert "the last 20,000 of 3,000,005 characters" in mark.detail
    assert marked(found, "<think>" + "是。" * 20_000, claim(expected="yes")).label == "invalid"
