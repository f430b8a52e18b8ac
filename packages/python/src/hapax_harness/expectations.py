"""What a test expects, to be compared again with the effects at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional

from .ledger import Effect, Value, matches


@dataclass(frozen=True)
class Expectation:
    """A call of ``expect``."""

    name: str
    wanted: Dict[str, Value]
    times: int
    seen: int
    """How many effects, of all names, were committed when it was called."""
    error: Optional[str] = None
    """The message with which it failed."""

    @property
    def has_passed(self) -> bool:
        """Whether it held when it was called."""
        return self.error is None

    def matches(self, effect: Effect) -> bool:
        """Whether it counts this effect."""
        return effect.name == self.name and matches(effect.fields, self.wanted)


def broken(expectations: List[Expectation], effects: List[Effect]) -> Optional[Expectation]:
    """The last one that has passed and does not hold any more.

    It need not hold for effects that a later one has counted: a test can expect no charge, check out, and
    expect one charge.
    """
    later: List[Expectation] = []
    for expectation in reversed([each for each in expectations if each.has_passed]):
        for number, effect in enumerate(effects):
            is_new = number >= expectation.seen and expectation.matches(effect)
            is_counted = any(number < each.seen and each.matches(effect) for each in later)
            if is_new and not is_counted:
                return expectation
        later.append(expectation)
    return None


def swallowed(expectations: List[Expectation]) -> Optional[Expectation]:
    """The first one that failed, and that no later one of the same effect made good."""
    for number, failed in enumerate(expectations):
        later = [each for each in expectations[number:] if each.has_passed]
        is_made_good = any((each.name, each.wanted) == (failed.name, failed.wanted) for each in later)
        if not failed.has_passed and not is_made_good:
            return failed
    return None


def unexpected(expectations: List[Expectation], effects: List[Effect]) -> List[Effect]:
    """The effects that none matches, of the names for which there is one."""
    names = {expectation.name for expectation in expectations}
    return [
        effect
        for effect in effects
        if effect.name in names and not any(each.matches(effect) for each in expectations)
    ]
