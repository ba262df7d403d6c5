"""Whatever stands in a form, the answer is a page that says what is wrong, never an error of the server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from review_world import Browser, World, hidden, make_world

PROJECTS = ("claims", "ratings", "forms")
EVERY_CHARACTER = st.text(st.characters(), max_size=60)
VALUES = st.one_of(
    EVERY_CHARACTER,
    st.sampled_from(
        ["", "0", "1", "2", "0.5", "１", "1,0", "-0", "1e9", "nan", "inf", "\x00", "\ud800", "x" * 5000, "0" * 400]
    ),
    st.floats().map(str),
    st.integers().map(str),
)
TUNED = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, Browser]]:
    folder: Path = tmp_path_factory.mktemp("fuzz")
    world = make_world(f"sqlite:///{folder / 'votes.db'}")
    yield world, world.browser("Ann")
    world.store.close()


def _sent(fields: dict[str, str]) -> dict[str, Any]:
    """`fields` as the body of a form, halves of surrogate pairs too."""
    body = urlencode({name: value.encode("utf-8", "surrogatepass") for name, value in _named(fields)})
    return {"content": body.encode(), "headers": {"Content-Type": "application/x-www-form-urlencoded"}}


def _named(fields: dict[str, str]) -> list[tuple[Any, str]]:
    return [(name.encode("utf-8", "surrogatepass"), value) for name, value in fields.items()]


@pytest.mark.full
@TUNED
@given(data=st.data())
def test_answers(fuzzed: tuple[World, Browser], data: st.DataObject) -> None:
    _, ann = fuzzed
    project = data.draw(st.sampled_from(PROJECTS))
    path = f"/p/{project}/{data.draw(st.integers(1, 2))}"
    form = ann.form(path)
    if data.draw(st.booleans()):
        form |= {name: "1" for name in form if name.startswith("v.")}
    action = data.draw(st.sampled_from(["submit", "submit", "draft", "skip", "flag", "unflag"]) | EVERY_CHARACTER)
    for name in data.draw(st.lists(st.sampled_from([name for name in form if name != "csrf"]))):
        form[name] = data.draw(VALUES)
    filled = (
        form
        | {"action": action}
        | data.draw(st.dictionaries(EVERY_CHARACTER, VALUES, max_size=3))
        | {"csrf": form["csrf"]}
    )
    sent = _sent(filled)
    sent["headers"] |= {"Accept": "application/json"} if data.draw(st.booleans()) else {}
    answer = ann.client.post(path, **sent)
    assert answer.status_code in (200, 303, 400, 409, 413, 422)
    assert ann.get(path).status_code == 200, "and what was kept can be shown"


@pytest.mark.push
@TUNED
@given(
    fields=st.dictionaries(st.sampled_from(["csrf", "language", "back", "token"]) | EVERY_CHARACTER, VALUES, max_size=4)
)
def test_other_forms(fuzzed: tuple[World, Browser], fields: dict[str, str]) -> None:
    _, ann = fuzzed
    token = ann.csrf
    for path in ("/language", "/p/claims/undo", "/p/forms/undo"):
        answer = ann.client.post(path, **_sent(fields | {"csrf": token}))
        assert answer.status_code in (303, 400, 409)
        assert answer.headers.get("location", "/").startswith("/")
        assert not answer.headers.get("location", "/").startswith("//")
    assert ann.client.post("/leave", **_sent(fields | {"csrf": "x"})).status_code == 403


@pytest.mark.push
@TUNED
@given(token=VALUES, slip=VALUES)
def test_sign_in(fuzzed: tuple[World, Browser], token: str, slip: str) -> None:
    world, ann = fuzzed
    world.app.state.site.login_throttle.__init__()
    other = world.browser()
    good = hidden(other.get(f"/enter/{ann.token}").text, "csrf")
    assert other.client.post("/enter", **_sent({"csrf": good, "token": token})).status_code == 403
    assert other.client.post("/enter", **_sent({"csrf": slip, "token": ann.token})).status_code == 403


@pytest.mark.push
@TUNED
@given(body=st.binary(max_size=300), kind=st.sampled_from(["application/x-www-form-urlencoded", "text/plain", ""]))
def test_bodies_that_are_no_form(fuzzed: tuple[World, Browser], body: bytes, kind: str) -> None:
    _, ann = fuzzed
    for path in ("/enter", "/leave", "/language", "/p/claims/1", "/p/claims/undo"):
        answer = ann.client.post(path, content=body, headers={"Content-Type": kind})
        assert answer.status_code in (400, 403)


@pytest.mark.full
@TUNED
@given(part=EVERY_CHARACTER, name=st.sampled_from(["state", "start", "saved", "undone"]), value=VALUES)
def test_addresses(fuzzed: tuple[World, Browser], part: str, name: str, value: str) -> None:
    _, ann = fuzzed
    whole = part.encode("utf-8", "surrogatepass")
    quoted = "".join(f"%{byte:02X}" for byte in whole)
    for path in (
        f"/p/{quoted}",
        f"/p/claims/{quoted}",
        f"/p/{quoted}/list",
        f"/late/{quoted}.css",
        f"/{quoted}",
        f"/static/{quoted}",
    ):
        assert ann.get(path).status_code < 500
    told = "".join(f"%{byte:02X}" for byte in value[:500].encode("utf-8", "surrogatepass"))
    for path in ("/p/claims/list", "/p/claims/1", "/p/claims"):
        assert ann.get(f"{path}?{name}={told}").status_code in (200, 303)
