"""What the verifier without a model reads: negation in many forms, order of mention, reports, numbers, quotes."""

from __future__ import annotations

import pytest
from claim_cases import CITY, DRUG, LISTS, THERAPY, TOWN, stances, verified, verifier, word_list

from benchbuilder.core import AnswerClaim
from benchbuilder.core.errors import DataError, RecipeError
from benchbuilder.evaluation.claims.by_rule import LexicalVerifierSpec, check_language
from benchbuilder.evaluation.claims.lexical import check_claim_words
from benchbuilder.evaluation.claims.words import ClaimWords
from benchbuilder.evaluation.judges.base import Case

S, D, N = {"says"}, {"denies"}, set[str]()

STANCES: list[tuple[Case, str, set[str], set[str]]] = [
    (TOWN, "The capital is not Morbach but Lindau.", S, D),
    (TOWN, "Lindau, not Morbach, is the capital.", S, D),
    (TOWN, "Contrary to popular belief, Morbach is not the capital of the province.", N, D),
    (TOWN, "Morbach can be ruled out. The seat is Lindau.", S, D),
    (TOWN, "It used to be thought that Morbach was the capital.", N, N),
    (TOWN, "Is it Morbach? No. It is Lindau.", S, N),
    (TOWN, "I first thought of Morbach, but Lindau is the capital.", S, N),
    (TOWN, "Neither Lindau nor Morbach is the capital.", D, D),
    (TOWN, "Far from being Morbach, the capital is Lindau.", S, D),
    (TOWN, "Morbach is the largest port of the province.", N, N),
    (TOWN, "Morbach.", N, S),
    (TOWN, "It would be wrong to call Morbach the capital.", N, D),
    (TOWN, "Nobody would call Lindau the capital.", D, N),
    (TOWN, "There is no doubt that Lindau is the capital.", S, N),
    (TOWN, "Answer: **Lindau**", S, N),
    (TOWN, "Morbach is the capital. Wait, no: it is Lindau.", S, N),
    (TOWN, "Some say Morbach is the capital. That is wrong.", N, N),
    (TOWN, "Some say Morbach is the capital, but that is wrong.", N, D),
    (TOWN, "Both Lindau and Morbach are the capital of the province.", S, S),
    (DRUG, "Gentamicin is not needed; start penicillin.", S, D),
    (DRUG, "Gentamicin is only added in severe cases.", N, N),
    (DRUG, "Give gentamicin. Penicillin is unnecessary.", D, S),
    (DRUG, "Penicillin can wait.", D, N),
    (DRUG, "Penicillin cannot wait.", S, N),
    (DRUG, "Use penicillin instead of gentamicin.", S, D),
    (DRUG, "Giving gentamicin is dangerous.", N, D),
    (CITY, "省会不是北岭市而是临江市。", S, D),
    (CITY, "很多人误以为省会是北岭市，其实是临江市。", S, N),
    (CITY, "有人认为北岭市是省会，这是错误的。", N, D),
    (CITY, "北岭市是某省最大的港口城市。", N, N),
    (CITY, "不能说临江市不是省会。", S, N),
    (CITY, "省会绝非临江市。", D, N),
    (CITY, "省会是北岭市？不，是临江市。", S, N),
    (CITY, "省会是北岭市……不对，是临江市。", S, N),
    (CITY, "省会可能是北岭市。", N, S),
    (CITY, "有人认为北岭市是省会，我同意这种看法。", N, S),
    (THERAPY, "无需使用庆大霉素，应首选青霉素。", S, D),
    (THERAPY, "不推荐使用青霉素，首选庆大霉素。", D, S),
    (THERAPY, "青霉素可以不用。", D, N),
    (THERAPY, "与其用庆大霉素，不如用青霉素。", S, D),
    (THERAPY, "首选青霉素，而不是庆大霉素。", S, D),
    (THERAPY, "重症可加用庆大霉素。", N, N),
]


@pytest.mark.parametrize(("case", "answer", "right", "wrong"), STANCES)
def test_it_reads_what_an_answer_does_with_the_statements(case: Case, answer: str, right: set[str], wrong: set[str]):
    assert stances(case, answer) == (right, wrong)


APART = [
    ("该病属于显性遗传。", "该病属于隐性遗传。", "显性遗传", "隐性"),
    ("疫苗的接种途径是皮内注射。", "疫苗的接种途径是皮下注射。", "接种在皮内", "皮下"),
    ("最主要的原因是维生素B1缺乏。", "最主要的原因是维生素C缺乏。", "原因是缺乏维生素B1", "维生素C缺乏"),
    ("症状消失的时间为12周左右。", "症状消失的时间为36周左右。", "约12周症状消失", "36周时消失"),
    ("评分3分属于重度窒息。", "评分3分属于轻度窒息。", "重度", "轻度"),
    ("控制血糖首选胰岛素。", "控制血糖首选糖皮质激素。", "首选胰岛素", "首选糖皮质激素"),
    ("复查的时间为产后42天。", "复查的时间为产后14天。", "产后42天复查", "14天复查"),
]


@pytest.mark.parametrize(("right", "wrong", "says_right", "says_wrong"), APART)
def test_statements_that_differ_in_a_part_of_a_word_are_told_apart(
    right: str, wrong: str, says_right: str, says_wrong: str
):
    case = Case("问题是什么？", "", (right,), right, wrong, "oe")
    assert stances(case, f"{says_right}。") == (S, N)
    assert stances(case, f"{says_wrong}。") == (N, S)


def test_what_the_question_denies_too_turns_no_answer():
    case = Case(
        "维生素D缺乏性佝偻病的原因是什么？",
        "",
        ("维生素D缺乏性佝偻病的原因是日照太少。",),
        "日照太少",
        "运动太多",
        "oe",
    )
    assert stances(case, "维生素D缺乏性佝偻病的原因是日照太少。") == (S, N)
    assert stances(case, "维生素D缺乏性佝偻病的原因不是日照太少。") == (D, N)


VERDICTS = [
    (DRUG, "The course takes 10 days.", "supported"),
    (DRUG, "The course takes ten days.", "supported"),
    (DRUG, "The course takes 14 days.", "contradicted"),
    (DRUG, "It must be given with milk.", "contradicted"),
    (DRUG, "It costs little in most countries.", "not_addressed"),
    (TOWN, "Morbach lies on the river.", "contradicted"),
    (TOWN, "Lindau lies on the river.", "supported"),
    (THERAPY, "疗程为10天。", "supported"),
    (THERAPY, "疗程为三十天。", "contradicted"),
    (THERAPY, "该药由霉菌产生。", "not_addressed"),
]


@pytest.mark.parametrize(("case", "answer", "verdict"), VERDICTS)
def test_a_claim_is_held_against_the_paragraphs(case: Case, answer: str, verdict: str):
    (part,) = verified(case, answer)
    assert (part.kind, part.verdict) == ("claim", verdict)


def test_a_verdict_names_the_sentence_that_shows_it():
    (part,) = verified(TOWN, "Morbach is the largest port.")
    assert part.quote is not None
    paragraph, start, end = part.quote
    assert TOWN.evidence[paragraph][start:end] == "Morbach is the largest port of the province."
    assert verified(DRUG, "It costs little in most countries.")[0].quote is None


KINDS = [
    ("I'm sorry, but I can't help with that.", "refuses"),
    ("I am not sure.", "abstains"),
    ("Please see a doctor.", "none"),
    ("## Answer", "none"),
    ("Hello and thanks for the question!", "none"),
    ("People say that it is Morbach.", "reported"),
    ("What is the capital of the province?", "none"),
    ("抱歉，我不能回答。", "refuses"),
    ("这个问题我不确定。", "abstains"),
    ("请咨询专业人士。", "none"),
    ("据说省会是北岭市。", "reported"),
]


@pytest.mark.parametrize(("answer", "kind"), KINDS)
def test_what_is_no_claim_has_no_verdict(answer: str, kind: str):
    case = TOWN if answer.isascii() else CITY
    found = verified(case, answer)
    assert kind in {part.kind for part in found}
    assert all(not part.verdict for part in found if part.kind != "claim")


def test_what_is_taken_back_names_the_part_that_does_so():
    first, *_, last = verified(TOWN, "Morbach is the capital. Wait, no: it is Lindau.")
    assert (first.wrong, first.taken_back_by, last.right) == ("says", 2, "says")


def test_an_answer_in_another_language_is_split_and_not_read():
    found = verified(TOWN, "省会是临江市，不是北岭市。")
    assert [(part.verdict, part.note) for part in found] == [("not_addressed", "other_language")] * 2


def test_statements_that_differ_by_a_negation_alone_are_told_apart():
    case = Case("May it be given with milk?", "", (), "It may be given with milk.", "It may not be given with milk.")
    assert stances(case, "It may be given with milk.") == (S, D)
    assert stances(case, "It may not be given with milk.") == (D, S)


def test_the_order_of_answers_changes_nothing():
    answers = [answer for case, answer, _, _ in STANCES if case is TOWN]
    forth = [verified(TOWN, answer) for answer in answers]
    verifier.cache_clear()
    assert [verified(TOWN, answer) for answer in reversed(answers)] == forth[::-1]


def test_every_kind_and_stance_fits_the_row():
    fields = AnswerClaim.model_fields
    parts = [part for case, answer, _, _ in STANCES for part in verified(case, answer)]
    for name in ("kind", "verdict", "right", "wrong"):
        assert {getattr(part, name) for part in parts} <= set(fields[name].annotation.__args__)  # type: ignore[union-attr]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_bundled_lists_read_their_own_examples(language: str):
    examples = word_list(language).examples
    assert sum(len(one.answers) for one in examples) >= 10
    assert {answer.kind for one in examples for answer in one.answers} >= {"reported", "abstains", "refuses"}


def test_a_list_that_misreads_an_example_is_refused(tmp_path):
    path = tmp_path / "xx.yaml"
    example = (
        "examples: [{question: q?, right: It is lindau., wrong: It is morbach., answers: [{answer: It is lindau.}]}]"
    )
    path.write_text(example, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        check_claim_words(path)
    assert "the right statement reads says, not none" in str(caught.value)
    assert str(path) in str(caught.value)


def test_without_a_list_the_rule_is_refused_and_says_what_to_write():
    with pytest.raises(ValueError, match=r"recipes/claims/en\.yaml"):
        LexicalVerifierSpec.model_validate({"kind": "lexical", "words": []})


def test_a_language_without_a_list_is_refused_by_its_name():
    spec = LexicalVerifierSpec.model_validate({"kind": "lexical", "words": [str(LISTS / "en.yaml")]})
    check_language(spec, "en-GB", "evaluation.answer_claims")
    with pytest.raises(RecipeError) as caught:
        check_language(spec, "es", "evaluation.judges.mine.verifier")
    assert caught.value.problems[0].key == "evaluation.judges.mine.verifier.words"
    assert "no word list is in the language of the items" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "plain"),
    [("百分之二十", "20%"), ("三年", "3年"), ("二十四小时", "24小时"), ("一般", "一般"), ("１２ｍｇ", "12mg"),
     ("一百二十克", "120克"), ("４，０００ 元", "4000 元"), ("2厘米", "2cm")],
)  # fmt: skip
def test_numbers_and_units_are_read_in_any_form(text: str, plain: str):
    assert word_list("zh").plain(text) == plain
    assert isinstance(word_list("zh"), ClaimWords)
