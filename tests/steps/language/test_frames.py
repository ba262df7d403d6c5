from __future__ import annotations

import pytest

from benchbuilder.core.records.row import Span
from benchbuilder.core.text.punctuation import Casing
from benchbuilder.core.text.wordlist import WordForms
from benchbuilder.steps.language.frames import SentenceFrame, SentenceFrames, check_frames, with_gap

FORMS = WordForms(
    [{"one": "drug", "many": "drugs"}, {"one": "nerve", "many": "nerves"}, {"base": "go", "third": "goes"}],
    {"start": "(?P<lead>(?:In .+?, )?)[Ww]hich", "open": "%start% of these %many%"},
)
SHAPES = {"plural": "s$", "number": "^[0-9]+$"}


def frames(casing: Casing | None = None, **data: dict[str, object]) -> SentenceFrames:
    made = {name: SentenceFrame.model_validate(one) for name, one in data.items()}
    return SentenceFrames(made, SHAPES, FORMS, casing, {"number": "about "})


def test_answer_and_predicate_stand_where_the_frame_puts_them():
    made = frames(a={"match": "Which (?P<noun>%one%) (?P<verb>helps)", "write": "The {noun} that {verb} [is] {answer}"})
    written = made.apply("Which drug helps", "aspirin")
    assert written is not None
    assert written.text == "The drug that helps is aspirin"
    assert (written.answer, written.seam) == (Span(start=23, end=30), Span(start=20, end=22))
    assert written.name == "a"


def test_other_forms_of_a_word_and_parts_of_patterns():
    made = frames(a={"match": "%open% is it", "write": "{lead}it [is] {answer}"})
    assert made.apply("In May, which of these drugs is it", "aspirin").text == "In May, it is aspirin"  # pyright: ignore[reportOptionalMemberAccess]
    assert made.apply("Which of these bones is it", "aspirin") is None
    made = frames(a={"match": "Which of these (?P<noun>%many%) acts", "write": "{noun.one}: {answer}"})
    assert made.apply("Which of these nerves acts", "ulnar").text == "nerve: ulnar"  # pyright: ignore[reportOptionalMemberAccess]


def test_a_word_without_that_form_makes_no_sentence():
    made = frames(a={"match": "(?P<noun>.+) acts", "write": "{noun.many} act: {answer}"})
    assert made.apply("spleen acts", "no") is None


def test_the_first_frame_that_fits_question_and_answer_counts():
    made = frames(
        a={"match": "(?P<q>.+) is", "write": "{q} is one {answer}", "unless": ("plural",)},
        b={"match": "(?P<q>.+) is", "write": "{q} are {answer}", "answers": ("plural",)},
    )
    texts = [made.apply("it is", answer).text for answer in ("nerve", "nerves")]  # pyright: ignore[reportOptionalMemberAccess]
    assert texts == ["it is one nerve", "it are nerves"]


def test_a_frame_of_null_says_that_no_rule_can():
    made = frames(a={"match": "it is", "write": None}, b={"match": ".+", "write": "{answer}"})
    assert made.apply("it is", "so") is None
    assert made.apply("it was", "so") is not None


def test_a_group_that_takes_no_part_leaves_no_gap():
    made = frames(a={"match": "(?P<x>a )?(?P<y>b)", "write": "{x} {y} {answer}"})
    assert made.apply("b", "c").text == "b c"  # pyright: ignore[reportOptionalMemberAccess]


def test_the_words_before_an_answer_are_not_part_of_it():
    made = frames(a={"match": "how many", "write": "{answer} of them", "before": True})
    written = made.apply("how many", "30")
    assert written is not None
    assert written.text == "about 30 of them"
    assert written.answer is not None
    assert written.answer.slice_of(written.text) == "30"


def test_letters_change_at_the_place_where_a_text_is_put():
    casing = Casing(["Baker"])
    made = frames(casing, a={"match": "(?P<subj>.+) is what", "write": "{answer} is {subj}"})
    assert made.apply("The knee is what", "swollen").text == "Swollen is the knee"  # pyright: ignore[reportOptionalMemberAccess]
    assert made.apply("Baker cyst is what", "Swollen").text == "Swollen is Baker cyst"  # pyright: ignore[reportOptionalMemberAccess]
    made = frames(casing, a={"match": "what", "write": "it is {answer}"})
    assert made.apply("what", "Swollen").text == "It is swollen"  # pyright: ignore[reportOptionalMemberAccess]


def test_brackets_and_braces_of_answers_mean_nothing():
    made = frames(a={"match": "what", "write": "it [is] {answer}"})
    assert made.apply("what", "[{x}]").text == "it is [{x}]"  # pyright: ignore[reportOptionalMemberAccess]


@pytest.mark.parametrize("write", ["{a", "[a", "a]", "[a] [b]", "][", "{a}}"])
def test_what_is_not_closed_is_refused(write):
    with pytest.raises(ValueError, match="closed"):
        SentenceFrame(match="a", write=write)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"match": "a", "write": "{b}"}, r"frames.x.write: \{b\}"),
        ({"match": "(?P<a>%open%)", "write": "{b.one}"}, r"\{b.one\}"),
        ({"match": "a", "write": "{answer}", "answers": ("tall",)}, "shape 'tall'"),
        ({"match": "a", "write": "{answer}", "unless": ("tall",)}, "shape 'tall'"),
    ],
)
def test_unknown_groups_and_shapes_are_named(frame, message):
    with pytest.raises(ValueError, match=message):
        check_frames({"x": SentenceFrame(**frame)}, SHAPES, {"open": "(?P<lead>x)"})
    check_frames(
        {"x": SentenceFrame(match="%open%", write="{lead}{answer}"), "y": None}, SHAPES, {"open": "(?P<lead>x)"}
    )


def test_the_answer_becomes_a_sign():
    assert with_gap("It is iron.", Span(start=6, end=10)) == "It is %answer%."
