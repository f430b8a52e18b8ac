"""What a failed check says: what happened, the timeline as evidence, and the fix."""

from __future__ import annotations

from typing import List

from .expectations import Expectation
from .ledger import Effect, Entry, attempts_in, effects_in, shown

_SAME_KEY = (
    "Derive the idempotency key from the order, not from the attempt, so that every retry sends the same\n"
    "  key. If the service takes no key, check whether the effect exists before you retry."
)
_RETRY = (
    "A failed or lost reply says nothing about the effect. Retry with the same idempotency key, or check\n"
    "  whether the effect exists and report what you found."
)

_MAX_LINES = 10


def times_text(times: int) -> str:
    """A count in words."""
    return {0: "never", 1: "once", 2: "twice"}.get(times, f"{times} times")


def wrong_count(expectation: Expectation, entries: List[Entry], timeline: str) -> str:
    """The message of a check whose effect was committed too often or too rarely."""
    name, wanted, times = expectation.name, expectation.wanted, expectation.times
    of_name = [effect for effect in effects_in(entries) if effect.name == name]
    found = [effect for effect in of_name if expectation.matches(effect)]
    attempts = [attempt for attempt in attempts_in(entries) if attempt.operation == name]
    service = name.split(".")[0]
    refused = [entry for entry in entries if entry["kind"] == "refused" and entry["service"] == service]
    where = f" with {shown(wanted)}" if wanted else ""
    was = "was not committed" if not found else f"was committed {times_text(len(found))}"
    lines = [f"expected {name}{where} to be committed {times_text(times)}, but it {was}"]
    if expectation.seen < len(effects_in(entries)):
        lines.append("The check passed when the test called it; more was committed after that.")
    if of_name and not found:
        fields = "; ".join(shown(effect.fields) for effect in of_name[:3])
        lines.append(f"Committed with other fields: {fields}")
    lines += ["", timeline_text(timeline), ""]
    if len(found) > times:
        lines.append(f"Fix: {_SAME_KEY}" if times else f"Fix: Do not send {name} in this situation.")
    elif not attempts and refused:
        lines.append("Fix: The service refused every request. Change it; the timeline has the reasons.")
    elif not attempts:
        lines.append(
            f"Fix: No attempt of {name} arrived. Let the code under test take the address of the service "
            "from\n"
            f"  its environment when it is called, for example from HAPAX_{variable_part(service)}_URL."
        )
    else:
        lines.append(f"Fix: {_RETRY}")
    return "\n".join(lines)


def caught(failed: Expectation) -> str:
    """The message of a test that caught the error of a check."""
    return f"an expect failed, and the test caught its error:\n{failed.error}"


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


def not_expected(effects: List[Effect], timeline: str) -> str:
    """The message of a test with effects that its checks do not count."""
    shown_effects = [f"{effect.name} with {shown(effect.fields)}" for effect in effects]
    return "\n".join(
        [
            "an effect was committed that no expect of the test matches:",
            *_bounded(shown_effects),
            "",
            timeline_text(timeline),
            "",
            "Fix: Do not cause the effect, or add an expect for it if it is right.",
        ]
    )


def not_supported(requests: List[str], timeline: str) -> str:
    """The message of a test with requests that hapax cannot answer as the real service does."""
    return "\n".join(
        [
            "hapax lacks what a request needs, so the test proves nothing:",
            *_bounded(requests),
            "",
            timeline_text(timeline),
            "",
            "Fix: Let the code under test do without it in this test, serve it from a service of your own\n"
            "  (docs/your-own-service.md), or open an issue that names it.",
        ]
    )


def _bounded(lines: List[str]) -> List[str]:
    """The first lines, indented, and how many more there are."""
    more = len(lines) - _MAX_LINES
    return [f"  {line}" for line in lines[:_MAX_LINES]] + ([f"  and {more} more"] if more > 0 else [])


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
