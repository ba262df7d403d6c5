"""The compiled tokenizer makes jieba's tokens: in every text, with every dictionary."""

from __future__ import annotations

import random
import sys
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchbuilder.core.errors import InstallationError
from benchbuilder.retrieval.tokenizers import jieba_compiled, jieba_data
from benchbuilder.retrieval.tokenizers.jieba import JiebaSpec, JiebaTokenizer
from benchbuilder.retrieval.tokenizers.jieba_compiled import compiled_cut, guess_words, interpreted_cut
from benchbuilder.retrieval.tokenizers.jieba_data import jieba_module
from benchbuilder.retrieval.tokenizers.jieba_words import JiebaDictionary, jieba_dictionary

jieba = jieba_module()
finalseg = jieba.finalseg

SCRIPT = [chr(code) for code in range(0x4E00, 0x9FD6)]
RARE = [character for character in SCRIPT if sum(character in finalseg.emit_P[state] for state in "BMES") < 4]
CHARACTERS = list("aB1.%-+#& _ \t\r\n\u3000，。（😀é𠮷\ud800")
MARKS = [*CHARACTERS, "\r\n", "T恤", "B超", "2.5%", "well-known"]


@cache
def pure(*own):
    tokenizer = jieba.Tokenizer()
    with tokenizer.get_dict_file() as file:
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(file)
    tokenizer.initialized = True
    for word, count in own:
        tokenizer.add_word(word, count)
    return tokenizer


@cache
def compiled(hmm, *own):
    cut = compiled_cut(own, hmm)
    assert cut is not None
    return cut


def some_text(chance, words):
    kind = chance.random()
    if kind < 0.2:
        return "".join(chance.choices(SCRIPT, k=chance.randint(1, 30)))
    if kind < 0.4:
        return "".join(chance.choices(RARE, k=chance.randint(1, 12)))
    if kind < 0.5:  # many ways of equal chance
        return "".join(chance.choices(chance.sample(SCRIPT, 2), k=chance.randint(2, 20)))
    parts = ([chance.choice(words)], list("的了是不在有"), RARE, MARKS)
    return "".join(chance.choice(chance.choice(parts)) for _ in range(chance.randint(0, 30)))


@pytest.mark.push
@pytest.mark.parametrize("hmm", [True, False])
def test_random_texts(hmm):
    chance, words = random.Random(5), list(jieba_dictionary().frequencies)
    for text in [some_text(chance, words) for _ in range(800)]:
        assert compiled(hmm)(text) == pure().lcut(text, HMM=hmm)


@pytest.mark.push
@settings(max_examples=150)
@given(st.text(alphabet=st.sampled_from([*"子痫前期是妊娠孕婦產後出血哈", *CHARACTERS]), max_size=60), st.booleans())
@example("", True)
@example("哈哈哈哈哈哈哈哈哈", True)
@example("\r\n\n\r", False)
@example("孕妇应当补充叶酸，每天0.4mg（well-known）。" * 300, True)
@example("The α-thalassemia trait 100% of COVID-19 cases_", False)
def test_any_text(text, hmm):
    assert compiled(hmm)(text) == pure().lcut(text, HMM=hmm)


def test_guessing_is_exact_where_characters_are_unknown():
    chance = random.Random(3)
    for _ in range(1500):
        text = "".join(chance.choices(chance.choice([SCRIPT, RARE]), k=chance.randint(1, 10)))
        assert guess_words(text) == list(finalseg.cut(text))


@pytest.mark.push
def test_the_dictionary_is_jiebas():
    known = jieba_dictionary()
    assert known.total == pure().total
    assert known.frequencies == {word: count for word, count in pure().FREQ.items() if count}
    known_words = known.frequencies
    depths = (sum(word[:size] in known_words for size in range(1, len(word) + 1)) for word in known_words)
    assert max(depths) + jieba_compiled._OWN_DEPTH <= 12


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2))
def test_own_words_get_jiebas_frequencies(seed):
    chance, words = random.Random(seed), list(jieba_dictionary().frequencies)
    makers = (
        lambda: "".join(chance.choices(SCRIPT, k=chance.randint(1, 6))),
        lambda: chance.choice(words) + chance.choice(words),
        lambda: chance.choice(words),
        lambda: "".join(chance.choices("abAB12", k=chance.randint(1, 4))) + chance.choice(["", "超"]),
        lambda: chance.choice(RARE) + "a-1",
    )
    own = tuple((chance.choice(makers)(), chance.choice([None, None, 5, 10**6])) for _ in range(40))
    grown, jiebas = jieba_dictionary().with_words(own), pure(*own)
    assert grown.total == jiebas.total
    assert grown.frequencies == {word: count for word, count in jiebas.FREQ.items() if count}
    for _ in range(200):
        parts = (chance.choice([chance.choice(own)[0], chance.choice(words), "的"]) for _ in range(8))
        text = "".join(parts)
        assert compiled(True, *own)(text) == jiebas.lcut(text)


def test_own_words_leave_the_dictionary_alone():
    before = len(jieba_dictionary().frequencies)
    jieba_dictionary().with_words((("胎膜早破病", None),))
    assert len(jieba_dictionary().frequencies) == before


@pytest.mark.push
def test_what_the_compiled_search_cannot_hold_is_left_to_jieba():
    deep = tuple(("".join("abcdefghi"[:size]), 100) for size in range(1, 10))
    assert compiled_cut(deep, True) is None
    assert compiled_cut((("胎膜早破", 2**60),), True) is None
    pure_one = JiebaTokenizer(JiebaSpec(kind="jieba", implementation="pure"))
    assert pure_one.tokens("胎膜早破") == JiebaTokenizer(JiebaSpec(kind="jieba")).tokens("胎膜早破")


@pytest.fixture
def fresh():
    """The trial is made again, in the test and after it."""
    from benchbuilder.retrieval.tokenizers import jieba as kind

    def forget():
        jieba_compiled._search.cache_clear()
        kind._cut.cache_clear()

    forget()
    yield
    forget()


@pytest.mark.push
def test_without_the_compiled_package_jieba_cuts(monkeypatch, fresh):
    monkeypatch.setitem(sys.modules, "jieba_next.jieba_next_rust", None)
    assert compiled_cut((), True) is None
    assert JiebaTokenizer(JiebaSpec(kind="jieba")).tokens("孕妇应当补充叶酸。") == [
        "孕妇",
        "应当",
        "补充",
        "叶酸",
        "。",
    ]
    with pytest.raises(InstallationError, match="compiled tokenizer"):
        JiebaTokenizer(JiebaSpec(kind="jieba", implementation="compiled")).open()


@pytest.mark.push
def test_a_release_that_cuts_otherwise_is_not_used(monkeypatch, fresh):
    class Shortest:
        def __init__(self, frequencies, total):
            pass

        def get_dag_and_calc(self, text):
            return [*range(len(text)), 0]

    monkeypatch.setattr("jieba_next.jieba_next_rust.PrefixDict", Shortest)
    assert compiled_cut((), True) is None
    assert JiebaTokenizer(JiebaSpec(kind="jieba")).tokens("补充叶酸") == ["补充", "叶酸"]


@pytest.fixture
def without_jieba(monkeypatch, fresh):
    """jieba itself is not installed, jieba-next is."""

    def forget():
        for cached in (jieba_module, jieba_dictionary, jieba_data.unknown_words_model):
            cached.cache_clear()

    forget()
    monkeypatch.setitem(sys.modules, "jieba", None)
    monkeypatch.setitem(sys.modules, "jieba.finalseg", None)
    yield
    forget()


TEXT = "子痫前期的孕妇每天补充0.4mg叶酸，羟脯氨酸与胎膜早破（well-known）。"


@pytest.mark.push
def test_without_jieba_itself_the_compiled_code_cuts(without_jieba):
    spec = JiebaSpec(kind="jieba")
    assert JiebaTokenizer(spec).tokens(TEXT) == pure().lcut(TEXT)
    assert JiebaTokenizer(spec).fingerprint() == {"jieba": "0.42.1"}


@pytest.mark.full
@pytest.mark.parametrize("hmm", [True, False])
def test_without_jieba_itself_any_dictionary_can_be_cut_by(tmp_path, without_jieba, hmm):
    words = tmp_path / "words.txt"
    deep = [("".join("早破病人甲乙丙丁戊"[:size]), 100) for size in range(1, 10)]
    words.write_text("".join(f"{word} {count}\n" for word, count in deep), encoding="utf-8")
    assert compiled_cut(tuple(deep), hmm) is None
    made = JiebaTokenizer(JiebaSpec(kind="jieba", user_dictionary=str(words), hmm=hmm))
    chance, known = random.Random(4), list(jieba_dictionary().frequencies)
    for text in [TEXT, "早破病人甲乙丙丁", *(some_text(chance, known) for _ in range(200))]:
        assert made.tokens(text) == pure(*deep).lcut(text, HMM=hmm)
        assert interpreted_cut((), hmm)(text) == pure().lcut(text, HMM=hmm)


def test_without_jieba_itself_asking_for_it_names_the_extra(without_jieba):
    with pytest.raises(InstallationError, match=r"benchbuilder\[jieba\]"):
        JiebaTokenizer(JiebaSpec(kind="jieba", implementation="pure")).open()


@pytest.mark.push
@pytest.mark.parametrize("what", ["dictionary", "model of unknown words"])
def test_another_dictionary_or_model_is_refused(monkeypatch, without_jieba, what):
    """Tokens would change under the same key."""
    monkeypatch.setattr(jieba_data, "_DICTIONARY" if what == "dictionary" else "_MODEL", "0" * 32)
    with pytest.raises(InstallationError, match=rf"(?s)no {what}.*benchbuilder\[jieba\]"):
        JiebaTokenizer(JiebaSpec(kind="jieba")).tokens("嫐嬲的孕妇")


def test_a_route_of_equal_ways_takes_the_longer_word():
    words = JiebaDictionary({"甲": 1, "乙": 100, "甲乙": 1}, 100)
    assert words.route("甲乙", 2) == [1, 1, 0]


def test_who_cuts_is_no_part_of_the_fingerprint():
    pure_one, compiled_one = (
        JiebaTokenizer(JiebaSpec(kind="jieba", implementation=one)) for one in ("pure", "compiled")
    )
    assert pure_one.fingerprint() == compiled_one.fingerprint()
    assert set(pure_one.fingerprint()) == {"jieba"}
