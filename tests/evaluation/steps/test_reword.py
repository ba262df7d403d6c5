"""A sample of questions in several wordings: what is asked, what is not, and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from benchbuilder.config import WordingsSpec
from benchbuilder.core import (
    Claim,
    DataError,
    Dropped,
    Item,
    Kept,
    NotApplicable,
    Origin,
    ProducedBy,
    StepContext,
    Table,
)
from benchbuilder.evaluation import YesNoQuestion, verdict_reader
from benchbuilder.evaluation.steps import reword
from benchbuilder.evaluation.steps.answer import AnswerItems
from benchbuilder.evaluation.steps.reword import Reword, RewordSpec, claim_of, earlier_repeats, wording_of
from benchbuilder.pipeline import account_gather

RECIPES = Path(__file__).parents[3] / "recipes"
BUNDLED = {
    language: yaml.safe_load((RECIPES / f"evaluation/{language}_wordings.yaml").read_text("utf-8"))["wordings"]
    for language in ("zh", "en")
}


def item(question: str, expected: Any, line: int, context: str = "") -> Item[Claim]:
    payload = Claim(type="tf" if expected else "oe", expected=expected, context=context, question=question,
                    answer="叶酸可预防神经管畸形。", answer_wrong="铁剂可预防神经管畸形。")  # fmt: skip
    return Item[Claim].build(
        origin=Origin(file="f", line=line), produced_by=ProducedBy(rule="annotate"), language="zh", partition="medqa",
        payload=payload, candidate="c", fact=f"fact-{line // 2}", family=f"family-{line // 2}", reviewed=True,
    )  # fmt: skip


def reworded(rows: list[Item[Claim]], seed: int = 11, **changes: Any) -> dict[str, list[Any]]:
    spec = RewordSpec.model_validate({"kind": "reword", "from": "sources.benchmark", **BUNDLED["zh"], **changes})
    step = Reword(spec, StepContext(seed, "zh", "reworded", Path("cache"), Path("people")))
    tables = {"each": Table.of(rows, Item[Claim])}
    shard = account_gather(step, tables, step.gather(tables), Item[Claim])
    made, found = {row.id: row for row in shard.rows}, defaultdict[str, list[Any]](list)
    for line in shard.outcomes.to_pylist():
        said = {"kept": Kept, "dropped": Dropped, "not_applicable": NotApplicable}[line["outcome"]]
        more = {"kept": [made.get(line["out"]), line["slot"]], "dropped": [line["reason"], line["detail"]]}
        found[line["row"]].append(said(*more.get(line["outcome"], [line["reason"]])))
    return found


def pairs(count: int) -> list[Item[Claim]]:
    return [
        item(f"叶酸可预防第{n // 2}种畸形{'，这种说法对' if n % 2 else ''}吗？", "yes", n) for n in range(2 * count)
    ]


def test_whole_families_are_asked_in_every_wording_whatever_the_order():
    rows = pairs(30)
    found = reworded(rows, families=10, repeats=2)
    asked = {name: outcomes for name, outcomes in found.items() if isinstance(outcomes[0], Kept)}
    families = Counter(row.family_name for row in rows if row.id in asked)
    assert len(families) == 10
    assert set(families.values()) == {2}
    assert all(len(outcomes) == 6 for outcomes in asked.values())
    assert reworded(rows[::-1], families=10, repeats=2).keys() == found.keys()
    again = reworded(rows[::-1], families=10, repeats=2)
    assert {name for name, outcomes in again.items() if isinstance(outcomes[0], Kept)} == set(asked)
    others = [outcomes[0] for name, outcomes in found.items() if name not in asked]
    assert {outcome.reason for outcome in others if isinstance(outcome, Dropped)} == {"family_not_drawn"}
    drawn = {name for name, outcomes in reworded(rows, 12, families=10).items() if isinstance(outcomes[0], Kept)}
    assert drawn != set(asked)


def test_items_are_made_some_at_a_time(monkeypatch: pytest.MonkeyPatch):
    rows = [*pairs(30), item("哪种维生素可预防神经管畸形？", "", 90)]
    whole = reworded(rows, families=10)
    monkeypatch.setattr(reword, "_WINDOW", 7)
    assert list(reworded(rows, families=10).items()) == list(whole.items())


def test_a_reworded_item_is_the_item_with_another_question():
    row = item("先天性甲状腺功能减低症首选左甲状腺素钠吗？", "yes", 1, context="女婴，20天。")
    texts = {outcome.slot: outcome.row for outcome in reworded([row])[row.id]}
    assert {slot: made.payload.question for slot, made in texts.items()} == {
        "plain.1": "请判断下面的说法是否正确。\n女婴，20天。先天性甲状腺功能减低症首选左甲状腺素钠。",
        "heard.1": "听说“女婴，20天。先天性甲状腺功能减低症首选左甲状腺素钠”，这个说法对吗？",
        "short.1": "女婴，20天。先天性甲状腺功能减低症首选左甲状腺素钠吗？请只回答“对”或“错”。",
    }
    for made in texts.values():
        assert made.payload.context == ""
        assert (
            made.payload.model_copy(update={"question": row.payload.question, "context": "女婴，20天。"}) == row.payload
        )
        assert (made.of, made.family_name, made.fact) == (row.id, row.family_name, row.fact)
        assert made.id != row.id
    assert len({made.id for made in texts.values()}) == 3


def test_what_cannot_be_worded_anew_says_why():
    rows = [*pairs(1), item("哪种维生素可预防神经管畸形？", "", 10), item("拟答：叶酸\n这个回答对吗", "yes", 12)]
    reasons = {name: outcomes[0] for name, outcomes in reworded(rows).items()}
    assert isinstance(reasons[rows[2].id], NotApplicable)
    assert reasons[rows[3].id] == Dropped("no_claim", "拟答：叶酸\n这个回答对吗")
    with pytest.raises(DataError, match="no question can be asked in every wording"):
        reworded(rows[3:])
    short = {"short": "{question}请只回答“对”或“错”。", "why": "{question}为什么？"}
    assert isinstance(reworded(rows[3:], sentences=short)[rows[3].id][0], Kept)


def test_a_repeat_is_a_request_of_its_own():
    row = pairs(1)[0]
    made = [outcome.row for outcome in reworded([row], repeats=3)[row.id]]
    assert [earlier_repeats(one) for one in made] == [0, 1, 2] * 3
    assert earlier_repeats(row) == 0
    assert wording_of(made[1].slot) == ("plain", 1)
    spec = AnswerItems.spec_class.model_validate({"kind": "answer", "from": "reworded", "name": "m"})
    step = AnswerItems(spec, StepContext(1, "zh", "step", Path("cache"), Path("people")))
    step.open({})
    requests = [next(step.converse(one, {})) for one in made]
    assert [request.sample for request in requests] == [0, 1, 2] * 3
    assert len({request.messages for request in requests}) == 3


@pytest.mark.parametrize("language", ["zh", "en"])
def test_in_every_bundled_wording_yes_means_that_the_claim_is_right(language: str):
    questions = {
        "zh": "婴儿贫血首选铁剂，这种说法对吗？", "en": "Is iron the first choice in an infant with anaemia?",
    }  # fmt: skip
    answers = {
        "zh": {"yes": ("对。", "是的。", "正确。"), "no": ("不对。", "不是。", "错。", "错误。", "不对，首选叶酸。")},
        "en": {"yes": ("Yes.", "Yes, it is.", "True."), "no": ("No.", "No, it is not.", "False.")},
    }  # fmt: skip
    claims = {"zh": ("婴儿贫血首选铁剂。", "婴儿贫血首选叶酸。"), "en": ("Iron is the first choice.", "Folate is.")}
    reader = verdict_reader([RECIPES / f"verdicts/{language}.yaml"])
    spec = WordingsSpec.model_validate(BUNDLED[language])
    claim = claim_of(questions[language], spec.frames)
    for sentence in spec.sentences.values():
        assert sentence is not None
        text = sentence.replace("{question}", questions[language]).replace("{claim}", claim)
        for verdict, replies in answers[language].items():
            for reply in replies:
                read = reader.read(reply, YesNoQuestion(text, *claims[language]), is_cut=False)
                assert read.verdict == verdict, (text, reply)


@pytest.mark.parametrize(
    ("sentences", "fault"),
    [
        ({"one": "{question}?"}, "these are 2 wordings; 3 are needed"),
        ({"one": "{question}?", "two": None}, "these are 2 wordings"),
        ({"one": "{question}?", "built": "{claim}!"}, "the name of the question as it is built"),
        ({"one": "{question}?", "two": "{claim} {question}"}, "one of them once"),
        ({"one": "{question}?", "two": "Is it so?"}, "one of them once"),
        ({"one": "{question}?", "two": "{question} {answer}"}, "answer"),
    ],
)
def test_wordings_that_compare_nothing_are_refused(sentences: dict[str, Any], fault: str):
    with pytest.raises(ValidationError, match=fault):
        WordingsSpec(sentences=sentences)
