"""A list of JSON is read in pieces, and what is wrong with it is worded as if it were read at once."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.annotation.formats import parse_votes
from benchbuilder.annotation.formats.parse_votes import json_elements

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def at_once(data):
    try:
        content = json.loads(data.decode("utf-8-sig"))
    except ValueError as error:
        return str(error)
    return content if isinstance(content, list) else [content]


def in_pieces(data):
    try:
        return list(json_elements(io.BytesIO(data)))
    except ValueError as error:
        return str(error)


@pytest.fixture(params=[1, 7, 2**20], autouse=True, scope="module")
def piece(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parse_votes, "_PIECE_BYTES", request.param)
        yield


@pytest.mark.push
@given(values, st.sampled_from([None, 1]), st.sampled_from(["", "\ufeff"]))
def test_pieces_hold_what_the_whole_holds(value, indent, start):
    data = (start + json.dumps(value, indent=indent, ensure_ascii=False)).encode("utf-8", "replace")
    assert in_pieces(data) == at_once(data)


@pytest.mark.push
@given(st.lists(values, max_size=5), st.data())
def test_what_is_wrong_is_said_with_its_place(value, data):
    text = json.dumps(value, indent=data.draw(st.sampled_from([None, 1])), ensure_ascii=False)
    at = data.draw(st.integers(0, len(text)))
    junk = data.draw(st.sampled_from(["", ",", "]", "}", '"', "x", "\\", "\n", "[1", "\x01"]))
    cut = text[:at] + junk + text[at + data.draw(st.integers(0, 2)) :]
    broken = cut.encode("utf-8", "replace")
    assert in_pieces(broken) == at_once(broken)


@given(
    st.text("字a𠮷", max_size=9), st.sampled_from([b"\xff", b"\xe5\xad", b"\xe5\xad\xff", b"\xf0\xa0"]), st.booleans()
)
def test_what_is_not_text_is_said_with_its_place(text, junk, is_last):
    data = b'["' + text.encode() + junk + (b"" if is_last else b'"]')
    assert in_pieces(data) == at_once(data)
