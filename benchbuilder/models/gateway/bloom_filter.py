"""Which keys a journal may hold: a Bloom filter, of one size however many there are."""

from __future__ import annotations

_BITS = 1 << 24
_SHIFTS = (0, 20, 40)


class BloomFilter:
    """Says of a key that it is certainly not there, or that it may be.

    Two megabytes: with 1,000,000 keys, about one in 200 others wrongly seems to be there.

    >>> known = BloomFilter()
    >>> known.add("ab" * 32)
    >>> "ab" * 32 in known, "cd" * 32 in known
    (True, False)
    """

    def __init__(self) -> None:
        self._bits = bytearray(_BITS // 8)

    def add(self, key: str) -> None:
        """Remember a key."""
        for place in _places(key):
            self._bits[place >> 3] |= 1 << (place & 7)

    def __contains__(self, key: str) -> bool:
        return all(self._bits[place >> 3] >> (place & 7) & 1 for place in _places(key))


def _places(key: str) -> tuple[int, ...]:
    value = hash(key)
    return tuple((value >> shift) % _BITS for shift in _SHIFTS)
