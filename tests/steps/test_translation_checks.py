"""Each check of a translation finds its fault, and none finds one in the sample tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from benchbuilder.config.spec.translation import CheckWords
from benchbuilder.steps.translation.checks import CHECKS, STOPPING, Checker
from benchbuilder.steps.translation.facts import CheckedTranslations
from benchbuilder.steps.translation.figures import changed_numbers, plain_text, units_in
from benchbuilder.steps.translation.file import pair_of, read_translations
from benchbuilder.steps.translation.glossary import Glossary, GlossaryTerm
from benchbuilder.steps.translation.learn import Learnt
from benchbuilder.steps.translation.pairs import TextPair

RECIPES = Path(__file__).parents[2] / "recipes"
SAMPLE = RECIPES / "recipe" / "medicine_parallel"
OXYGEN = Glossary([GlossaryTerm(("oxygen",), ("oxígeno",), ("oxitocina",))])


def words(language: str) -> CheckWords:
    text = (RECIPES / "translation_checks" / f"{language}.yaml").read_text("utf-8")
    return CheckWords.model_validate(yaml.safe_load(text))


def sample(language: str = "es") -> list[TextPair]:
    """Sixty pairs: the twenty of the sample, three times; as their translation back they have the original."""
    pairs = [pair_of(parts) for parts in read_translations(SAMPLE / f"{language}.tsv").values()]
    return [TextPair(f"{turn}{pair.id}", pair.source, pair.target, pair.source) for turn in "abc" for pair in pairs]


@pytest.fixture(scope="module")
def checker() -> Checker:
    return Checker(Learnt(sample(), words("en"), words("es"), own=False), OXYGEN)


def question(source: str, target: str, back: str = "") -> TextPair:
    return TextPair("new", {"question": source}, {"question": target}, {"question": back} if back else None)


def choice(source: Sequence[str], target: Sequence[str], back: Sequence[str] = ()) -> TextPair:
    sides = [{f"option.{at}": text for at, text in enumerate(texts, start=1)} for texts in (source, target, back)]
    return TextPair("new", sides[0], sides[1], sides[2] or None)


FEW = Checker(Learnt(sample()[:20], words("en"), words("es")), OXYGEN)


def found(checker: Checker, pair: TextPair) -> set[str]:
    return {fault.check for fault in checker.faults(pair)}


FAULTS = [
    ("characters", question("Which drug?", "¿Qué fármaco\u202e?")),
    ("missing", question("Which drug?", "")),
    ("numbers", question("Give 10 drops.", "Dé 12 gotas.")),
    ("numbers", question("Give 3, 2, 1 and 4 drops.", "Dé 3, 2, 1 y 1 gotas.")),
    ("signs", question("At most -5 points.", "Como máximo 5 puntos.")),
    ("units", question("Give 5 mg a day.", "Dé 5 al día.")),
    ("units", question("Give 1 L a day.", "Dé 1 al día.")),
    ("system", question("It is 15 feet long.", "Tiene 15 metros de largo.")),
    ("options", choice(["10 seconds", "30 seconds"], ["unos segundos", "unos segundos"])),
    ("options", choice(["+5", "-5"], ["+5", "+5."])),
    ("glossary", question("Give oxygen.", "Administre gas.")),
    ("glossary", question("Give oxygen.", "Administre oxitocina, no oxígeno.")),
    ("script", question("Which drug is given first?", "Какой препарат дают сначала?")),
    ("rest", question("Which drug may cause a dry mouth?", "¿Qué fármaco may cause a dry mouth?")),
    ("negation_back", question("Which is not a cause?", "¿Cuál es una causa?", "Which is a cause?")),
    ("negation_back", question("Which is a cause?", "¿Cuál no es causa?", "Which is not a cause?")),
    ("negation", question("Which is not a cause?", "¿Cuál es una causa?")),
    ("length", question("Which?", "¿Cuál de los siguientes " + "fármacos de primera elección " * 12 + "?")),
    ("sentences", question("Which drug?", "¿Qué fármaco? Es barato. Y es seguro.")),
    ("marks", question("It is _____ of all.", "Es de todos.")),
    ("order", choice(["insulin", "cortisol", "glucagon"], ["cortisol", "insulina", "glucagón"])),
    ("order_back", choice(["the knee", "the heart"], ["el corazón", "la rodilla"], ["the heart", "the knee"])),
    ("back", question("Which drug lowers the pulse?", "¿Qué?", "Where do we walk on Sunday morning?")),
]


@pytest.mark.parametrize(("check", "pair"), FAULTS, ids=[check for check, _ in FAULTS])
def test_a_check_finds_its_fault(checker, check, pair):
    assert check in found(checker, pair)


def test_text_in_another_language_of_the_same_script_is_found(checker):
    text = "Welche der folgenden Aussagen über die Behandlung des Herzens trifft in diesem Falle nicht zu, und warum?"
    assert "language" in found(checker, question("Which of these is so? " * 4, text))


def test_every_check_is_tried():
    assert {check for check, _ in FAULTS} | {"language"} == set(CHECKS)


FINE = [
    question("In the 1940s, 1,000 people fell ill twice.", "En los años 40, 1.000 personas enfermaron dos veces."),
    question("Of them, 2.5 % were well.", "De ellas, el 2,5 % estaba bien."),
    question("Give twenty-one drops in the second week.", "Dé 21 gotas en la 2.ª semana."),
    question("Women aged 40 – 54.", "Mujeres de 40-54 años."),
    question("It is 15 feet long.", "Tiene 15 pies de largo."),
    question("It is not known.", "No se sabe.", "It is unknown."),
    question("Which is not unusual?", "¿Qué no es raro?", "What is not unusual?"),
    choice(["+5", "5"], ["+5", "5"]),
]


@pytest.mark.parametrize("pair", FINE, ids=range(len(FINE)))
def test_what_people_write_is_no_fault(pair):
    assert found(FEW, pair) & STOPPING == set()


@pytest.mark.parametrize("language", ["es", "zh"])
def test_the_sample_tables_have_no_fault(language):
    known = {code: words(code) for code in ("en", language)}
    glossary = SAMPLE / f"glossary_{language}.tsv"
    checked = CheckedTranslations.read(SAMPLE / f"{language}.tsv", known, ("en", language), glossary)
    assert len(checked.faults) == 20
    assert {id: faults for id, faults in checked.faults.items() if faults} == {}


def test_numbers_are_read_in_the_ways_of_a_language():
    english, chinese = words("en"), words("zh")
    assert changed_numbers("1.5 billion people in the 1940s", "20 世纪 40 年代的 15 亿人", (english, chinese)) == (
        [],
        [],
    )
    assert changed_numbers("the second of three", "三个中的第二个", (english, chinese)) == ([], [])
    assert changed_numbers("90 per cent", "８０％", (english, chinese)) == (["90"], ["80"])
    assert units_in("5%-10% at 37 °C and 2 mcg") == {"%": 1, "°C": 1, "μg": 1}


def test_without_words_a_language_is_checked_less_and_says_so():
    checker = Checker(Learnt(sample()[:20], words("en"), CheckWords()), Glossary())
    assert checker.learnt.is_small
    assert {"numbers in words", "converted units", "glossary"} <= set(checker.not_looked_at())
    assert "negation" not in checker.not_looked_at()
    bare = [TextPair(pair.id, pair.source, pair.target) for pair in sample()]
    assert "negation" in Checker(Learnt(bare, words("en"), CheckWords()), Glossary()).not_looked_at()


def test_names_of_units_are_learnt_where_no_list_has_them():
    pairs = [
        question(f"It takes {n} weeks and 5 km.", f"Kuthatha amasonto angu-{n} namakhilomitha angu-5.")
        for n in range(3, 12)
    ]
    pairs += [question(f"It takes long, {n} times.", f"Kuthatha isikhathi eside, {n}.") for n in range(9)]
    numbered = [TextPair(str(at), pair.source, pair.target) for at, pair in enumerate(pairs)]
    checker = Checker(Learnt(numbered, words("en"), CheckWords()), Glossary())
    assert "units" not in found(checker, numbered[0])
    assert "units" in found(checker, question("It takes 4 weeks.", "Kuthatha angu-4."))
    assert "units" in found(checker, question("It is 4 km.", "Kungu-4."))


@settings(max_examples=25)
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_can_be_checked(source, target):
    for fault in FEW.faults(question(source, target, source)):
        assert fault.detail
        assert fault.reason == CHECKS[fault.check].reason
    assert plain_text(plain_text(source)) == plain_text(source) or "&" in source
