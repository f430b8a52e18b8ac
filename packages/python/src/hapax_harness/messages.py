"""What a failed check says: what happened, the timeline as evidence, and the fix."""

from __future__ import annotations

from typing import List, Mapping

from .ledger import Effect, Value, shown

_SAME_KEY = (
    "Derive the idempotency key from the order, not from the attempt, so that every retry sends the same\n"
    "  key. If the service takes no key, check whether the effect exists before you retry."
)
_RETRY = (
    "A failed or lost reply says nothing about the effect. Retry with the same idempotency key, or check\n"
    "  whether the effect exists and report what you found."
)


def times_text(times: int) -> str:
    """A count in words."""
    return {0: "never", 1: "once", 2: "twice"}.get(times, f"{times} times")


def wrong_count(
    name: str,
    wanted: Mapping[str, Value],
    times: int,
    found: List[Effect],
    others: List[Effect],
    attempts: int,
    refused: int,
    timeline: str,
) -> str:
    """The message of a check whose effect was committed too often or too rarely."""
    where = f" with {shown(wanted)}" if wanted else ""
    was = "was not committed" if not found else f"was committed {times_text(len(found))}"
    lines = [f"expected {name}{where} to be committed {times_text(times)}, but it {was}"]
    if others:
        fields = "; ".join(shown(effect.fields) for effect in others[:3])
        lines.append(f"Committed with other fields: {fields}")
    lines += ["", timeline_text(timeline), ""]
    if len(found) > times:
        lines.append(f"Fix: {_SAME_KEY}" if times else f"Fix: Do not send {name} in this situation.")
    elif attempts == 0 and refused > 0:
        lines.append("Fix: The service refused every request. Change it; the timeline has the reasons.")
    elif attempts == 0:
        service = name.split(".")[0]
        lines.append(
            f"Fix: No attempt of {name} arrived. Let the code under test take the address of the service "
            "from\n"
            f"  its environment when it is called, for example from HAPAX_{variable_part(service)}_URL."
        )
    else:
        lines.append(f"Fix: {_RETRY}")
    return "\n".join(lines)


def not_fired(lines: List[str], timeline: str) -> str:
    """The message of a test whose faults were not injected."""
    return "\n".join(
        [
            "a fault did not fire, so the test proves nothing:",
            *(f"  {line}" for line in lines),
            "",
            timeline_text(timeline),
            "",
            "Fix: Let the test cause that attempt, change the fault, or arm it with optional=True.",
        ]
    )


def unknown_field(name: str, fields: List[str], known: List[str]) -> str:
    """The message of a check that names a field that no effect has."""
    return (
        f"no {name} has the field {', '.join(fields)}: a check of it would always count 0\n"
        f"Its fields are: {', '.join(known)}"
    )


def timeline_text(timeline: str) -> str:
    """The timeline under its title."""
    return f"Timeline (seconds since the start of the test):\n{timeline.rstrip() or '  no request arrived'}"


def variable_part(service: str) -> str:
    """The name of a service as a part of the names of its variables."""
    return service.upper().replace("-", "_")
