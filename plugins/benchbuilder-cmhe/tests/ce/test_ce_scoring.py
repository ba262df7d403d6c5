"""What the recipe's scorer reads out of what models say when they choose."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from benchbuilder.core.context import StepContext
from benchbuilder.core.records.payloads import Item, Option
from benchbuilder.core.records.roles import Answer
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.evaluation.published import load_published_results
from benchbuilder.evaluation.scorers.exact import ExactScorer, ExactSpec

import benchbuilder_cmhe
from benchbuilder_cmhe.ce.concept import ConceptQuestion

CONTEXT = StepContext(seed=7, language="zh", step="choice.m", cache=Path(), workplace=Path())
RECIPES = Path(benchbuilder_cmhe.__file__).parent / "recipes"
TEXTS = ("2型糖尿病", "痛风", "代谢性疾病", "心电图检查")
OPTIONS = tuple(Option(key=key, text=text) for key, text in zip("ABCD", TEXTS, strict=True))
ITEM = Item[ConceptQuestion].build(
    origin=Origin(file="terms.tsv", line=1),
    produced_by=ProducedBy(rule="ask_concept"),
    language="zh",
    partition="disease",
    candidate="c",
    fact="f",
    reviewed=False,
    payload=ConceptQuestion(
        concept="T1",
        concept_class="disease",
        aspect="symptoms",
        names=("痛风",),
        mask="【某疾病】",
        question="“痛风”有哪些症状？",
        options=OPTIONS,
        answer_key="B",
        answer="痛风",
    ),
)


def label(text: str) -> str:
    spec = yaml.safe_load((RECIPES / "evaluation" / "cmhe_ce.yaml").read_text("utf-8"))["scorers"]["choice"]
    scorer = ExactScorer(ExactSpec.model_validate(spec), CONTEXT)
    answer = Answer.child(ITEM, produced_by=ProducedBy(rule="answer"), model="m", text=text)
    (marks,) = scorer.score([(answer, ITEM)])
    assert isinstance(marks, tuple)
    return marks[0].label


@pytest.mark.parametrize(
    "text",
    [
        "B", "B.", "B。", "Ｂ", "B. 痛风", "B、痛风", "痛风", "答案：B", "答案是B。", "答案为：B. 痛风", "选B",
        "选择B项。", "应选 B", "**B**", "【某疾病】最可能是B。", "说明提到关节红肿热痛，因此最可能的疾病是痛风。",
        "最符合的是：B. 痛风",
        "A不对，血糖没有提到；C太宽。\n答案：B", "我选择的是B",
    ],
)  # fmt: skip
def test_a_choice_is_read_however_it_is_put(text: str) -> None:
    assert label(text) == "right"


@pytest.mark.parametrize("text", ["A", "答案：C", "选D。心电图检查", "最可能是2型糖尿病"])
def test_another_choice_is_wrong(text: str) -> None:
    assert label(text) == "wrong"


@pytest.mark.parametrize(
    "text", ["无法判断", "A或B", "答案：A、B", "都不是", "A. 2型糖尿病\nB. 痛风\nC. 代谢性疾病\nD. 心电图检查"]
)
def test_what_names_none_or_several_is_no_choice(text: str) -> None:
    assert label(text) == "invalid"


def test_published_figures_agree_with_the_weights_that_were_published() -> None:
    table = load_published_results(RECIPES / "published" / "cmhe_ce.yaml").tables["accuracy_by_concept"]
    shares = {"disease": 0.716, "medicine": 0.177, "test": 0.107}
    for row in table.rows.values():
        cells = dict(zip(table.sources, row.cells, strict=True))
        assert sum(shares[name] * cells[name] for name in shares) == pytest.approx(cells["all"], abs=0.0015)
