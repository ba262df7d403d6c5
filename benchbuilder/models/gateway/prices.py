"""Reads dated price tables in YAML, which users may replace."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from benchbuilder.config import FileRef, display_path
from benchbuilder.core import Problem, RecipeError
from benchbuilder.models.base import LocalModel, Model

_TABLE = ("as_of", "source", "endpoint", "currency", "per_tokens", "models", "aliases")
_PRICE = ("input", "output", "cached", "batch")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens; a request in a batch costs `batch` times as much."""

    input: float
    output: float
    cached: float
    batch: float = 1.0

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


@dataclass(frozen=True)
class Prices:
    """A price table with its date (`as_of`), its `source`, and the prices by model.

    A model is found by its exact name, then by `aliases` (name -> name in the table), then without a date at its end
    (``-2024-07-18``). A model that is not found has no price: nothing is guessed. With an `endpoint`, the prices apply
    to the service at that address only: other services may use the same names for other models.
    """

    as_of: str
    source: str
    models: Mapping[str, Price]
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    endpoint: str = ""
    file: str = ""
    """The path of the table, for messages."""

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
            data: Any = yaml.safe_load(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            problem = Problem(
                "the table of prices cannot be read", "model.prices", str(file), " ".join(str(error).split())
            )
            raise RecipeError([problem]) from error
        reading = _PriceTableReader(file)
        prices = reading.table(data)
        if reading.problems:
            raise RecipeError(reading.problems, next="correct the table, or name another with model.prices=FILE")
        return replace(prices, file=display_path(file))


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


class _PriceTableReader:
    """Reads one table and collects its problems."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.problems: list[Problem] = []

    def table(self, data: Any) -> Prices:
        if not isinstance(data, dict):
            self._add_problem("a table of prices is a mapping", "", data, ", ".join(_TABLE))
            return Prices("", "", {})
        self._keys(data, _TABLE, "")
        as_of = data.get("as_of")
        as_of = as_of.isoformat() if isinstance(as_of, datetime.date) else as_of
        if not isinstance(as_of, str) or not _DATE.fullmatch(as_of):
            self._add_problem("the table has no date", "as_of", as_of, "a date such as 2026-03-01")
        if data.get("currency") != "USD":
            self._add_problem("prices are in US dollars", "currency", data.get("currency"), "USD")
        if data.get("per_tokens") != _MILLION:
            self._add_problem("prices are for a million tokens", "per_tokens", data.get("per_tokens"), str(_MILLION))
        source = data.get("source")
        if not isinstance(source, str) or not source.strip():
            self._add_problem("the table does not say where its prices are from", "source", source, "an address")
        endpoint = data.get("endpoint", "")
        if not isinstance(endpoint, str):
            self._add_problem("this is not an address", "endpoint", endpoint, "an address such as https://host/v1")
        found = data.get("models")
        if not isinstance(found, dict) or not found:
            self._add_problem("the table has no models", "models", found, "NAME: {input: 0.15, output: 0.6}")
            found = {}
        models = {str(name): self._price(str(name), price) for name, price in found.items()}
        return Prices(str(as_of), str(source), models, self._aliases(data.get("aliases"), models), str(endpoint))

    def _price(self, name: str, data: Any) -> Price:
        key = f"models.{name}"
        if not isinstance(data, dict):
            self._add_problem("a price is a mapping", key, data, ", ".join(_PRICE))
            return FREE
        self._keys(data, _PRICE, f"{key}.")
        spent = {part: self._number(f"{key}.{part}", data[part]) for part in _PRICE if part in data}
        for part in ("input", "output"):
            if part not in spent:
                self._add_problem("the price is not complete", f"{key}.{part}", None, "US dollars per million tokens")
        price, output = spent.get("input", 0.0), spent.get("output", 0.0)
        return Price(price, output, spent.get("cached", price), spent.get("batch", 1.0))

    def _number(self, key: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._add_problem("this is no number", key, value, "a number without quotes, such as 0.15")
        elif not math.isfinite(value) or value < 0:
            self._add_problem("a price is 0 or more", key, value, "a number such as 0.15")
        else:
            return float(value)
        return 0.0

    def _aliases(self, data: Any, models: Mapping[str, Price]) -> dict[str, str]:
        if data is None:
            return {}
        if not isinstance(data, dict):
            self._add_problem("aliases are a mapping", "aliases", data, "NAME: name in the table")
            return {}
        for name, target in data.items():
            if target not in models:
                self._add_problem("the alias names no model of the table", f"aliases.{name}", target, ", ".join(models))
        return {str(name): str(target) for name, target in data.items()}

    def _keys(self, data: dict[Any, Any], known: tuple[str, ...], prefix: str) -> None:
        for key in data:
            if key not in known:
                self._add_problem("there is no such key", f"{prefix}{key}", key, ", ".join(known))

    def _add_problem(self, message: str, key: str, found: Any, allowed: str) -> None:
        shown = "nothing" if found is None else repr(found) if isinstance(found, str) else str(found)
        self.problems.append(Problem(message, key, str(self.file), shown[:200], allowed))
