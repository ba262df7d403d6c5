"""Counts tokens before a call: with a tokenizer file that the user names, else by an estimate per script."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import regex
from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from benchbuilder.core import Problem, RecipeError, imports_of, is_installed, read_given_text, read_json
from benchbuilder.models.base import Message, Request
from benchbuilder.models.gateway.journal import Journal
from benchbuilder.models.gateway.journal_tables import unpack_request
from benchbuilder.models.providers.chat import chat_messages

LEAST_REPLIES = 5
"""Replies of a model from which a factor, and the length of its replies, is learnt."""
_MOST_REPLIES = 400
_TOWARDS_RATIO = 0.5
"""Weight of the plain ratio against the regression, as a multiple of the squared mean."""


@dataclass(frozen=True)
class PromptFit:
    """What a service counts for a prompt: `per_call` tokens, and `factor` for each that we count."""

    per_call: float = 0.0
    factor: float = 1.0
    replies: int = 0


@contextmanager
def opened_journal(journal: Journal | Path) -> Generator[Journal]:
    """`journal` itself, or the one in a file, closed at the end."""
    opened = Journal(journal) if isinstance(journal, Path) else journal
    try:
        opened.check()
        yield opened
    finally:
        if opened is not journal:
            opened.close()


def fit_prompts(journal: Journal, model: str) -> PromptFit:
    """How the service counts prompts of `model` against our estimate by script."""
    rows = journal.rows(
        "SELECT counted, prompt FROM replies WHERE model = ? AND estimated = 0 AND counted > 0 AND outcome IS NOT NULL"
        f" ORDER BY id DESC LIMIT {_MOST_REPLIES}",
        model,
    )
    return fit_line([(float(counted), float(prompt)) for counted, prompt in rows])


def fit_line(pairs: Sequence[tuple[float, float]]) -> PromptFit:
    """The line through pairs of our count and the count of the service.

    With pairs of like lengths it is near the plain ratio. Fewer than `LEAST_REPLIES` pairs cannot tell a factor from
    what the service puts around a prompt: they show the latter, which is most of a short prompt's error.

    >>> fit_line([(10, 33), (20, 43)])
    PromptFit(per_call=23.0, factor=1.0, replies=2)
    >>> fit = fit_line([(10, 33), (20, 43), (60, 83), (15, 38), (200, 223)] * 20)
    >>> round(fit.per_call), round(fit.factor, 1)
    (23, 1.0)
    """
    if not any(counted for counted, _ in pairs):
        return PromptFit()
    x, y = (sum(column) / len(pairs) for column in zip(*pairs, strict=True))
    if len(pairs) < LEAST_REPLIES:
        return PromptFit(max(0.0, y - x), min(1.0, y / x), len(pairs))
    held = _TOWARDS_RATIO * x * x
    slope = sum((one - x) * (other - y) for one, other in pairs) + held * y / x
    factor = max(0.0, slope / (sum((one - x) ** 2 for one, _ in pairs) + held))
    per_call = max(0.0, y - factor * x)
    return PromptFit(per_call, factor if per_call else y / x, len(pairs))


def asked_prompts(journal: Journal, model: str) -> list[tuple[Request, int]]:
    """Some requests to `model`, each with the prompt tokens that the service counted."""
    rows = journal.rows(
        "SELECT request, prompt FROM replies JOIN bodies USING (id) WHERE model = ? AND estimated = 0"
        " AND outcome IS NOT NULL ORDER BY id DESC LIMIT 50",
        model,
    )
    return [(unpack_request(packed), prompt) for packed, prompt in rows]


def mean_reply(journal: Journal | Path, model: str, step: str) -> float | None:
    """The mean tokens of the replies of `model` in `step`; ``None`` with too few of them."""
    with opened_journal(journal) as opened:
        found = opened.rows(
            "SELECT count(*), avg(completion) FROM replies WHERE model = ? AND step = ? AND outcome IS NOT NULL",
            model,
            step,
        )
    replies, mean = found[0] if found else (0, None)
    return float(mean) if replies >= LEAST_REPLIES and mean else None


MESSAGE_TOKENS = 4
"""Tokens of a message besides its text: role and separators."""
REPLY_TOKENS = 3
"""Tokens that open the reply."""
MOST_TOKENS = 1_000_000
"""The most tokens that a reply without a limit is believed to have."""
_NOTHING_LEARNT = PromptFit()
_BELIEVED_SHARE = 8
"""A count below this part of our estimate, or above the limit and this multiple of our estimate, is not believed."""

_HAN = re.compile("[\u2e80-\u2fdf\u3400-\u4dbf\u4e00-\u9fff\u8c48-\ufaff\U00020000-\U0003ffff]+")
_KANA = re.compile(r"[぀-ヿㇰ-ㇿｦ-ﾟ]+")
_HANGUL = re.compile(r"[ᄀ-ᇿ㄰-㆏가-힯]+")
_LATIN = re.compile(r"[A-Za-zÀ-ɏ]+")
_DIGITS = re.compile(r"[0-9]+")
_SPACE = re.compile(r"[ \t]+")
_NEWLINES = re.compile(r"\s*\n\s*")
_WORDS = re.compile(r"[^\W\d_]+")
_MARKS = regex.compile(r"\p{M}+")
_SYMBOLS = re.compile(r"([^\w\s])\1*")

PER_HAN, PER_KANA, PER_HANGUL, PER_LETTER, PER_SYMBOL = 0.75, 0.75, 0.7, 0.45, 0.9
"""Tokens per character of running text, for vocabularies of 100,000 to 250,000 pieces. Older and smaller ones need up
to twice as many for Chinese. If a journal holds replies of the model, their counts correct this."""


def estimate_tokens(text: str) -> float:
    """Estimate the tokens of `text` by script.

    >>> round(estimate_tokens("Folic acid is recommended before pregnancy."))
    8
    """
    if text.isascii():
        han = kana = hangul = marks = 0
        rest = text
    else:
        rest, han = _remove_matches(_HAN, text)
        rest, kana = _remove_matches(_KANA, rest)
        rest, hangul = _remove_matches(_HANGUL, rest)
        rest, marks = _remove_matches(_MARKS, rest)  # vowel signs and tones are written like letters
    total = han * PER_HAN + kana * PER_KANA + hangul * PER_HANGUL + marks * PER_LETTER
    # a frequent word is one token; a long one is made of pieces of about five letters
    total += sum(1 if len(word) <= 7 else 1 + (len(word) - 7) / 5 for word in _LATIN.findall(rest))
    total += sum((len(run) + 2) // 3 for run in _DIGITS.findall(rest))
    total += len(_NEWLINES.findall(rest)) + PER_SYMBOL * len(_SYMBOLS.findall(rest))
    if not rest.isascii():
        total += PER_LETTER * sum(map(len, _WORDS.findall(_LATIN.sub(" ", rest))))
    return total


def _remove_matches(pattern: re.Pattern[str] | regex.Pattern[str], text: str) -> tuple[str, int]:
    """`text` without the matches of `pattern`, and the number of removed characters."""
    rest = pattern.sub("", text)
    return rest, len(text) - len(rest)


def plausible_tokens(claimed: Any, estimate: int, most: int | None) -> tuple[int, bool]:
    """The tokens to charge for what a service claims, and whether they are our own count instead of the claim.

    A claim above the limit is believed if the text is that long: some services ignore the limit, and charge for it. An
    absurd one counts as the limit. One that is no number, negative or far too low counts as our estimate, at most the
    limit.

    >>> plausible_tokens(90, 80, 100), plausible_tokens(259, 250, 40), plausible_tokens(9_000, 80, 100)
    ((90, False), (259, False), (100, True))
    >>> plausible_tokens(-1, 80, 100)
    (80, True)
    """
    limit = MOST_TOKENS if most is None else most
    if not isinstance(claimed, int) or claimed * _BELIEVED_SHARE < estimate or claimed < 0:
        return min(estimate, limit), True
    if claimed > max(limit, _BELIEVED_SHARE * estimate):
        return limit, True
    return claimed, False


class TokenCounter:
    """Counts the tokens of prompts and replies of a model.

    Args:
        spec: The settings of the model.
        fit: What was learnt from its replies, against our estimate or the count of its tokenizer.

    Attributes:
        exact: Whether a tokenizer counts; else the count is an estimate.
        how: The method in words.
    """

    def __init__(self, spec: Any, *, fit: PromptFit = _NOTHING_LEARNT) -> None:
        file = counting_file(spec)
        self.exact, self.fit = file is not None, fit
        self._encoded = None if file is None else _tokenizer(file)
        self._render = None if file is None else find_chat_template(file)
        replies = "reply" if fit.replies == 1 else "replies"
        learnt = f", corrected by {fit.replies} {replies} of this model" if fit.replies else ""
        named = getattr(spec, "token_counter", None)
        method = "estimated by script" if file is None else f"tokenizer {file.name if named is None else named.path}"
        template = " and its chat template" if self._render is not None else ""
        self.how = f"{method}{template}{learnt}"

    def count(self, text: str) -> int:
        """Tokens of `text`; at least 1 unless it is empty."""
        if self._encoded is not None:
            return self._encoded(text)
        return max(1, round(estimate_tokens(text) * self.fit.factor)) if text else 0

    @property
    def knows_template(self) -> bool:
        """Whether prompts are counted as the model reads them, with its chat template."""
        return self._render is not None

    def prompt(self, request: Request) -> int:
        """Billed tokens of a request: messages, what is put around them, and the schema."""
        if self._encoded is not None and self._render is not None:
            text = self._render(chat_messages(request))
            if text is not None:
                return self._encoded(text) + round(self.fit.per_call)
        texts = [message.content for message in request.messages]
        if request.schema is not None:
            texts.append(json.dumps(request.schema, ensure_ascii=False))
        marks = MESSAGE_TOKENS * len(texts) + REPLY_TOKENS
        if self._encoded is not None:
            return round(self.fit.per_call) + marks + sum(map(self._encoded, texts))
        return round(self.fit.per_call + (marks + sum(map(estimate_tokens, texts))) * self.fit.factor)

    def bound(self, request: Request) -> int:
        """An upper bound of the prompt tokens for any tokenizer: one per byte of UTF-8, plus separators."""
        size = sum(len(message.content.encode()) for message in request.messages)
        if request.schema is not None:
            size += len(json.dumps(request.schema, ensure_ascii=False).encode())
        return size + 2 * MESSAGE_TOKENS * (len(request.messages) + 1) + REPLY_TOKENS

    def upper_bound(self, request: Request) -> int:
        """The lower of `bound` and the count of the tokenizer plus a small margin."""
        bound = self.bound(request)
        return min(bound, self.prompt(request) * 21 // 20 + 16) if self.exact else bound


def calibrated_counter(spec: Any, journal: Journal | Path, model: str) -> TokenCounter:
    """A token counter that is corrected by the counts that the service reported for `model`.

    An estimate gets a factor and an overhead per call. The count of a tokenizer gets an overhead: what the service puts
    around a prompt. The first reply corrects the overhead.
    """
    with opened_journal(journal) as opened:
        if counting_file(spec) is None:
            return TokenCounter(spec, fit=fit_prompts(opened, model))
        counter = TokenCounter(spec)
        beside = [billed - counter.prompt(request) for request, billed in asked_prompts(opened, model)]
        return (
            counter if not beside else TokenCounter(spec, fit=PromptFit(per_call=median(beside), replies=len(beside)))
        )


def counting_file(spec: Any) -> Path | None:
    """The ``tokenizer.json`` that counts for a model: the one that is named, or the one in the model's own folder."""
    named = getattr(spec, "token_counter", None)
    if named is not None:
        return named.file
    folder = getattr(spec, "path", None)
    own = None if folder is None else folder.file / "tokenizer.json"
    return own if own is not None and own.is_file() and is_installed("tokenizers") else None


def _tokenizer(file: Path) -> Callable[[str], int]:
    """A function that counts tokens with the tokenizer in `file`."""
    instead = "leave model.token_counter out"
    with imports_of("hf", "counting with a tokenizer file", where=str(file), instead=instead):
        library: Any = importlib.import_module("tokenizers")
    try:
        tokenizer = library.Tokenizer.from_str(read_given_text(file))
    except Exception as error:  # the library raises bare Exception
        message, why = "this is not a tokenizer file", str(error)[:200]
        raise RecipeError([Problem(message, "model.token_counter", str(file), why, "tokenizer.json")]) from error
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


RenderChat = Callable[[Sequence[Message]], str | None]
"""The text that a model reads for a conversation; ``None`` if the template does not take it."""


def find_chat_template(tokenizer: Path) -> RenderChat | None:
    """The chat template in the folder of a ``tokenizer.json``, or ``None``.

    It is in ``chat_template.jinja``, or in ``tokenizer_config.json``. It runs in a sandbox.
    """
    source = _source(tokenizer.parent)
    if source is None:
        return None
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = _to_json
    try:
        template = environment.from_string(source)
    except TemplateError:
        return None
    tokens = {name: _text(value) for name, value in _config(tokenizer.parent).items() if name.endswith("_token")}

    def render(messages: Sequence[Message]) -> str | None:
        chat = [{"role": message.role, "content": message.content} for message in messages]
        try:
            return template.render(messages=chat, add_generation_prompt=True, raise_exception=_refuse, **tokens)
        except (TemplateError, TypeError, ValueError, LookupError):
            return None

    return render


def _source(folder: Path) -> str | None:
    try:
        return read_given_text(folder / "chat_template.jinja")
    except (OSError, ValueError):
        template: Any = _config(folder).get("chat_template")
    if isinstance(template, list):  # several under names
        named: list[Any] = template
        template = next((part["template"] for part in named if _is_default(part)), None)
    return template if isinstance(template, str) else None


def _is_default(part: Any) -> bool:
    return isinstance(part, dict) and part.get("name") == "default" and isinstance(part.get("template"), str)


def _config(folder: Path) -> dict[str, Any]:
    try:
        data: Any = read_json(folder / "tokenizer_config.json")
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _text(token: Any) -> str:
    """A special token, which a configuration gives as text or as an object."""
    content: Any = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else ""


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(message: str) -> str:
    raise TemplateError(message)
