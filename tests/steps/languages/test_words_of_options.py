"""Which questions need their options: those that name them or ask what is not so; no clause that denies does."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from benchbuilder.config import FormsSpec
from benchbuilder.core import has_match

FORMS = Path(__file__).parents[3] / "recipes/forms"


@pytest.mark.parametrize(
    ("language", "question", "needs_options"),
    [
        ("pt", "Qual é o prazo de entrega quando o cliente não escolhe uma data?", False),
        ("pt", "Em ruas não iluminadas, que luz se usa?", False),
        ("pt", "Qual destes animais não é um mamífero?", True),
        ("pt", "Que animal NÃO é um mamífero?", True),
        ("pt", "Não pertence aos mamíferos:", True),
        ("pt", "Todos são mamíferos, exceto:", True),
        ("en", "How warm must the oven be if the bread does not brown?", False),
        ("en", "If the bread does not brown, how warm must the oven be?", False),
        ("en", "Which grain does not rise?", True),
        ("en", "Where does rye not grow?", True),
        ("en", "If it rains, which grain is not harvested?", True),
        ("en", "A grain that does not rise is", True),
        ("de", "Wie warm muss der Ofen sein, wenn das Brot nicht bräunt?", False),
        ("de", "Wo wächst Roggen nicht?", True),
        ("de", "Wenn es regnet, welches Korn wird nicht geerntet?", True),
        ("hi", "यदि रोटी नहीं फूलती, तो आँच कितनी हो?", False),
        ("hi", "कौन सा अनाज नहीं फूलता?", True),
        ("zh", "非洲最长的河流叫什么名字？", False),
        ("zh", "属于非谷物的食物叫什么？", True),
    ],
)
def test_a_bare_negation_says_nothing_of_options(language: str, question: str, needs_options: bool) -> None:
    forms = FormsSpec.model_validate(yaml.safe_load((FORMS / f"{language}.yaml").read_text(encoding="utf-8")))
    assert any(has_match(pattern, question) for pattern in forms.options_named) == needs_options
