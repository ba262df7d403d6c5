import random
from dataclasses import replace
from pathlib import Path

import pytest
from fake_judges import BOOTSTRAP, FakeJudge, examples, sound

from benchbuilder.evaluation.judge_report.probe_spec import ProbeLimits, load_probes
from benchbuilder.evaluation.judge_report.robustness_card import probe_findings, probe_verdict, verdict_counts
from benchbuilder.evaluation.stats.intervals import Estimate

FILE = load_probes(Path(__file__).parents[3] / "recipes" / "probes" / "zh.yaml")

MADE = examples(40)


def card(rule, *, evidence=True, made=MADE, statements=True):
    judge = FakeJudge(rule, evidence=evidence)
    return {f.name: f for f in probe_findings(judge, made, FILE, BOOTSTRAP, threshold=0.5, statements=statements)}


def verdicts(found):
    return {name: finding.verdict for name, finding in found.items()}


def test_a_sound_judge_passes_everything():
    found = card(sound)
    assert set(verdicts(found).values()) == {"pass"}, verdicts(found)
    assert found["negation"].delta.value == pytest.approx(-0.85)
    assert found["negation"].flips.value == 1.0
    assert verdict_counts(list(found.values())) == {"pass": len(FILE.probes), "warn": 0, "fail": 0, "open": 0}


def test_a_judge_that_loves_length_fails_length_and_not_form():
    found = verdicts(card(lambda case: min(1.0, len(case.answer) / 60)))
    assert {found[name] for name in ("padding", "repeated", "length_partial", "polite")} == {"fail"}
    assert {found[name] for name in ("width", "traditional", "repeatability", "evidence_shuffled")} == {"pass"}


def test_a_judge_that_is_blind_to_negation_fails_it_and_sees_entities():
    found = card(lambda case: sound(case) if case.type == "oe" else 0.9)
    assert found["negation"].verdict == "fail"
    assert found["negation"].delta.value == 0.0
    assert found["entity_swap"].verdict == "pass"


def test_a_judge_that_is_blind_to_entities_fails_them():
    found = card(lambda case: 0.1 if "不" in case.answer.replace("不同", "") else 0.9)
    assert found["entity_swap"].verdict == "fail"
    assert found["negation"].verdict == "pass"


def test_a_judge_that_parrots_scores_fails_injection():
    def parrot(case):
        return 1.0 if "1.0" in case.answer else sound(case)

    found = verdicts(card(parrot))
    assert found.pop("injection") == "fail"
    assert set(found.values()) == {"pass"}


def test_a_judge_that_believes_authority_fails_only_that():
    def meek(case):
        return 0.9 if any(word in case.answer for word in ("指南", "专家", "参考文献")) else sound(case)

    found = verdicts(card(meek))
    assert found.pop("authority") == "fail"
    assert set(found.values()) == {"pass"}


def test_a_judge_that_needs_simplified_characters_fails_script_alone():
    def narrow(case):
        return 0.1 if "婦" in case.answer else sound(case)

    found = verdicts(card(narrow))
    assert found.pop("traditional") == "fail"
    assert set(found.values()) == {"pass"}


def test_a_judge_that_depends_on_the_first_paragraph_fails_order():
    def hasty(case):
        first = case.evidence[0] if case.evidence else ""
        return sound(case) if case.right.rstrip("。") in first else 0.2

    assert verdicts(card(hasty))["evidence_shuffled"] == "fail"


def test_a_judge_that_ignores_evidence_fails_on_it():
    found = verdicts(card(lambda case: 0.1 if case.right.rstrip("。") not in case.answer else 0.9))
    assert found["evidence_swapped"] == "fail"
    assert found["evidence_dropped"] == "pass"


def test_a_judge_that_is_given_no_evidence_is_not_asked_about_it():
    found = card(sound, evidence=False)
    for name in ("evidence_dropped", "evidence_swapped", "evidence_shuffled"):
        assert (found[name].verdict, found[name].why) == ("open", "unread")


def test_a_moody_judge_fails_repeatability():
    rng = random.Random(5)
    assert verdicts(card(lambda case: sound(case) * rng.random()))["repeatability"] == "fail"


def test_what_does_not_hang_on_truth_is_not_probed_by_false_statements():
    found = card(sound, statements=False)
    for name in ("negation", "entity_swap", "evidence_swapped"):
        assert (found[name].verdict, found[name].why) == ("open", "aspect")
    assert found["evidence_shuffled"].verdict == "pass"
    bad = {example.case for example in MADE if example.target < 0.5}
    assert found["injection"].delta.n == min(len(bad), FILE.cases)


def test_too_few_answers_decide_nothing():
    found = card(sound, made=examples(4))
    assert found["negation"].verdict == "open"
    assert found["negation"].why == "few"
    assert found["negation"].delta.value is not None


@pytest.mark.parametrize("rule", [lambda case: 0.7, lambda case: 0.5 + len(case.answer) % 3 / 200])
def test_a_judge_that_scores_all_alike_passes_nothing(rule):
    found = card(rule)
    for name, finding in found.items():
        fall = FILE.probes[name].expect == "fall"
        assert (finding.verdict, finding.why) == (("fail", "") if fall else ("open", "constant")), name


def test_people_who_score_all_alike_make_no_judge_constant():
    alike = [replace(example, target=0.9) for example in MADE]
    assert card(sound, made=alike)["padding"].verdict == "pass"


def test_the_card_does_not_depend_on_the_order_of_the_examples():
    shuffled = list(MADE)
    random.Random(2).shuffle(shuffled)
    assert card(sound) == card(sound, made=shuffled)


def test_each_case_is_scored_once_before_all_changes():
    judge = FakeJudge(sound)
    probe_findings(judge, MADE, FILE, BOOTSTRAP, threshold=0.5, statements=True)
    per_probe = FILE.cases
    assert judge.asked <= per_probe * (len(FILE.probes) + 3) + 2 * len(MADE)


def estimate(value, low, high):
    return Estimate(value, low, high, 100, 50)


@pytest.mark.parametrize(
    ("name", "found", "verdict"),
    [
        # limits of padding (must not rise): 0.05 / 0.10
        ("padding", (-0.40, -0.50, -0.30), "pass"),
        ("padding", (0.05, 0.00, 0.10), "pass"),
        ("padding", (0.04, -0.05, 0.13), "warn"),
        ("padding", (0.07, 0.06, 0.08), "warn"),
        ("padding", (0.12, 0.04, 0.20), "warn"),
        ("padding", (0.12, 0.06, 0.18), "fail"),
        # limits of bullets (must stay): 0.05 / 0.10
        ("bullets", (-0.12, -0.18, -0.06), "fail"),
        ("bullets", (-0.12, -0.26, 0.02), "warn"),
        ("bullets", (0.01, -0.02, 0.04), "pass"),
        # limits of negation (must fall): 0.50 / 0.20
        ("negation", (-0.60, -0.70, -0.50), "pass"),
        ("negation", (-0.55, -0.95, -0.15), "warn"),
        ("negation", (-0.35, -0.40, -0.30), "warn"),
        ("negation", (-0.10, -0.30, 0.10), "fail"),
        ("negation", (-0.10, -0.60, 0.40), "warn"),
        ("negation", (0.10, 0.05, 0.15), "fail"),
    ],
)
def test_verdicts_take_the_interval_into_account(name, found, verdict):
    probe = FILE.probes[name]
    assert probe_verdict(probe, estimate(*found), probe.delta) == verdict


def test_shares_of_flips_have_their_own_limits_and_direction():
    fall = FILE.probes["negation"]
    assert probe_verdict(fall, estimate(0.9, 0.8, 1.0), fall.flip, flip_rate=True) == "pass"
    assert probe_verdict(fall, estimate(0.3, 0.2, 0.4), fall.flip, flip_rate=True) == "fail"
    stay = FILE.probes["bullets"]
    assert probe_verdict(stay, estimate(0.3, 0.2, 0.4), stay.flip, flip_rate=True) == "fail"


def test_without_an_upper_limit_nothing_fails():
    probe = FILE.probes["evidence_swapped"]
    assert probe_verdict(probe, estimate(0.3, 0.2, 0.4), ProbeLimits(warn=0.02, fail=None)) == "warn"
    assert probe_verdict(probe, estimate(0.0, 0.0, 0.0), probe.delta) == "fail"
