"""What a relation is taken for: by its name, and by how many ends its concepts have and what these look like."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from benchbuilder.config import RecipeIndex, find_roots
from benchbuilder.core import RecipeError, Triple
from benchbuilder.pipeline import relation_words
from benchbuilder.steps import RelationNature, RelationWords, proposed_lists, relation_natures
from benchbuilder.steps.language.questions import is_one_sentence

LIBRARY = RecipeIndex(find_roots(packages=False))


@cache
def words_of(language: str) -> RelationWords:
    return relation_words(LIBRARY, language)


def natures(language: str, relation: str, pairs: list[tuple[str, str]]) -> RelationNature:
    triples = [Triple(head=head, relation=relation, tail=tail, head_terms=(head,), tail_terms=(tail,), head_type="",
                      tail_type="") for head, tail in pairs]  # fmt: skip
    (nature,) = relation_natures(triples, words_of(language))
    return nature


def each_once(tails: list[str], count: int = 24) -> list[tuple[str, str]]:
    """So many concepts with one tail each, drawn in turn."""
    return [(f"concept {n}", tails[n % len(tails)]) for n in range(count)]


@pytest.mark.parametrize(
    ("language", "relation", "pairs", "kind"),
    [
        ("zh", "就诊科室", each_once(["呼吸内科", "皮肤科", "骨科"]), "functional"),
        ("zh", "就诊科室", each_once(["呼吸内科", "皮肤科", "骨科"], 12), "checkable"),
        ("zh", "就诊科室", [*each_once(["呼吸内科", "皮肤科"]), ("concept 0", "骨科")], "checkable"),
        ("zh", "治疗周期", each_once(["1-3个月", "7天", "一周", "半年左右", "终身"]), "ranges"),
        ("zh", "建成年份", each_once(["605年", "1192年", "公元前256年", "1998年5月"]), "functional"),
        ("zh", "年限", each_once(["3年", "1–3年", "300年以上"]), "ranges"),
        ("zh", "百分比", each_once(["1%～2%", "30％"]), "ranges"),
        ("zh", "宜吃", each_once(["苹果", "鸡蛋"]), "preferences"),
        ("zh", "临床表现", each_once(["发热", "咳嗽"]), "open"),
        ("zh", "有不良反应", each_once(["头晕", "皮疹"]), "open"),
        ("zh", "处理", [(f"病{n}", way) for n in range(30) for way in ("药物治疗", "手术治疗")], "kinds"),
        ("zh", "别名", each_once(["甲、乙", "丙或者丁", "无"]), "open"),
        ("zh", "部门", [(f"病{n}", f"科{n % 5 + m}") for n in range(20) for m in range(4)], "open"),
        *(
            (language, name, each_once(["a", "b"]), "open")
            for language, name in (
                ("zh", "主要材料"),
                ("zh", "主要病害"),
                ("zh", "主要害虫"),
                ("zh", "天敌"),
                ("en", "main diseases"),
                ("en", "award received"),
                ("en", "field of work"),
                ("de", "Schädlinge"),
                ("es", "premio recibido"),
                ("fr", "ravageurs"),
                ("pt", "pragas"),
                ("en", "building material"),
                ("de", "Hauptmaterial"),
                ("es", "ingrediente principal"),
                ("fr", "matériau"),
                ("pt", "matéria-prima"),
            )
        ),
        ("en", "drug class", each_once(["opioid", "antibiotic"]), "functional"),
        ("en", "treats", each_once(["angina", "asthma"]), "open"),  # far more treat them than a graph lists
        ("zh", "药物治疗", each_once(["阿司匹林", "青霉素"]), "open"),
        ("zh", "发病部位", each_once(["肝", "肺"]), "open"),
        ("zh", "病理分型", each_once(["鳞癌", "腺癌"]), "checkable"),
        ("zh", "主治医师", each_once(["甲", "乙"]), "functional"),
        ("en", "economic indicator", each_once(["wheat", "tin"]), "functional"),
        ("es", "localización", each_once(["Lima", "Quito"]), "functional"),
        ("de", "Behandlung mit", each_once(["Aspirin", "Penicillin"]), "open"),
        ("en", "sideEffect", each_once(["nausea", "rash"]), "open"),
        ("en", "has_risk_factor", each_once(["smoking", "age"]), "open"),
        ("en", "half_life", each_once(["2 hours", "3 to 5 days", "10-12 h"]), "ranges"),
        ("en", "do_eat", each_once(["apples", "eggs"]), "preferences"),
        ("en", "colour", each_once(["red"]), "checkable"),
        ("en", "shares border with", each_once(["Peru", "Chile"]), "open"),
        ("en", "neighbour of", each_once(["Peru"]), "open"),
        ("en", "border colour", each_once(["red", "blue"]), "functional"),
        ("en", "spouse", each_once(["Ann", "Bea"]), "open"),
        ("en", "composed by", each_once(["Ann", "Bea"]), "checkable"),
        ("zh", "接壤", each_once(["甲省"]), "open"),
        ("zh", "译者", each_once(["甲某", "乙某"]), "checkable"),
        ("de", "grenzt an", each_once(["Peru"]), "open"),
        ("de", "Erfinderin", each_once(["Ann", "Bea"]), "checkable"),
        ("pt", "faz fronteira com", each_once(["Peru"]), "open"),
        ("pt", "inventado por", each_once(["Ann", "Bea"]), "checkable"),
        ("es", "vecino de", each_once(["Peru"]), "open"),
        ("fr", "voisin de", each_once(["Pérou"]), "open"),
        ("es", "efectos secundarios", each_once(["náusea"]), "open"),
        ("de", "Nebenwirkung", each_once(["Übelkeit"]), "open"),
        ("pt", "efeitos colaterais", each_once(["náusea"]), "open"),
        ("fr", "facteur de risque", each_once(["tabac"]), "open"),
        ("hi", "लक्षण", each_once(["बुखार"]), "open"),
        ("ar", "الأعراض", each_once(["حمى"]), "open"),
        ("yo", "àmì àìsàn", each_once(["ibà"]), "open"),
        ("zu", "izimpawu", each_once(["imfiva"]), "open"),
    ],
)
def test_kinds(language: str, relation: str, pairs: list[tuple[str, str]], kind: str) -> None:
    nature = natures(language, relation, pairs)
    assert nature.kind == kind, nature
    assert nature.triples == len(pairs)
    assert 0 < len(nature.examples) <= 3


@pytest.mark.parametrize(
    ("language", "answer", "why"),
    [
        ("zh", "无", "negative"), ("zh", "不传染", "negative"), ("zh", "不孕症", ""), ("zh", "无菌性炎症", ""),
        ("zh", "发热、咳嗽", "list"), ("zh", "青霉素和红霉素", "list"), ("zh", "发热等", "list"), ("zh", "调和", ""),
        ("zh", "多见于既往身体健康的青壮年男性", "clause"), ("zh", "骨科", ""),
        ("en", "none", "negative"), ("en", "noradrenaline", ""), ("en", "fever, cough", "list"),
        ("en", "fever and cough", "list"), ("en", "it is seen in most of those who smoke daily", "clause"),
        ("es", "tos y fiebre", "list"), ("de", "Husten und Fieber", "list"), ("pt", "tosse e febre", "list"),
         ("fr", "aucun", "negative"),
    ],
)  # fmt: skip
def test_answers_that_are_no_single_ones(language: str, answer: str, why: str) -> None:
    assert words_of(language).unusable(answer) == why


def test_lists_for_a_recipe_hold_what_is_not_checkable() -> None:
    kinds = {"a": "open", "b": "checkable", "c": "functional", "d": "open"}
    made = [RelationNature(name, kind, "", 1, 1, 1.0, 0, ()) for name, kind in kinds.items()]  # type: ignore[arg-type]
    assert proposed_lists(made) == {"functional": ["c"], "open": ["a", "d"]}


@pytest.mark.parametrize(
    ("language", "relation", "tails", "statement"),
    [
        ("zh", "就诊科室", ["骨科", "皮肤科"], "{head}的{relation}是{tail}。"),
        ("zh", "有不良反应", ["头晕", "皮疹"], "{head}的不良反应包括{tail}。"),
        ("zh", "可治疗", ["头痛", "咳嗽"], "{head}可治疗{tail}。"),
        ("zh", "会引起", ["头痛", "咳嗽"], "{head}会引起{tail}。"),
        ("zh", "会员", ["甲", "乙"], "{head}的{relation}是{tail}。"),
        ("zh", "跨越", ["黄河", "长江"], "{head}{relation}{tail}。"),
        ("zh", "位于", ["苏州", "杭州"], "{head}{relation}{tail}。"),
        ("zh", "接壤", ["甲国", "乙国"], "{head}与{tail}{relation}。"),
        ("zh", "发明", ["甲", "乙"], "从{head}到{tail}有“{relation}”这一关系。"),
        ("zh", "代表作", ["甲", "乙"], "{head}的{relation}是{tail}。"),
        ("en", "drug_class", ["opioid", "antibiotic"], "The drug class of {head} is {tail}."),
        ("en", "side effects", ["rash", "nausea"], "The {relation} of {head} include {tail}."),
        ("en", "caused by", ["rash", "nausea"], "{head} is caused by {tail}."),
        ("en", "shares a border with", ["Peru", "Chile"], "{head} {relation} {tail}."),
        ("en", "grows in", ["sand", "clay"], "{head} {relation} {tail}."),
        ("en", "hasSideEffect", ["rash", "nausea"], "{tail} is a side effect of {head}."),
        ("en", "adverse reaction", ["rash", "nausea"], "{tail} is an adverse reaction of {head}."),
        ("en", "adverse effect of drug", ["rash", "nausea"], "The {relation} of {head} includes {tail}."),
        ("en", "MRI finding", ["rash", "nausea"], "The {relation} of {head} includes {tail}."),
        ("en", "most common symptom", ["rash", "nausea"], "The {relation} of {head} includes {tail}."),
        ("en", "family history", ["rash", "nausea"], "The {relation} of {head} includes {tail}."),
        ("de", "mündet in", ["Elbe", "Oder"], "{head} {relation} {tail}."),
        ("de", "gegossen von", ["Ann", "Bea"], "{head} wurde von {tail} gegossen."),
        ("de", "Vorort von", ["Bonn", "Kiel"], "{head} ist {relation} {tail}."),
        ("pt", "deságua em", ["x", "y"], "{head} {relation} {tail}."),
        ("fr", "classe", ["x", "y"], "Pour {head}, la réponse à la rubrique « {relation} » est {tail}."),
    ],
)
def test_sentences_for_relations_without_their_own(
    language: str, relation: str, tails: list[str], statement: str
) -> None:
    words = words_of(language)
    sentence = words.sentence_for(natures(language, relation, each_once(tails)))
    assert sentence is not None
    assert sentence.statement == statement
    assert sentence.negated != statement


ENGLISH_NAMES = {
    "tributary of": "a tributary of", "Tributary Of": "a tributary of", "TRIBUTARY_OF": "a tributary of",
    "is_a_tributary_of": "a tributary of", "island of": "an island of", "unit of": "a unit of",
    "capital of": "the capital of",
    "longest river of": "the longest river of", "wings of": "one of the wings of", "part of": "part of",
    "isStoredIn": "stored in", "mostly grown for": "mostly grown for", "hidden behind bars of": "",
    "native to": "native to",
    "stored in room": "stored in the room",
}  # fmt: skip
"""What comes after *is* for a name, which may be written in many ways; nothing where no rule understands it."""


@pytest.mark.parametrize(("relation", "words"), ENGLISH_NAMES.items())
def test_an_english_name_that_ends_in_a_preposition_is_a_predicate(relation: str, words: str) -> None:
    sentence = words_of("en").sentence_for(natures("en", relation, each_once(["x", "y"], 12)))
    assert sentence is not None
    assert sentence.unclear == (not words)
    if words:
        made = (getattr(sentence, key).replace("{relation}", relation) for key in ("statement", "negated"))
        assert tuple(made) == (
            f"{{head}} is {words} {{tail}}.",
            f"{{head}} is not {words} {{tail}}.",
        )
        assert sentence.tf.replace("{relation}", relation) == f"Is {{head}} {words} {{tail}}?"
        assert sentence.oe.replace("{relation}", relation) in {
            f"What is {{head}} {words}?", "Which room is {head} stored in?",
            f"What completes this statement: “{{head}} is {words} …”?",
        }  # fmt: skip


@pytest.mark.parametrize(
    ("relation", "negated", "question"),
    [
        ("painted by", "{head} was not painted by {tail}.", "Who or what was {head} painted by?"),
        (
            "wasPaintedIn",
            "{head} was not painted in {tail}.",
            "What completes this statement: “{head} was painted in …”?",
        ),
        ("reaches into", "{head} does not reach into {tail}.", "What does {head} reach into?"),
        ("crosses", "{head} does not cross {tail}.", "What does {head} cross?"),
        ("speaks dialect", "{head} does not speak the dialect {tail}.", "Which dialect does {head} speak?"),
        ("retired to", "{head} did not retire to {tail}.", "What completes this statement: “{head} retired to …”?"),
        ("may attract", "{head} cannot attract {tail}.", "What can {head} attract?"),
        ("is a", "{head} does not belong to the class “{tail}”.", "To what class does {head} belong?"),
        ("inventor", "The inventor of {head} is not {tail}.", "Who is the inventor of {head}?"),
    ],
)
def test_an_english_verb_is_denied_once_and_asked_about(relation: str, negated: str, question: str) -> None:
    words = words_of("en")
    sentence = words.sentence_for(natures("en", relation, each_once(["x", "y"], 12)))
    assert sentence is not None
    made = {key: getattr(sentence, key).replace("{relation}", relation) for key in ("negated", "oe", "oe_set")}
    assert made == {"negated": negated, "oe": question, "oe_set": ""}
    several = words.sentence_for(natures("en", relation, [("h", "x"), ("h", "y")]))
    assert several is not None
    assert several.oe == ""
    assert several.oe_set.endswith(" (name all that apply)?")


@pytest.mark.parametrize(
    ("relation", "one", "all_ends"),
    [
        ("译者", "{head}的{relation}是谁？", "{head}的{relation}包括哪些人？"),
        ("设计师", "{head}的{relation}是谁？", "{head}的{relation}包括哪些人？"),
        ("音乐家", "{head}的{relation}是谁？", "{head}的{relation}包括哪些人？"),
        ("厂家", "{head}的{relation}是什么？", "{head}的{relation}包括哪些？"),
        ("发明人", "{head}的{relation}是谁？", "{head}的{relation}包括哪些人？"),
        ("机器人", "{head}的{relation}是什么？", "{head}的{relation}包括哪些？"),
    ],
)
def test_chinese_questions_ask_for_a_person_by_who(relation: str, one: str, all_ends: str) -> None:
    words = words_of("zh")
    single = words.sentence_for(natures("zh", relation, each_once(["甲某", "乙某"], 12)))
    several = words.sentence_for(natures("zh", relation, [("甲", "甲某"), ("甲", "乙某")]))
    assert single is not None
    assert several is not None
    assert (single.oe, several.oe_set) == (one, all_ends)


@pytest.mark.parametrize(
    ("relation", "asked"),
    [
        ("相关（导致）", "{head}可以导致哪些情况？"),
        ("相关(转化)", "{head}可以转化为哪些情况？"),
        ("相关（症状）", "{head}的相关症状包括哪些？"),
    ],
)
def test_brackets_say_what_a_relation_is(relation: str, asked: str) -> None:
    sentence = words_of("zh").sentence_for(natures("zh", relation, [("甲", "乙"), ("甲", "丙")]))
    assert sentence is not None
    assert sentence.oe_set == asked


@pytest.mark.parametrize("language", LIBRARY.option_names("relations"))
def test_every_question_is_one_sentence(language: str) -> None:
    """Else no set question of such a relation is asked."""
    words = words_of(language)
    for sentence in words.sentences:
        for question in filter(None, (sentence.tf, sentence.oe, sentence.oe_set)):
            assert is_one_sentence(question, question[-1], ".?!。？！؟।"), question
            assert question[-1] in "?？؟", question


def test_only_relations_with_one_end_have_an_open_question() -> None:
    words = words_of("en")
    one = words.sentence_for(natures("en", "drug class", each_once(["opioid", "antibiotic"])))
    many = words.sentence_for(natures("en", "drug class", [*each_once(["a", "b"], 4), ("concept 0", "c")]))
    assert one is not None
    assert many is not None
    assert (one.oe, many.oe) == ("What is the {relation} of {head}?", "")


def test_a_faulty_file_of_words_is_named(tmp_path: Path) -> None:
    (tmp_path / "xx.yaml").write_text("open: ['(']", encoding="utf-8")
    with pytest.raises(RecipeError, match=r"words for relations cannot be read[\s\S]*xx\.yaml"):
        RelationWords.read([tmp_path / "xx.yaml"])
