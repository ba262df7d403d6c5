"""What known licences allow. A licence that is not listed is unknown: nothing is guessed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

Answer = Literal["yes", "no", "unknown"]


@dataclass(frozen=True)
class LicenceTerms:
    """A licence as it was `declared`, and what it says.

    `name` is its identifier in the SPDX list, empty if it is not known. `share` says whether copies may be passed on,
    `change` whether changed copies may, `commercial` whether commercial use is allowed. `name_source` says whether the
    source must be named, `same_licence` whether changed copies must keep the licence.
    """

    declared: str
    name: str = ""
    share: Answer = "unknown"
    change: Answer = "unknown"
    commercial: Answer = "unknown"
    name_source: Answer = "unknown"
    same_licence: Answer = "unknown"

    @property
    def is_known(self) -> bool:
        """Whether its terms are known."""
        return bool(self.name)


_Terms = tuple[Answer, Answer, Answer, Answer]
_FREE: _Terms = ("yes", "yes", "no", "no")
_NAMED: _Terms = ("yes", "yes", "yes", "no")
_ALIKE: _Terms = ("yes", "yes", "yes", "yes")
_NC: _Terms = ("yes", "no", "yes", "no")
_NC_ALIKE: _Terms = ("yes", "no", "yes", "yes")
_ND: _Terms = ("no", "yes", "yes", "no")
_NC_ND: _Terms = ("no", "no", "yes", "no")
_TERMS: dict[_Terms, str] = {
    _FREE: "CC0-1.0 PDDL-1.0 Unlicense 0BSD",
    _NAMED: "CC-BY-2.0 CC-BY-2.5 CC-BY-3.0 CC-BY-4.0 ODC-By-1.0 CDLA-Permissive-1.0 CDLA-Permissive-2.0 Apache-2.0 MIT "
    "BSD-2-Clause BSD-3-Clause ISC OGL-UK-3.0",
    _ALIKE: "CC-BY-SA-2.0 CC-BY-SA-2.5 CC-BY-SA-3.0 CC-BY-SA-4.0 ODbL-1.0 CDLA-Sharing-1.0 GFDL-1.3-or-later",
    _NC: "CC-BY-NC-2.0 CC-BY-NC-2.5 CC-BY-NC-3.0 CC-BY-NC-4.0",
    _NC_ALIKE: "CC-BY-NC-SA-2.0 CC-BY-NC-SA-2.5 CC-BY-NC-SA-3.0 CC-BY-NC-SA-4.0",
    _ND: "CC-BY-ND-2.0 CC-BY-ND-2.5 CC-BY-ND-3.0 CC-BY-ND-4.0",
    _NC_ND: "CC-BY-NC-ND-2.0 CC-BY-NC-ND-2.5 CC-BY-NC-ND-3.0 CC-BY-NC-ND-4.0",
}
"""Licences by (change, commercial, name_source, same_licence); all of them let copies be passed on."""
_KNOWN = {name.lower(): (name, terms) for terms, names in _TERMS.items() for name in names.split()}
_OTHER_NAMES = {"odbl": "odbl-1.0", "odc-by": "odc-by-1.0", "pddl": "pddl-1.0", "cc0": "cc0-1.0"}


def licence_terms(declared: str) -> LicenceTerms:
    """The terms of a licence, by its identifier.

    >>> licence_terms("CC BY-NC 4.0").commercial, licence_terms("see publisher").share
    ('no', 'unknown')
    """
    key = declared.strip().lower().replace(" ", "-")
    if key == "not-stated":  # what `new` writes until somebody says it
        return LicenceTerms("")
    found = _KNOWN.get(_OTHER_NAMES.get(key, key)) or _other_version(key)
    if found is None:
        return LicenceTerms(declared.strip())
    name, (change, commercial, name_source, same_licence) = found
    return LicenceTerms(declared.strip(), name, "yes", change, commercial, name_source, same_licence)


def likely_licence(terms: LicenceTerms) -> str:
    """The known identifier that an unknown one resembles; empty if it resembles none.

    Its numbers are those of the declared one: another version is another licence.

    >>> likely_licence(licence_terms("CC-BY-40")), likely_licence(licence_terms("OGL-UK-2.0"))
    ('CC-BY-4.0', '')
    """
    declared = terms.declared.lower().replace(" ", "-")
    close = [] if terms.is_known else get_close_matches(declared, _KNOWN, 1, _CLOSE)
    return _KNOWN[close[0]][0] if close and _digits(close[0]) == _digits(declared) else ""


def _digits(name: str) -> str:
    return "".join(filter(str.isdigit, name))


def _other_version(key: str) -> tuple[str, _Terms] | None:
    """A version of a Creative Commons licence that is not listed, or one for a country, with terms of the same kind."""
    found = _CREATIVE_COMMONS.fullmatch(key)
    known = _KNOWN.get(f"{found['kind']}-4.0") if found is not None else None
    return None if known is None else (key.upper(), known[1])


_CLOSE = 0.85
_CREATIVE_COMMONS = re.compile(r"(?P<kind>cc-by(?:-nc)?(?:-sa|-nd)?)-(?:1\.0|2\.0|2\.1|2\.5|3\.0|4\.0)(?:-[a-z]{2,3})?")
