"""Reads dated price tables in YAML, which users may replace."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from benchbuilder.config import FileRef, Spec, display_path
from benchbuilder.core import Problem, RecipeError, parse_plain_yaml, read_given_text
from benchbuilder.models.base import LocalModel, Model

_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")
_MILLION = 1_000_000


_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]
_Name = Annotated[str, BeforeValidator(str)]
_Date = Annotated[str, BeforeValidator(str), Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Price:
    """USD per million tokens; a request in a batch costs `batch` times as much."""

    input: _Amount
    output: _Amount
    cached: _Amount = Field(default_factory=lambda data: data["input"])
    batch: _Amount = 1.0

    def usd(self, prompt: int, completion: int, cached: int = 0, *, batched: bool = False) -> float:
        """The cost of a request in USD; `cached` of the `prompt` tokens came from the cache of the service.

        >>> Price(input=2.0, output=8.0, cached=0.5, batch=0.5).usd(1_000_000, 500_000, batched=True)
        3.0
        """
        cached = min(cached, prompt)
        spent = (prompt - cached) * self.input + cached * self.cached + completion * self.output
        return spent * (self.batch if batched else 1.0) / _MILLION

    def worst(self, prompt: int, completion: int) -> float:
        """The highest possible cost in USD: with nothing cached, or everything if that is more expensive."""
        return (prompt * max(self.input, self.cached) + completion * self.output) / _MILLION

    def per_token(self) -> tuple[float, float, float, float]:
        """USD per token of input, cached input and output, and the batch factor."""
        return self.input / _MILLION, self.cached / _MILLION, self.output / _MILLION, self.batch


FREE = Price(0.0, 0.0, 0.0)
"""The price of a model in this process."""


class Prices(Spec):
    """A price table with its date (`as_of`), its `source`, and the prices by model.

    A model is found by its exact name, then by `aliases` (name -> name in the table), then without a date at its end
    (``-2024-07-18``). A model that is not found has no price: nothing is guessed. With an `endpoint`, the prices apply
    to the service at that address only: other services may use the same names for other models.
    """

    as_of: _Date
    source: Annotated[str, Field(pattern=r"\S")]
    currency: Literal["USD"]
    per_tokens: Literal[1_000_000]
    endpoint: str = ""
    models: Annotated[dict[_Name, Price], Field(min_length=1)]
    aliases: Annotated[dict[_Name, _Name], BeforeValidator(lambda value: value or {})] = {}
    file: str = ""
    """The path of the table, for messages."""

    @model_validator(mode="after")
    def _name_models(self) -> Self:
        if unknown := [f"{name} ({target})" for name, target in self.aliases.items() if target not in self.models]:
            raise ValueError(f"aliases name models that are not in the table: {', '.join(unknown)}")
        return self

    def applies_to(self, endpoint: str) -> bool:
        """Whether the prices apply to the service at an address."""
        return not self.endpoint or endpoint.rstrip("/") == self.endpoint.rstrip("/")

    def price_for(self, name: str, endpoint: str = "") -> Price | None:
        """The price of a model at an address, or ``None`` if unknown."""
        if not self.applies_to(endpoint):
            return None
        found = self.models.get(name) or self.models.get(self.aliases.get(name, ""))
        return found or self.models.get(_DATED.sub("", name))

    @classmethod
    def read(cls, file: Path) -> Prices:
        """Read a price table; RecipeError lists all its problems."""
        try:
            data: Any = parse_plain_yaml(read_given_text(file))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            why = " ".join(str(error).split())
            raise RecipeError([Problem("the price table cannot be read", "model.prices", str(file), why)]) from error
        try:
            return cls.model_validate(data).model_copy(update={"file": display_path(file)})
        except ValidationError as error:
            problems = [_problem(item, file) for item in error.errors() if item["type"] != "default_factory_not_called"]
            next = "correct the table, or name another with model.prices=FILE"
            raise RecipeError(problems, next=next) from error


_ALLOWED = {
    "as_of": "a date such as 2026-03-01",
    "source": "the address that the prices are from",
    "currency": "USD",
    "per_tokens": str(_MILLION),
    "endpoint": "an address such as https://host/v1",
    "models": "NAME: {input: 0.15, output: 0.6}, with cached and batch if they are known",
    "aliases": "NAME: name in the table",
}


def _problem(item: Any, file: Path) -> Problem:
    """One error of pydantic about a table."""
    found = {"missing": "nothing", "value_error": ""}.get(item["type"], repr(item["input"])[:200])
    key = ".".join(map(str, item["loc"]))
    allowed = _ALLOWED.get(str(next(iter(item["loc"]), "")), ", ".join(_ALLOWED))
    return Problem(
        f"the price table is wrong: {item['msg'].removeprefix('Value error, ')}", key, str(file), found, allowed
    )


def model_price(model: Model) -> tuple[Prices | None, Price | None]:
    """The price table of a model and its price; a model in this process is free."""
    if isinstance(model, LocalModel):
        return None, FREE
    ref: FileRef | None = getattr(model.spec, "prices", None)
    if ref is None:
        return None, None
    prices = Prices.read(ref.file)
    return prices, prices.price_for(model.label, model_endpoint(model))


def why_unpriced(model: Model, prices: Prices | None) -> tuple[str, str]:
    """Why a model has no price, and what to do."""
    if prices is None:
        return "no price table is named", "name one with model.prices=FILE"
    endpoint = model_endpoint(model)
    if not prices.applies_to(endpoint):
        why = f"the table {prices.file} applies to {prices.endpoint}, not to {endpoint}"
        return why, "name the prices of that service with model.prices=FILE"
    close = get_close_matches(model.label.lower(), [*prices.models, *prices.aliases], n=1)
    near = f"did you mean {close[0]!r}? Else " if close else ""
    why = f"the table {prices.file} of {prices.as_of} has no price for {model.label!r}, and none is guessed"
    return why, f"{near}add it to a table of your own and name that with model.prices=FILE"


def missing_price_problem(model: Model, prices: Prices | None) -> Problem:
    """The problem of a cap in US dollars without a price."""
    why, hint = why_unpriced(model, prices)
    return Problem(
        f"budget.usd needs a price: {why}", "model.prices", actual=model.label,
        hint=f"{hint}, or cap with budget.tokens instead",
    )  # fmt: skip


def model_endpoint(model: Model) -> str:
    """The address of a model by its identity; "" for a model in this process."""
    return str(model.identity().get("endpoint", ""))
