"""Claims are made false by a number, by a negation, or by a model that changes one detail."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from claim_rows import MODEL, PROMPTS, RECIPES, make, talk
from preparation_rows import page

from benchbuilder.core.records.outcomes import Dropped, Kept, NotApplicable
from benchbuilder.core.records.payloads import Fact, LabelledClaim
from benchbuilder.core.records.row import ProducedBy

HEDGES = "${steps.read_claims.rules.hedges}"


def falsifier(language: str = "zh", **spec: Any) -> Any:
    """The step by the bundled rules; without a model if none is given."""
    both = yaml.safe_load((RECIPES / "rules" / f"{language}_documents.yaml").read_text("utf-8"))
    rules = both["false_claims"]
    assert rules["hedges"] == HEDGES
    prompt = {"path": rules["prompt"], "resolved_path": str(PROMPTS / rules["prompt"])}
    return make("false_claims", {**rules, "hedges": both["read_claims"]["rules"]["hedges"], "prompt": prompt, **spec})


def claim(text: str, **more: Any) -> Fact[LabelledClaim]:
    payload = LabelledClaim.model_validate({"text": text, "label": "true", "gold": (text,), "quote": text, **more})
    return Fact[LabelledClaim].child(page(text), produced_by=ProducedBy(rule="test"), payload=payload)


def made_false(text: str, language: str = "zh", **spec: Any) -> Any:
    [outcome] = falsifier(language, **spec).map(claim(text), {})
    return outcome


NEGATED = {"order": ["number", "negation"]}


@pytest.mark.parametrize(
    ("text", "false"),
    [
        ("孕妇不宜食用生鱼片。", "孕妇可以食用生鱼片。"),
        ("木质砧板出现较深的刀痕后应当更换。", "木质砧板出现较深的刀痕后不必更换。"),
        ("未煮熟的四季豆含有皂素。", "未煮熟的四季豆不含皂素。"),
        ("冷藏不能杀灭细菌。", "冷藏能够杀灭细菌。"),
        ("肉毒杆菌是一种在缺氧环境中生长的细菌。", "肉毒杆菌不是一种在缺氧环境中生长的细菌。"),
        ("熟食在室温下放置的时间不应超过2小时。", "熟食在室温下放置的时间可以超过2小时。"),
    ],
)
def test_a_claim_without_an_exact_number_is_negated(text, false):
    assert made_false(text).reason == "needs_model"
    outcome = made_false(text, **NEGATED)
    assert isinstance(outcome, Kept), outcome
    payload = outcome.row.payload
    assert (payload.text, payload.label, payload.quote, payload.gold) == (false, "false", text, (text,))
    assert outcome.row.produced_by.rule == "false_claims/negation"


def test_an_exact_number_is_changed_first():
    outcome = made_false("煮沸消毒餐具应当持续3分钟。", order=["number", "negation"], number={"small": 1})
    assert outcome.row.payload.text in {f"煮沸消毒餐具应当持续{n}分钟。" for n in (2, 4)}
    assert outcome.row.produced_by.rule == "false_claims/number"


def test_english_is_its_data():
    assert made_false("Honey should not be given to babies.", "en", **NEGATED).row.payload.text == (
        "Honey may safely be given to babies."
    )
    assert made_false("Zinc shortens diarrhoea in children.", "en").reason == "needs_model"
    assert made_false("The fridge should be kept at 4 degrees.", "en").row.produced_by.rule == "false_claims/number"
    assert made_false("Children need at least 9 hours of sleep.", "en").reason == "needs_model"


@pytest.mark.parametrize("more", [{"label": "false"}, {"label": "unknown"}, {"about": "text"}, {"asked": True}])
def test_only_true_claims_about_the_world_are_made_false(more):
    [outcome] = falsifier().map(claim("孕妇不宜食用生鱼片。", **more), {})
    assert outcome == NotApplicable("not_a_true_claim")


def by_model(text: str, *replies: str, **spec: Any) -> Any:
    step = falsifier(strategy="model", model=MODEL, repair_rounds=0, **spec)
    return talk(step, claim(text), *replies)[0][0]


def test_a_model_may_change_one_detail():
    outcome = by_model("鲜黄花菜含有秋水仙碱。", "改写：鲜黄花菜含有龙葵素。")
    assert isinstance(outcome, Kept), outcome
    assert outcome.row.payload.text == "鲜黄花菜含有龙葵素。"
    assert outcome.row.produced_by.rule == "false_claims/model/zh/false_claims.j2"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("鲜黄花菜含有秋水仙碱。", "same_claim"),
        ("鲜黄花菜不含有秋水仙碱。", "polarity_changed"),
        ("鲜黄花菜可能含有龙葵素。", "hedged"),
        ("说鲜黄花菜含有秋水仙碱是错误的。", "leaks_verdict"),
        ("鲜黄花菜含有维生素。它很好吃。", "not_one_sentence"),
        ("木耳在浸泡很长时间以后会产生米酵菌酸这种毒素。", "changed_elsewhere"),
        ("鲜黄花菜含有。", "changed_elsewhere"),
        ("鲜黄花菜含有黄花菜。", "in_gold"),
    ],
)
def test_what_a_model_writes_is_checked(reply, reason):
    outcome = by_model("鲜黄花菜含有秋水仙碱。", reply)
    assert isinstance(outcome, Dropped)
    assert outcome.reason == reason


def test_a_false_claim_belongs_to_the_fact_that_it_contradicts():
    true = claim("煮沸消毒餐具的时间为15分钟。")
    [made] = falsifier().map(true, {})
    step = make("state_claim", {})
    [[stated], [denied]] = (step.map(row, {}) for row in (true, made.row))
    assert (stated.row.polarity, denied.row.polarity) == ("true", "false")
    assert stated.row.fact == denied.row.fact == true.id
    ask = make("ask_true_or_false", {"sentence": "{claim}对吗？", "polarity": "all"})
    asked = [outcome.row for row in (stated.row, denied.row) for outcome in ask.map(row, {})]
    assert [(row.expected, row.form) for row in asked] == [("yes", "claim"), ("no", "claim")]
    assert (stated.row.form, stated.row.wrong_from, denied.row.wrong_from) == ("claim", "listed", "number")


@pytest.mark.parametrize(
    ("more", "reason"), [({"label": "unknown"}, "unknown_label"), ({"asked": True}, "is_question")]
)
def test_what_has_no_truth_value_is_not_stated(more, reason):
    assert make("state_claim", {}).map(claim("蜂蜜可能含有芽孢。", **more), {}) == [NotApplicable(reason)]
