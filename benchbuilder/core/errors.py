"""Every exception that benchbuilder raises on purpose.

::

    BenchbuilderError            what, where, why, next; carries an exit code
    ├── RecipeError         2    a recipe is wrong: a list of problems, all at once
    ├── InstallationError   2    a kind, plugin or extra is missing or claimed twice
    ├── DataError           3    a source file is missing or has the wrong shape
    ├── StoreError          3    the store is locked or cannot be used
    │   └── DamagedError    3    files of a step are damaged in the store; a build makes the step again
    ├── ServiceError        4    a model or another service does not answer
    │   └── BudgetReached   4    the next model call could cost more than the recipe's budget
    ├── TooManyFailures     5    more rows failed than the recipe tolerates
    ├── GateClosed          6    the audit found shortcuts that forbid a release; everything was written
    ├── AccountingError    70    the row accounting does not add up: a bug in a kind
    └── Waiting            75    something that takes time is missing: the same command resumes once it exists
        ├── WaitingForPeople     judgements
        └── WaitingForBatch      replies of batched requests
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Problem:
    """One problem of a recipe.

    `key` is the dotted YAML key, `where` a ``file:line`` or the command-line text, `actual` the present value,
    `allowed` the possible values, `hint` what to do (often a did-you-mean).
    """

    message: str
    key: str = ""
    where: str = ""
    actual: str = ""
    allowed: str = ""
    hint: str = ""

    def __str__(self) -> str:
        lines = [f"{self.key}: {self.message}" if self.key else self.message]
        for label, text in (("at", self.where), ("found", self.actual), ("allowed", self.allowed), ("hint", self.hint)):
            if text:
                lines.append(f"    {label + ':':<9}{text}")
        return "\n".join(lines)


class BenchbuilderError(Exception):
    """The root: `what` happened, `where`, `why`, and what to do `next`."""

    exit_code: ClassVar[int] = 70

    def __init__(self, what: str, *, where: str = "", why: str = "", next: str = "") -> None:
        super().__init__(what)
        self.what, self.where, self.why, self.next = what, where, why, next

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.__dict__.copy())

    def __str__(self) -> str:
        lines = [self.what]
        for label, text in (("where", self.where), ("why", self.why), ("next", self.next)):
            if text:
                lines.append(f"  {label + ':':<7}{text}")
        return "\n".join(lines)


def _rebuild(cls: type[BenchbuilderError], state: dict[str, object]) -> BenchbuilderError:
    error = cls.__new__(cls)
    error.__dict__.update(state)
    error.args = (state["what"],)
    return error


class RecipeError(BenchbuilderError):
    """A recipe is wrong; `problems` lists all problems."""

    exit_code = 2

    def __init__(self, problems: list[Problem] | tuple[Problem, ...], *, next: str = "") -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        places = {" ".join(problem.where.split(" ", 1)[:1]) for problem in problems}
        typed = all(place == "command" or (place.startswith("--") and place != "--data") for place in places)
        where = "with --data" if places == {"--data"} else "on the command line" if typed else "in the recipe"
        super().__init__(f"{count} problem{'s' if count != 1 else ''} {where}", next=next)

    def __str__(self) -> str:
        parts = [self.what, *(f"- {problem}" for problem in self.problems)]
        if self.next:
            parts.append(f"next: {self.next}")
        return "\n".join(parts)


class InstallationError(BenchbuilderError):
    """A kind or a library is not installed, is claimed by two distributions, or cannot be imported."""

    exit_code = 2


class DataError(BenchbuilderError):
    """A source file is missing, unreadable or has the wrong shape."""

    exit_code = 3


class StoreError(BenchbuilderError):
    """The store of a build is locked by another build, or damaged."""

    exit_code = 3


class DamagedError(StoreError):
    """Files of a step in the store do not have their checksums; the next build makes the step again."""


class ServiceError(BenchbuilderError):
    """A model or another service refuses or does not answer."""

    exit_code = 4


class BudgetReached(ServiceError):
    """The next model call could exceed the budget; all replies so far are kept."""


class TooManyFailures(BenchbuilderError):
    """More rows failed than the recipe tolerates."""

    exit_code = 5


class GateClosed(BenchbuilderError):
    """The audit found shortcuts that the recipe does not allow, or the benchmark may not be released."""

    exit_code = 6


class AccountingError(BenchbuilderError):
    """The row accounting of a step does not add up; nothing of the shard was committed."""

    exit_code = 70


class Waiting(BenchbuilderError):
    """Something that takes time is missing; `missing` counts it by sort. The rest of the build continues."""

    exit_code = 75

    def __init__(self, what: str, *, missing: dict[str, int], where: str = "", why: str = "", next: str = "") -> None:
        super().__init__(what, where=where, why=why, next=next)
        self.missing = missing


class WaitingForPeople(Waiting):
    """Judgements by people are missing."""


class WaitingForBatch(Waiting):
    """Replies of batched requests are missing."""
