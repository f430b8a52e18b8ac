"""Attempts and effects as the ledger of the services has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Union

Value = Union[bool, int, str, List[str]]
"""The value of a field."""


@dataclass(frozen=True)
class Effect:
    """Something that a service committed."""

    name: str
    """For example ``payment.charge``."""
    id: str
    """The id of the object."""
    attempt: int
    """The attempt that caused it; 0 if no attempt did."""
    fields: Dict[str, Value] = field(hash=False)
    """For example ``amount`` and ``order``."""


@dataclass(frozen=True)
class Attempt:
    """A request that a service accepted for an operation."""

    number: int
    """Counts the attempts on all services, from 1."""
    operation: str
    """For example ``payment.charge``."""
    method: str
    path: str
    caller: int
    key: Optional[str]
    """The idempotency key."""
    fields: Dict[str, Value] = field(hash=False)


Entry = Dict[str, Any]


def effects_in(entries: List[Entry]) -> List[Effect]:
    """All effects of a ledger, in the order of their commits."""
    return [
        Effect(entry["effect"], entry.get("id", ""), entry["attempt"], entry.get("fields", {}))
        for entry in entries
        if entry["kind"] == "committed"
    ]


def attempts_in(entries: List[Entry]) -> List[Attempt]:
    """All attempts of a ledger, in the order of their arrival."""
    return [
        Attempt(
            entry["attempt"],
            entry["operation"],
            entry.get("method", ""),
            entry.get("path", ""),
            entry.get("caller", 1),
            entry.get("key"),
            entry.get("fields", {}),
        )
        for entry in entries
        if entry["kind"] == "received"
    ]


def unsupported_in(entries: List[Entry]) -> List[str]:
    """The requests that the real services serve and hapax does not, each once, with what hapax lacks."""
    lines = []
    for entry in entries:
        if entry["kind"] != "refused":
            continue
        why = entry.get("undecided")
        if entry.get("unsupported"):
            why = f"hapax does not have {entry['unsupported']} yet"
        if why:
            lines.append(f"{entry['service']}: {entry['method']} {entry['path']}: {why}")
    return list(dict.fromkeys(lines))


def matches(fields: Mapping[str, Value], wanted: Mapping[str, Value]) -> bool:
    """Whether the fields have all wanted values."""
    return all(name in fields and meets(fields[name], value) for name, value in wanted.items())


def meets(have: Value, want: Value) -> bool:
    """``4999`` and ``"4999"`` are the same. A list meets one of its members, or all of them in any order."""
    if isinstance(have, list):
        return sorted(have) == sorted(want) if isinstance(want, list) else text(want) in have
    if isinstance(want, list):
        return want == [text(have)]
    return text(have) == text(want)


def text(value: Value) -> str:
    """A value as the ledger shows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(value) if isinstance(value, list) else str(value)


def shown(fields: Mapping[str, Value]) -> str:
    """Fields as ``name=value``."""
    return ", ".join(f"{name}={text(value)}" for name, value in fields.items())
