"""What a recipe says whose sentences lack a place, or are missing."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from benchbuilder.config import FormsSpec, load_recipe
from benchbuilder.core import RecipeError
from benchbuilder.pipeline import check_recipe
from benchbuilder.steps.language.patterns import first_match


def problems(*overrides: str) -> list[tuple[str, str]]:
    with pytest.raises(RecipeError) as caught:
        load_recipe(["recipe=exam_any", *overrides], cwd=Path("/nowhere"), environ={})
    return [(problem.key, problem.message) for problem in caught.value.problems]


def test_a_sentence_without_its_place_is_reported_once_where_it_was_written() -> None:
    assert problems("forms.verify='Is {answer} right'") == [("forms.verify", "{question} must stand in it once")]


def test_values_that_refer_to_an_open_one_are_not_reported_beside_it() -> None:
    assert problems("forms.says_yes=???") == [("forms.says_yes", "a value must be given here (`???`)")]


def test_questions_about_what_is_right_of_something_need_their_options_in_chinese() -> None:
    words = yaml.safe_load((BUNDLED / "zh.yaml").read_text(encoding="utf-8"))["options_named"]
    patterns = FormsSpec(options_named=words).options_named
    assert first_match(patterns, "关于糖化蛋白正确的是（　　）。") is not None


def test_questions_that_several_answers_fit_need_their_options_in_chinese() -> None:
    words = yaml.safe_load((BUNDLED / "zh.yaml").read_text(encoding="utf-8"))["options_named"]
    patterns = FormsSpec(options_named=words).options_named
    several = [
        "肩周炎（　　）。",
        "AIDS（　　）。",
        "扁桃体切除的适应证是（　　）。",
        "感冒发热宜选用（　　）。",
        "女，30岁。扭伤踝部2小时，轻度肿胀。应采取的措施是（　　）。",
        "能缓解鼻塞的药物是（　　）。",
        "若样本均数相等，则（　　）。",
        "合同相对性原则意味着（　　）。",
        "甲明知是赃物而代为保管。甲的行为（　　）。",
    ]
    one = [
        "利尿药抑制（　　）。",
        "肩周炎是指（　　）。",
        "扁桃体切除最重要的适应证是（　　）。",
        "能独自行走的年龄是（　　）。",
        "女，30岁。扭伤踝部2小时。首选的措施是（　　）。",
        "可能的诊断是（　　）。",
        "踝部扭伤的好发部位是（　　）。",
    ]
    assert [text for text in several if first_match(patterns, text) is None] == []
    assert [text for text in one if first_match(patterns, text) is not None] == []


def test_questions_for_what_is_not_so_are_exceptions_wherever_the_denial_stands_in_chinese() -> None:
    words = yaml.safe_load((BUNDLED / "zh.yaml").read_text(encoding="utf-8"))["exceptions"]
    for text in (
        "下列哪种说法未能把握这一概念？",
        "下列各项中不能引起代理终止的原因是：",
        "依法成立的下列单位，不属于用人单位的是：",
    ):
        assert first_match(words, text) is not None
    for text in ("心肌不会产生强直收缩的原因是（　　）。", "骨折未能矫正时，最常见的后遗症是（　　）。"):
        assert first_match(words, text) is None


def test_an_order_to_name_something_is_a_question_in_english() -> None:
    words = yaml.safe_load((BUNDLED / "en.yaml").read_text(encoding="utf-8"))["asks"]
    assert first_match(words, "Identify the commonest cause of hoarseness") is not None
    assert first_match(words, "The commonest cause of hoarseness is") is None


def test_questions_with_many_right_answers_need_their_options_in_english() -> None:
    words = yaml.safe_load((BUNDLED / "en.yaml").read_text(encoding="utf-8"))["options_named"]
    patterns = FormsSpec(options_named=words).options_named
    for text in (
        "Why might a patient need a tracheostomy?",
        "Mutations are errors in DNA that:",
        "What advice helps a smoker?",
        "Signs of a sprain include:",
        "A blow hit the left flank. Assuming no fracture, which organ might have been hurt?",
        "Which areas of the world are free of rabies?",
        "Which blood cells carry oxygen and can divide?",
        "Which is the largest organ?",
        "Which food contains iron?",
        "Which permanent teeth come first?",
        "Which cellular activity would likely be most affected?",
        "For a very weak base, the pKb of a solution would likely be:",
        "Why would you flush a catheter?",
    ):
        assert first_match(patterns, text) is not None
    for text in ("Why do infants need vitamin K?", "Which organ makes bile?", "Which virus causes measles?"):
        assert first_match(patterns, text) is None


@pytest.mark.parametrize(
    ("language", "shown", "alone"),
    [
        ("de", "Welche dieser Impfungen schützt vor Wundstarrkrampf?", "Welche Impfung schützt vor Wundstarrkrampf?"),
        ("pt", "Qual destas cidades é a capital do Ceará?", "Qual cidade é a capital do Ceará?"),
        ("fr", "Laquelle de ces villes est la capitale ?", "Quelle ville est la capitale ?"),
        ("en", "Which of these cities is the capital?", "What is the capital?"),
    ],
)
def test_which_of_these_needs_its_options(language: str, shown: str, alone: str) -> None:
    words = yaml.safe_load((BUNDLED / f"{language}.yaml").read_text(encoding="utf-8"))["options_named"]
    patterns = FormsSpec(options_named=words).options_named
    assert first_match(patterns, shown) is not None
    assert first_match(patterns, alone) is None


def test_an_unknown_place_is_named() -> None:
    ((key, message),) = problems("forms.cloze='{left} {right} {middle}?'")
    assert key == "forms.cloze"
    assert "unknown placeholder {middle}" in message


BUNDLED = Path(__file__).parents[2] / "recipes" / "forms"
SHOWN_ALONE = {
    "ar": (["في هذا النص، من هو القائد؟"], ["ما هو السكري؟", "من يفحص النص المكتوب؟"]),
    "de": (["Was sagt dieser Text?", "Wo wohnt laut Text der Held?", "Er ist alt."], ["Was lindert Fieber?"]),
    "en": (["What does the author say?", "Is this red?"], ["Which planet is red?"]),
    "es": (["¿Qué defiende este artículo?", "Según el texto, ¿quién ganó?"], ["¿Qué garantiza el artículo 15?"]),
    "fr": (["Que montre cette étude ?", "D’après le texte, qui part ?"], ["Où est le passage du nerf ?"]),
    "hi": (["इस लेख में लेखक क्या कहता है?", "वह कहाँ गया?"], ["यह रोग किससे होता है?"]),
    "pt": (["O que defende este artigo?", "Segundo o texto, quem venceu?"], ["O que causa a febre?"]),
    "yo": (["Kí ni àyọkà sọ?"], ["Kí ni ó fa ibà?"]),
    "zh": (["该片由谁导演？", "文中提到几个人？", "他在哪里出生？", "本书出版于哪年？"],
           ["其他原因有哪些？", "他克莫司属于什么药？", "本草纲目的作者是谁？", "此外还有什么原因？"]),
    "zu": (["Isiqeshu sikhuluma ngani?"], ["Yini imalaleveva?"]),
}  # fmt: skip


@pytest.mark.parametrize("language", sorted(SHOWN_ALONE))
def test_words_of_a_language_find_texts_about_what_is_not_shown(language: str) -> None:
    content = yaml.safe_load((BUNDLED / f"{language}.yaml").read_text("utf-8"))
    patterns = FormsSpec.model_validate(content).context_dependent
    about, alone = SHOWN_ALONE[language]
    assert [text for text in about if first_match(patterns, text) is None] == []
    assert [text for text in alone if first_match(patterns, text) is not None] == []


ASKED = {
    "ar": ("أي مما يلي ليس سببا؟", "ما هي الخطوة التالية؟", "ما سبب الحمى؟"),
    "de": ("Welche Aussage ist falsch?", "Was ist der nächste Schritt?", "Was verursacht Fieber?"),
    "en": ("Which of these is not a cause?", "What is the best next step?", "Which vitamin prevents rickets?"),
    "es": ("Señale la respuesta falsa:", "¿Cuál es el siguiente paso?", "¿Qué causa la fiebre?"),
    "fr": ("Parmi ces propositions, laquelle est fausse ?", "Quelle est la prochaine étape ?", "Qui a vu le bacille ?"),
    "hi": ("इनमें से कौन सा कारण नहीं है?", "अगला कदम क्या है?", "बुखार का कारण क्या है?"),
    "pt": ("Assinale a alternativa incorreta:", "Qual é o próximo passo?", "O que causa a febre?"),
    "zh": ("下列不属于病因的是", "下一步应做什么检查", "引起发热的是什么"),
}  # fmt: skip
"""Of each language: a question for what is not so, one about a case, and one that stands by itself."""


@pytest.mark.parametrize("language", sorted(ASKED))
def test_words_of_a_language_find_exceptions_and_cases(language: str) -> None:
    spec = FormsSpec.model_validate(yaml.safe_load((BUNDLED / f"{language}.yaml").read_text("utf-8")))
    exception, case, plain = ASKED[language]
    for patterns, found in ((spec.exceptions, exception), (spec.needs_case, case)):
        assert first_match(patterns, found) is not None
        assert first_match(patterns, plain) is None


OPEN_CLAIMS = {
    "ar": (["كشفت دراسة أن القهوة مفيدة.", "أعلنت الحكومة عن لقاح الأسبوع الماضي."], ["الإنسولين هرمون يخفض السكر."]),
    "en": (
        [
            "National health regulatory agency approves a vaccine for infants.",
            "Scientists have found that coffee lengthens life.",
            "A new study shows that garlic cures colds.",
            "The government announced a ban on smoking in cars.",
            "Wash your hands for twenty seconds.",
            "Never use the same needle twice.",
            "How to lose weight in a week",
            "Masks were banned in schools last week.",
            "BREAKING: water found on the moon",
            "Video – a dog drives a car",
            "Watch this dog drive a car.",
            "Ten people recovered after eating only…",
            "Sprains in school: are we seeing the whole picture?",
        ],
        [
            "Wash water holds salts.",
            "Use of antibiotics in viral infections is useless.",
            "Stop codons end the translation of a protein.",
            "The World Health Organization declared smallpox eradicated in 1980.",
            "Reports of adverse events are collected by national agencies.",
            "Drinking water prevents dehydration.",
            "The study of fungi is called mycology.",
            "Doctors wash their hands before operations.",
            "Sprains in children: do we really need imaging?",
            "Exclusive breastfeeding is advised for six months.",
            "Breaking bones hurts.",
            "Watch batteries are poisonous when swallowed.",
            "Video games cause blindness.",
        ],
    ),
    "de": (["Eine neue Studie zeigt, dass Knoblauch heilt.", "Die Regierung meldet Erfolge.", "Gestern fiel Schnee."],
           ["Das Studium der Pilze heißt Mykologie.", "Insulin senkt den Blutzucker."]),
    "es": (["Un nuevo estudio revela que el ajo cura.", "El gobierno anuncia una vacuna.", "Llovió ayer en la costa."],
           ["El estudio de los hongos es la micología.", "La insulina baja la glucosa."]),
    "fr": (["Une nouvelle étude montre que l’ail soigne.", "Les autorités ont annoncé un vaccin.", "Il a plu hier."],
           ["L’étude des champignons est la mycologie.", "L’insuline abaisse la glycémie."]),
    "hi": (["वैज्ञानिकों ने नई दवा खोजी है।", "पिछले सप्ताह टीका मंज़ूर हुआ।"], ["इंसुलिन रक्त शर्करा घटाता है।"]),
    "pt": (["Um novo estudo revela que o alho cura.", "O governo anuncia uma vacina.", "Choveu ontem."],
           ["O estudo dos fungos é a micologia.", "A insulina baixa a glicose."]),
    "yo": (["Wọ́n fọwọ́ sí oògùn náà ní ọ̀sẹ̀ tó kọjá."], ["Ẹ̀fọn ni ó ń fa ibà."]),
    "zh": (
        ["有研究显示大蒜能治感冒。", "专家提醒孕妇不要喝咖啡。", "请每天洗手三次。", "上周某地批准了疫苗。",
         "震惊！水能治百病"],
        ["请求权是一种权利。", "某些药物可通过胎盘。", "研究生需要通过考试。", "胰岛素能降低血糖。",
         "阿托品用于治疗有机磷中毒。"],
    ),
    "zu": (["Umuthi wagunyazwa izolo."], ["Umiyane udlulisa umalaleveva."]),
}  # fmt: skip
"""Of each language: claims that leave open who, where or when is meant, or that tell what to do; and whole ones."""


@pytest.mark.parametrize("language", sorted(OPEN_CLAIMS))
def test_words_of_a_language_find_claims_that_do_not_stand_alone(language: str) -> None:
    patterns = FormsSpec.model_validate(yaml.safe_load((BUNDLED / f"{language}.yaml").read_text("utf-8"))).not_alone
    left_open, whole = OPEN_CLAIMS[language]
    assert [text for text in left_open if first_match(patterns, text) is None] == []
    assert [text for text in whole if first_match(patterns, text) is not None] == []


def test_claims_about_a_study_that_nobody_names_are_about_a_text_that_is_not_shown() -> None:
    words = yaml.safe_load((BUNDLED / "en.yaml").read_text("utf-8"))["context_dependent"]
    patterns = FormsSpec(context_dependent=words).context_dependent
    for text in ("The study included 40 children.", "We found no effect of zinc.", "These trials lasted a year."):
        assert first_match(patterns, text) is not None
    for text in (
        "The study of fungi is mycology.",
        "The trial by jury is old.",
        "Case studies describe single people.",
    ):
        assert first_match(patterns, text) is None


def test_every_bundled_language_has_such_words() -> None:
    assert {path.stem for path in BUNDLED.glob("*.yaml")} == set(SHOWN_ALONE) == set(OPEN_CLAIMS)


def test_check_says_where_a_language_has_none() -> None:
    given = {"recipe=exam_any": "steps.facts_choice", "recipe=claims_en": "steps.screen_claims"}
    for recipe, step in given.items():
        loaded = load_recipe([recipe, "forms.context_dependent=[]"], cwd=Path("/nowhere"), environ={})
        remarks = {problem.key: problem.message for problem in check_recipe(loaded, sources=())}
        assert "forms.context_dependent" in remarks[f"{step}.context_dependent"]
    loaded = load_recipe(["recipe=claims_en", "forms.not_alone=[]"], cwd=Path("/nowhere"), environ={})
    remarks = {problem.key: problem.message for problem in check_recipe(loaded, sources=())}
    assert "forms.not_alone" in remarks["steps.screen_claims.not_alone"]


def test_the_source_of_evidence_is_checked() -> None:
    for name, message in (("page", "there is no such source"), ("facts_en", "this source has other rows")):
        overrides = ["recipe=claims_en", f"sources.facts_en.gold_in={name}"]
        with pytest.raises(RecipeError) as caught:
            check_recipe(load_recipe(overrides, cwd=Path("/nowhere"), environ={}), sources=())
        [problem] = caught.value.problems
        assert (problem.key, problem.message) == ("sources.facts_en.gold_in", message)
        assert problem.allowed == "facts_pages_en"


@pytest.mark.parametrize(("language", "question"), [
    ("es", "¿Cuál de estos números es primo?"), ("es", "¿Cuáles de estas ciudades son capitales?"),
    ("de", "Was davon ist ein Gas?"), ("de", "Welches von diesen Tieren ist ein Säugetier?"),
])  # fmt: skip
def test_questions_about_these_need_their_options(language: str, question: str) -> None:
    words = yaml.safe_load((BUNDLED / f"{language}.yaml").read_text(encoding="utf-8"))["options_named"]
    assert first_match(FormsSpec(options_named=words).options_named, question) is not None
