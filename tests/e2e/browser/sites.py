"""A site with people who work on it in browsers, and what they and their pages do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from patience import patience

from benchbuilder.annotation.base import Subject, Task, Value
from benchbuilder.annotation.database.models import Assignment, Person, Project, Role, Submission
from benchbuilder.annotation.database.store import AnnotationStore
from benchbuilder.annotation.tasks import judgement_requests
from benchbuilder.config.spec.annotation import ProjectSpec

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator, Page

PHONE: Mapping[str, Any] = {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True}
DESK: Mapping[str, Any] = {"viewport": {"width": 1280, "height": 900}}


def patience_ms() -> float:
    """How long a browser waits for anything, in milliseconds."""
    return 1000 * patience()


class Watch:
    """What goes wrong in a browser: errors of scripts and of the console, and requests to anywhere else.

    What a test brings about on purpose is `expected`: patterns of what the console then says.
    """

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.seen: list[str] = []
        self.expected: list[str] = []
        context.on("console", lambda said: said.type in ("error", "warning") and self.seen.append(said.text))
        context.on("weberror", lambda error: self.seen.append(f"script: {error.error}"))
        context.on("request", lambda sent: sent.url.startswith(f"{address}/") or self.seen.append(f"asks {sent.url}"))

    def wrong(self) -> list[str]:
        return [text for text in self.seen if not any(re.search(pattern, text) for pattern in self.expected)]


class Seat:
    """Somebody's browser with one open page."""

    def __init__(self, site: Site, context: BrowserContext, link: str) -> None:
        self.site, self.context, self.link = site, context, link
        self.watch = Watch(context, site.address)
        self.page: Page = context.new_page()

    def expects(self, *patterns: str) -> None:
        """The console may say what matches one of `patterns`."""
        self.watch.expected += patterns

    def go(self, path: str) -> Page:
        """Open `path` of the site."""
        self.page.goto(self.site.address + path)
        return self.page

    def enter(self) -> Page:
        """Come in by the invite link."""
        self.page.goto(self.link)
        with self.loading():
            self.page.locator("main form button").click()
        return self.page

    def reopen(self) -> Page:
        """A new tab, without script or storage of the old one."""
        self.page = self.context.new_page()
        return self.page

    @contextmanager
    def loading(self) -> Iterator[None]:
        """What is done inside loads another page, and it is loaded, scripts and all, when this is over."""
        with self.page.expect_event("load"):
            yield

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def tab_to(self, found: Locator, most: int = 60) -> None:
        """Press Tab until `found` has the focus."""
        for _ in range(most):
            if found.evaluate("element => element === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not lead to {found}")


class Site:
    """The app over one database, which the test may look into."""

    def __init__(self, chromium: Browser | None, url: str, address: str) -> None:
        self._chromium, self.address = chromium, address
        self.store = AnnotationStore.open(url)
        self._seats: list[Seat] = []
        self.people: dict[str, Person] = {}
        self.links: dict[str, str] = {}

    def close(self) -> None:
        for seat in self._seats:
            seat.context.close()
        self.store.close()

    def wrong(self) -> list[str]:
        """What went wrong in any browser."""
        return [text for seat in self._seats for text in seat.watch.wrong()]

    def invite(self, name: str, role: Role = "annotator") -> Person:
        person, token = self.store.invite(name, role)
        self.people[name], self.links[name] = person, f"{self.address}/enter/{token}"
        return person

    def seat(self, name: str = "", role: Role = "annotator", **options: Any) -> Seat:
        """A fresh browser of the person called `name`, who is invited if need be; `options` of the browser context."""
        if name and name not in self.links:
            self.invite(name, role)
        assert self._chromium is not None
        context = self._chromium.new_context(**{**DESK, "locale": "en-GB", **options})
        context.set_default_timeout(patience_ms())
        seat = Seat(self, context, self.links.get(name, ""))
        self._seats.append(seat)
        return seat

    def lay_out(
        self, spec: ProjectSpec, tasks: Sequence[Task], *, name: str = "p", language: str = "zh", guideline: str = ""
    ) -> None:
        self.store.sync_project(Project(name, spec, guideline, language, 7), tasks)

    def asked(self, name: str, number: int, project: str = "p") -> Assignment:
        """The task `number` of somebody, as it is in the database; looking opens nothing."""
        found = self.store.assignment(self.people[name], project, number, opening=False)
        assert found is not None
        return found

    def votes(self, project: str = "p") -> dict[str, dict[Subject, Value]]:
        """What counts now, by the name of the person."""
        found: dict[str, dict[Subject, Value]] = {}
        for vote in self.store.vote_events(project):
            found.setdefault(vote.person, {}).pop(vote.subject, None)
            if vote.value is not None:
                found[vote.person][vote.subject] = vote.value
        return found


def subjects(task: Task, spec: ProjectSpec) -> dict[Subject, str]:
    """Everything that is asked about `task`, with the name of the question."""
    return {subject: what.question for subject, what in judgement_requests([task], spec).items()}


def field(subject: Subject) -> str:
    """The form field that answers `subject`."""
    return f"v.{subject.key}.{subject.wording}"


def radio(page: Page, subject: Subject, value: Value) -> Locator:
    """The label to hit for an answer."""
    return page.locator(f'label.choice:has(input[name="{field(subject)}"][value="{value}"])')


def choose(page: Page, values: Mapping[Subject, Value], hit: Callable[[Locator], object]) -> None:
    """Hit each of `values`."""
    for subject, value in values.items():
        hit(radio(page, subject, value))


def in_steps(page: Page) -> list[str]:
    """The fields of all questions in the order in which the keys j and k go through them."""
    steps: Iterable[tuple[str, str]] = page.locator("[data-step]").evaluate_all(
        "all => all.map(q => [q.dataset.step, q.dataset.name])"
    )
    return [name for _, name in sorted(steps, key=lambda pair: int(pair[0]))]


def answer_by_keys(seat: Seat, values: Mapping[Subject, Value]) -> None:
    """Press the digit of each of `values`, which are all that the page asks, in the order in which it asks."""
    typed = {field(subject): str(value) for subject, value in values.items()}
    order = in_steps(seat.page)
    assert set(order) == set(typed)
    seat.press(*(typed[name] for name in order))


def answer(site: Site, name: str, number: int, spec: ProjectSpec, project: str = "p", **values: Value) -> None:
    """Somebody submits their task `number`: `values` by question, 1 where nothing is said; not by a page."""
    found = site.store.assignment(site.people[name], project, number)
    assert found is not None
    questions = spec.questions_about()
    given = {
        subject: values.get(question, "text" if questions[question].answer == "text" else 1)
        for subject, question in subjects(found.task, spec).items()
    }
    assert site.store.submit(site.people[name], found.task_id, Submission(given, note="记一笔")) == "kept"
