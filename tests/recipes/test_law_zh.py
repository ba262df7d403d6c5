"""What the bundled recipe `law_zh` promises: several right answers, options that are claims, offline, accounts."""

from __future__ import annotations

import filecmp
import json
from pathlib import Path

import make_sample_votes as maker
import pytest
from bundled_builds import ENDS, built, evaluated, shared, warnings
from claim_rows import choice, kept, make

from benchbuilder.config.load import load_recipe
from benchbuilder.core.text.patterns import find_all, match_groups
from benchbuilder.core.text.templates import fill_template
from benchbuilder.core.text.wordlist import load_words

LAW = Path(__file__).parents[2] / "recipes" / "recipe" / "law_zh"
SAMPLE = LAW / "sample"


@pytest.fixture(scope="module")
def made(once, tmp_path_factory):
    return shared(once, "law_zh", tmp_path_factory.mktemp("law"))


@pytest.fixture(scope="module")
def questions():
    files = (SAMPLE / "jec_qa" / f"jec-qa-{name}.jsonl" for name in ("kd", "ca"))
    return {
        (path.name, number): json.loads(line)
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    }


def asked_at(row, questions):
    return questions[Path(row.origin.file).name, row.origin.line]


@pytest.mark.full
def test_check_is_clean():
    assert warnings("law_zh") == []
    assert warnings("law_zh", "annotation=app_zh_law") == []


@pytest.mark.push
def test_the_sample_has_what_real_files_have(questions):
    assert 40 <= len(questions) <= 60
    sizes = {len(row["label"]) for row in questions.values()}
    assert {0, 1, 2, 3, 4} <= sizes
    assert any(row["question"].endswith(("不正确的是:", "错误的是:")) for row in questions.values())
    words = load_words(LAW / "words.txt")
    assert len(words) >= 120


def test_every_unit_ends_somewhere(made):
    assert made.ends("jec_qa") <= ENDS
    assert "item" in made.ends("jec_qa")


def test_a_fact_for_each_right_option_and_no_right_option_as_a_wrong_one(made, questions):
    facts = made.rows("answers")
    several = [fact for fact in facts if len(asked_at(fact, questions)["label"]) > 1]
    assert len(several) > 25
    for fact in facts:
        asked = asked_at(fact, questions)
        turned = fact.produced_by.rule.endswith("turned")
        right = set("ABCD") - set(asked["label"]) if turned else set(asked["label"])
        assert fact.payload.answer_key in right
        assert not {option.key for option in fact.payload.wrong_options()} & right
    assert made.reasons("answers") == {"none_right": 1}
    assert made.reasons("jec_qa") == {"no_answer_key": 1, "duplicate": 1}


def test_questions_with_several_right_answers_can_be_left_out(made, tmp_path):
    fewer = built("law_zh", tmp_path, "steps.answers.several=drop", "annotation=none")
    assert fewer.reasons("answers")["several_answers"] > 15
    assert 0 < len(fewer.rows("items")) < len(made.rows("candidates"))
    assert fewer.ends("jec_qa") <= ENDS


def test_no_fact_is_stated_on_both_branches(made):
    seam, option = ({row.fact for row in made.rows(step)} for step in ("state_choice", "options"))
    assert seam
    assert option
    assert not seam & option
    lines = [{row.origin for row in made.rows(step)} for step in ("state_choice", "options")]
    assert not lines[0] & lines[1]


def test_no_question_stands_twice_and_half_expect_yes(made):
    asked = [(row.type, row.context, row.question) for row in made.rows("candidates")]
    assert len(set(asked)) == len(asked)
    assert made.reasons("replace_options_unique")["duplicate"] > 0
    expected = [row.expected for row in made.rows("candidates") if row.type == "tf"]
    assert 0.45 <= expected.count("yes") / len(expected) <= 0.55


@pytest.mark.push
@pytest.mark.parametrize(
    ("question", "form", "text"),
    [
        ("下列情形妨碍适用简易程序的是", "", ""),  # what hinders is not what applies
        ("下列权利中，属于用益物权的是", "belongs", "甲属于用益物权"),
        ("下列哪些情形应当从重处罚", "circumstances", "甲的，应当从重处罚"),
        ("下列情形可以适用简易程序的有", "circumstances", "甲的，可以适用简易程序"),
        ("下列属于根据适用范围对法进行分类的是", "", ""),
        ("关于哪些人可以担任辩护人，下列说法正确的是", "", ""),
        ("在以下条件的说法中，正确的是", "", ""),
        ("关于定金，下列说法正确的是", "claims", "甲"),
    ],
)
def test_the_form_of_a_question_says_how_its_options_are_stated(question, form, text):
    spec = load_recipe(["recipe=law_zh"], cwd=Path("/nowhere"), environ={}).recipe.steps["options"]
    found = [
        (name, fill_template(one.text, {**named, "option": "甲"})[0])
        for name, one in spec.forms.items()
        if one is not None and (named := match_groups(spec.expand_parts(one.when), question)) is not None
    ]
    assert found[:1] == ([(form, text)] if form else [])


def test_a_topic_with_which_every_option_begins_is_not_said_twice():
    spec = load_recipe(["recipe=law_zh"], cwd=Path("/nowhere"), environ={}).recipe.steps["options"]
    step = make("state_option", spec.model_dump(mode="json", exclude={"from_"}))
    question = "下列关于地役权的说法，正确的是"
    for wrong, context in (("地役权不得转让给他人", ""), ("供役地人可以随时解除合同", "关于地役权，")):
        row = kept(step.map(choice(question, "地役权自合同生效时设立", wrong), {}))
        assert (row.context, row.text) == (context, "地役权自合同生效时设立。")


@pytest.mark.push
@pytest.mark.parametrize("option", ["独立于审判机关", "探索建立征询机制", "裁定再审", "侵犯了乙的著作权"])
def test_what_has_no_subject_is_no_claim(option):
    spec = load_recipe(["recipe=law_zh"], cwd=Path("/nowhere"), environ={}).recipe.steps["options"]
    claim = spec.expand_parts(spec.forms["claims"].option)
    assert find_all(claim, "买受人可以解除合同")
    assert not find_all(claim, option)


def test_a_claim_is_answered_by_itself_or_by_its_denial(made):
    options = {row.fact for row in made.rows("options")}
    claims = [row for row in made.rows("candidates") if row.fact in options]
    assert {row.expected for row in claims} == {"yes", "no"}
    for row in claims:
        assert row.type == "tf"
        right, wrong = row.answer.removesuffix("。"), row.answer_wrong.removesuffix("。")
        assert (wrong == f"{right}，这种说法不正确") if row.expected == "yes" else (right == f"{wrong}，这种说法不正确")


def test_what_a_lawyer_would_say_of_the_sample(made):
    statements = {row.context + row.text for row in made.rows("options")}
    assert "关于诉讼时效，向人民法院请求保护民事权利的诉讼时效期间一般为三年。" in statements
    assert "居住权属于用益物权。" in statements
    assert "行政拘留属于行政处罚。" in statements
    assert "我国刑法规定的主刑包括拘役。" in statements
    assert "担任过本案证人的审判员应当回避。" in statements
    asked = [row.context + row.question for row in made.rows("candidates")]
    assert not any(word in text for text in asked for word in ("下列", "以下"))


@pytest.mark.push
def test_lawyers_are_asked_about_law():
    judging = load_recipe(["recipe=law_zh"], cwd=Path("/nowhere"), environ={}).recipe.annotation
    asked = judging.questions_about()
    assert list(asked) == ["single_answer", "norm", "accurate_answer", "supports", "fluent", "wrong_is_wrong"]
    assert not any("医" in question.text for question in asked.values())
    assert judging.min_evidence == 1


def test_the_votes_are_those_that_the_maker_makes(tmp_path):
    sample = maker.SAMPLES["law_zh"]
    maker.write(sample, tmp_path)
    names = ["a.csv", "b.csv", "meta.csv"]
    assert filecmp.cmpfiles(tmp_path, sample.folder / "votes", names, shallow=False) == (names, [], [])


def test_votes_decide_and_the_evaluation_runs_with_the_baselines(made, tmp_path):
    items = made.rows("items")
    assert items
    assert all(item.reviewed for item in items)
    assert sum(made.reasons("items").values()) > 3
    evaluation = evaluated(made, tmp_path)
    verdicts = {
        name: [row.value for row in evaluation.rows(f"verdict.{name}")] for name in ("always_agree", "always_disagree")
    }
    assert all(0.2 < sum(values) / len(values) < 0.8 for values in verdicts.values())
