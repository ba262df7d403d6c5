"""Annotators at work over HTTP, many at a time, and what they were told is kept."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from live_app import Answer, Browser, Server
from patience import until
from sqlalchemy import Connection
from vote_worlds import PROJECT, Annotator, effective, saved_drafts

from benchbuilder.annotation.database.page_state import hash_texts
from benchbuilder.annotation.database.sanitise import value_as_typed

TEXTS = ("", "与教材一致", "段落没有提到时间", 'a "quoted" <b>remark</b> & more', "😀 تجربة")


def typed(annotator: Annotator, number: int, round_: int) -> dict[str, str]:
    """What they enter in the form of a task: something else in every round, by every annotator."""
    seed = annotator.person.id * 7 + number * 3 + round_
    values = {"sound": str(seed % 2), "supports": str(seed // 2 % 2), "grade": f"0.{seed % 10}"}
    values["why"] = TEXTS[seed % len(TEXTS)]
    return {entry.field_name: values[entry.name] for entry in annotator.sheets[number].fields()}


def _counted(annotator: Annotator, number: int, texts: dict[str, str]) -> dict[str, str]:
    """`texts` as the next page of the task shows them: 1 and not 1.0."""
    names = {entry.field_name: entry.name for entry in annotator.sheets[number].fields()}
    kept = {name: _as_kept(names[name], text) for name, text in texts.items()}
    return {name: value_as_typed(value) for name, value in kept.items() if value is not None}


def _as_kept(name: str, text: str) -> int | float | str | None:
    if name == "why":
        return text or None
    return int(float(text)) if float(text) in (0, 1) else float(text)


@dataclass(frozen=True)
class Save:
    """One save: of a draft, or a submit."""

    number: int
    round_: int
    action: str


@dataclass
class Shift:
    """One annotator's work: what is still `to_do`, and the saves that the server acknowledged, in order.

    `trouble` are answers that are anything else than an acknowledgement.
    """

    annotator: Annotator
    to_do: list[Save]
    acknowledged: list[Save] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    pages: int = 0
    browser: Browser | None = None
    _seen: dict[int, str] = field(default_factory=dict)

    def enter(self, server: Server) -> None:
        self.browser = Browser(server)
        came_in = self.browser.enter(self.annotator.token)
        assert came_in.status == 303, came_in.text

    def work(self, look_every: int) -> None:
        """Do what is to be done, in order, until it is done or the server is gone.

        Every `look_every` saves the page is looked at before.
        """
        browser = self.browser
        assert browser is not None
        try:
            csrf = browser.csrf
            while self.to_do:
                save = self.to_do[0]
                if look_every and len(self.to_do) % look_every == 0:
                    self._look(browser.get(f"/p/{PROJECT}/{save.number}"), save)
                self._save(browser, save, csrf)
                self.to_do.pop(0)
        except (OSError, http.client.HTTPException):
            browser.close()  # the server is gone, and did not say whether it kept the last save

    def _look(self, page: Answer, save: Save) -> None:
        self.pages += 1
        if page.status != 200 or self.annotator.sheets[save.number].shown_hash not in page.text:
            self.trouble.append(f"GET {save}: {page.status} {page.text[:300]}")

    def _save(self, browser: Browser, save: Save, csrf: str) -> None:
        sheet = self.annotator.sheets[save.number]
        data = {"csrf": csrf, "shown": sheet.shown_hash, "active": "12", "action": save.action, "note": ""}
        data["task"] = self.annotator.keys[save.number]
        data |= {"base": self._seen.get(save.number, ""), "page": f"page of task {save.number}"}
        entered = typed(self.annotator, save.number, save.round_)
        data |= entered
        path = f"/p/{PROJECT}/{save.number}"
        if save.action == "draft":
            answer = browser.post(path, data, Accept="application/json")
            fine = answer.status == 200 and answer.body == b'{"state":"saved"}'
        else:
            answer = browser.post(path, data)
            fine = answer.status == 303 and answer.location.endswith(f"?saved={save.number}")
        if fine:
            self.acknowledged.append(save)
            if save.action == "submit":
                self._seen[save.number] = hash_texts(_counted(self.annotator, save.number, entered))
        else:
            self.trouble.append(f"POST {save}: {answer.status} {answer.location} {answer.text[:300]}")


@contextmanager
def signed_in(shifts: Sequence[Shift], server: Server) -> Iterator[None]:
    """All of them come in; their connections end with the context."""
    try:
        for shift in shifts:
            shift.enter(server)
        yield
    finally:
        for shift in shifts:
            if shift.browser is not None:
                shift.browser.close()


def side_by_side(what: Callable[[Shift], None], shifts: Sequence[Shift]) -> None:
    """All of them at once."""
    with ThreadPoolExecutor(len(shifts)) as pool:
        for done in [pool.submit(what, shift) for shift in shifts]:
            done.result()


def in_background(shifts: Sequence[Shift], look_every: int) -> threading.Thread:
    """The same, while the caller does something else."""
    thread = threading.Thread(target=side_by_side, args=(lambda shift: shift.work(look_every), shifts))
    thread.start()
    return thread


def acknowledged(shifts: Iterable[Shift]) -> int:
    return sum(len(shift.acknowledged) for shift in shifts)


def wait_for(shifts: Sequence[Shift], goal: int, at_work: threading.Thread) -> None:
    """Until so many saves were acknowledged, or nobody is at work any more."""
    until(lambda: acknowledged(shifts) >= goal or not at_work.is_alive())


def trouble(shifts: Iterable[Shift]) -> list[str]:
    return [line for shift in shifts for line in shift.trouble]


def check_kept(connection: Connection, shifts: Sequence[Shift]) -> None:
    """Assert that whatever was acknowledged is there, as it was entered last.

    The next save of each shift may be there too: the server may have kept it and not lived to say so.
    """
    votes, kept_drafts = effective(connection), saved_drafts(connection)
    for shift in shifts:
        person = shift.annotator.person.id
        unsure = shift.to_do[0] if shift.to_do else None
        for number, saves in _by_number(shift.acknowledged).items():
            task = shift.annotator.task_ids[number]
            there = {(key, wording): value for (t, p, key, wording), value in votes.items() if (t, p) == (task, person)}
            _check_task(shift, number, saves, unsure, there, kept_drafts.get((task, person)))


def _by_number(saves: Iterable[Save]) -> dict[int, list[Save]]:
    found: dict[int, list[Save]] = {}
    for save in saves:
        found.setdefault(save.number, []).append(save)
    return found


def _check_task(
    shift: Shift, number: int, saves: list[Save], unsure: Save | None, there: dict[Any, Any], draft: Any
) -> None:
    maybe = [*saves, unsure] if unsure is not None and unsure.number == number else saves
    states = [_state(shift, number, known) for known in (saves, maybe)]
    assert (there, draft) in states, f"{shift.annotator.person.name}, task {number}: {there}, {draft}, not {states}"


def _state(shift: Shift, number: int, saves: list[Save]) -> tuple[dict[Any, Any], Any]:
    """Votes and draft after `saves`."""
    votes: dict[Any, Any] = {}
    draft = None
    for save in saves:
        texts = typed(shift.annotator, number, save.round_)
        if save.action == "draft":
            draft = texts | {"note": "", "page": f"page of task {number}"}
        else:
            entries = shift.annotator.sheets[number].fields()
            values = {(e.subject.key, e.subject.wording): _as_kept(e.name, texts[e.field_name]) for e in entries}
            votes, draft = {subject: value for subject, value in values.items() if value is not None}, None
    return votes, draft
