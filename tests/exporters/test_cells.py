import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchbuilder.core.text.cells import escape_cell, unescape_cell


@given(st.text())
@example("'=1")
@example("\\n is not a line break\n")
@example("''")
def test_every_text_comes_back(text):
    assert unescape_cell(escape_cell(text)) == text


@given(st.text(alphabet="=+-@＝\t\r\n'\\ab。"))
def test_no_cell_breaks_a_line_or_starts_a_formula(text):
    cell = escape_cell(text)
    assert not set(cell) & set("\t\r\n")
    assert not cell.startswith(("=", "+", "-", "@", "＝"))


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("-3 ℃", "'-3 ℃"),
        ("+", "'+"),
        ("@a", "'@a"),
        ("\t=1", "\\t=1"),
        ("\r=1", "\\r=1"),
        ("第一段\n第二段", "第一段\\n第二段"),
        ("a\\b", "a\\\\b"),
        ("母乳喂养", "母乳喂养"),
    ],
)
def test_cells(text, cell):
    assert escape_cell(text) == cell
