import random
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from fake_judges import examples

from benchbuilder.core.errors import DataError
from benchbuilder.evaluation.judge_report.probe_spec import Probe, ProbeLimits, ProbesSpec, load_probes
from benchbuilder.evaluation.judge_report.robustness_card import probe_pairs

RECIPES = Path(__file__).parents[3] / "recipes" / "probes"
FACTS = {"negations": ["不"], "harmless": ["不良"]}


def probe(by, **changes):
    given = {
        "group": "any",
        "label": {"en": "x"},
        "meaning": {"en": "x"},
        "expect": "same",
        "by": by,
        "delta": {"warn": 0.1, "fail": 0.2},
    }
    return Probe.model_validate({**given, **changes})


def file(**changes):
    given = {"language": "zh", "cases": 1000, "min_cases": 2, "probes": {}, **FACTS}
    return ProbesSpec.model_validate({**given, **changes})


def changed(by, made=None, **changes):
    return probe_pairs(probe(by, **changes), made or examples(12), file(), 0.5, 7)


def told(by, answer):
    """What a probe makes of one answer."""
    example = examples(1)[0]
    found = changed(by, [replace(example, case=replace(example.case, answer=answer))])
    return found[0].after.answer if found else None


@pytest.mark.parametrize("language", ["zh", "en"])
def test_bundled_probes_say_all_in_both_languages(language):
    found = load_probes(RECIPES / f"{language}.yaml")
    assert found.language == language
    for name, one in found.probes.items():
        assert one is not None, name
        assert set(one.label) == set(one.meaning) == {"en", "zh"}, name
    groups = {one.group for one in found.probes.values() if one}
    assert groups == {
        "length",
        "style",
        "authority",
        "hedging",
        "facts",
        "evidence",
        "injection",
        "form",
        "repeatability",
    }


def test_the_issue_is_covered_by_name():
    names = set(load_probes(RECIPES / "zh.yaml").probes)
    assert {"padding", "authority", "hedging", "negation", "entity_swap", "evidence_dropped", "evidence_swapped",
            "evidence_shuffled", "injection", "width", "traditional", "repeatability"} <= names  # fmt: skip


@pytest.mark.parametrize(
    ("by", "answer", "after"),
    [
        ({"change": "append", "texts": ["。完"]}, "可以吃", "可以吃。完"),
        ({"change": "append", "texts": ["{answer}"]}, "可以{吃}", "可以{吃}可以{吃}"),
        ({"change": "prepend", "texts": ["可能"]}, "可以吃", "可能可以吃"),
        ({"change": "wrap", "texts": ["您好！{answer}再见。"]}, "可以吃", "您好！可以吃再见。"),
        ({"change": "lines", "ends": "。", "bullet": "- "}, "多喝水。多休息。", "- 多喝水。\n- 多休息。"),
        ({"change": "words", "words": {"一定": "可能", "一定要": "可以"}}, "一定要吃，一定好", "可以吃，可能好"),
        ({"change": "words", "words": {"一定": "可能"}}, "要吃", None),
        ({"change": "wide"}, "每天0.4 mg（a）", "每天０．４ ｍｇ（ａ）"),
        ({"change": "wide"}, "每天一次", None),
        ({"change": "script", "conversion": "s2t"}, "孕妇补充叶酸", "孕婦補充葉酸"),
    ],
)
def test_changes_of_answers(by, answer, after):
    assert told(by, answer) == after


def test_empty_answers_are_left_out():
    assert told({"change": "append", "texts": ["x"]}, " \n") is None


def test_statements_differ_by_a_negation_or_by_something_else_and_count_once_per_item():
    by_item = {example.case.right: example for example in examples(12)}
    for kind, types in (("negation", {"tf"}), ("swap", {"oe"})):
        found = changed({"change": "false_statement", "by": kind}, expect="fall", delta={"warn": 0.5, "fail": 0.2})
        assert len(found) == 6
        assert {pair.before.type for pair in found} == types
        for pair in found:
            assert (pair.before.answer, pair.after.answer) == (pair.before.right, pair.before.wrong)
            assert by_item[pair.before.right].family == pair.family


def test_words_that_only_look_like_a_negation_make_none():
    example = examples(1)[0]
    case = replace(example.case, right="可引起早产。", wrong="可引起不良反应。")
    by = {"change": "false_statement", "by": "swap"}
    found = changed(by, [replace(example, case=case)], expect="fall", delta={"warn": 0.5, "fail": 0.2})
    assert len(found) == 1


@pytest.mark.parametrize(
    ("right", "wrong", "kind"),
    [
        ("应采用低苯丙氨酸饮食。", "应采用无乳糖配方奶。", "swap"),
        ("最可能是胎儿水肿。", "最可能是胎位不正。", "swap"),
        ("孕妇可以接种疫苗。", "孕妇不能接种疫苗。", "negation"),
        ("孕妇应该补充叶酸。", "孕妇不应补充叶酸。", "negation"),
        ("孕妇无需补充叶酸。", "孕妇需要补充叶酸。", "negation"),
        ("可引起不良反应。", "不可引起不足反应。", "negation"),
    ],
)
def test_another_word_that_holds_a_negation_is_no_negation(right, wrong, kind):
    example = examples(1)[0]
    made = [replace(example, case=replace(example.case, right=right, wrong=wrong))]
    bundled = load_probes(RECIPES / "zh.yaml")
    for by, name in (("negation", "negation"), ("swap", "entity_swap")):
        assert len(probe_pairs(bundled.probes[name], made, bundled, 0.5, 7)) == (by == kind)


def test_statements_that_several_items_share_are_asked_about_once():
    example = examples(1)[0]
    again = replace(example, item="item-again", case=replace(example.case, question="换一种问法？", type="oe"))
    by = {"change": "false_statement", "by": "negation"}
    assert len(changed(by, [example, again], expect="fall", delta={"warn": 0.5, "fail": 0.2})) == 1


@pytest.mark.parametrize("language", ["zh", "en"])
def test_injections_try_to_close_the_tags_of_prompts(language):
    texts = load_probes(RECIPES / f"{language}.yaml").probes["injection"].by.texts
    assert any("</answer>" in text and text.rstrip().endswith("1.0") for text in texts)
    assert any(text.endswith("<answer>") for text in texts)


def test_evidence_is_dropped_shuffled_or_of_another_family():
    made = examples(12)
    belongs = {text: example.family for example in made for text in example.case.evidence}
    for pair in changed({"change": "evidence_dropped"}, made):
        assert pair.after.evidence == ()
        assert pair.before.evidence
    for pair in changed({"change": "evidence_shuffled"}, made):
        assert pair.after.evidence != pair.before.evidence
        assert sorted(pair.after.evidence) == sorted(pair.before.evidence)
    swapped = changed({"change": "evidence_swapped"}, made)
    assert swapped
    assert all(belongs[text] != pair.family for pair in swapped for text in pair.after.evidence)


def test_no_evidence_no_probe_of_evidence():
    bare = [replace(example, case=example.case.without_evidence()) for example in examples(6)]
    assert not changed({"change": "evidence_dropped"}, bare)
    assert not changed({"change": "evidence_swapped"}, bare)
    assert not changed({"change": "evidence_shuffled"}, bare)


def test_only_good_or_bad_answers_where_the_probe_says_so():
    made = examples(12)
    by = {"change": "append", "texts": ["x"]}
    good = {example.case for example in made if example.target >= 0.5}
    bad = {example.case for example in made if example.target < 0.5}
    assert {pair.before for pair in changed(by, made, of="good")} == good
    assert {pair.before for pair in changed(by, made, of="bad")} == bad


def test_the_cap_takes_the_same_cases_in_any_order():
    made = examples(30)
    shuffled = list(made)
    random.Random(1).shuffle(shuffled)
    by = probe({"change": "append", "texts": ["甲", "乙", "丙"]})
    first, second = (probe_pairs(by, order, file(cases=9), 0.5, 7) for order in (made, shuffled))
    assert first == second
    assert len(first) == 9
    assert len({pair.after.answer[-1] for pair in first}) > 1
    assert probe_pairs(by, made, file(cases=9), 0.5, 8) != first


def test_limits_must_stand_in_order():
    with pytest.raises(ValueError, match="above"):
        probe({"change": "wide"}, delta={"warn": 0.2, "fail": 0.1})
    with pytest.raises(ValueError, match="below"):
        probe({"change": "false_statement", "by": "swap"}, expect="fall", delta={"warn": 0.2, "fail": 0.5})
    assert ProbeLimits(warn=0.1).fail is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("probes: [", "cannot be read"),
        (yaml.safe_dump({"language": "zh", "cases": 0, "min_cases": 1, "probes": {}}), "is invalid"),
        (None, "missing"),
    ],
)
def test_a_wrong_file_is_named(tmp_path, text, words):
    path = tmp_path / "probes.yaml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=words) as caught:
        load_probes(path)
    assert str(path) in caught.value.where
