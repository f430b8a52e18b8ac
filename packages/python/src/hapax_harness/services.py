"""Running mock services, controlled over the admin API of ``hapax serve``."""

from __future__ import annotations

import difflib
import json
import urllib.error
import urllib.request
from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, TypeVar, Union

from . import messages
from .binary import HapaxError, ServeProcess
from .expectations import Expectation, broken, swallowed, unexpected
from .ledger import Attempt, Effect, Entry, Value, attempts_in, effects_in, matches, unsupported_in

# pytest shows the line of the test that failed, not these functions.
__tracebackhide__ = True

# Without the proxies of the environment: the admin API is on this machine.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_TIMEOUT_SECONDS = 30.0

_Item = TypeVar("_Item", Effect, Attempt)


class Services:
    """Running mock services. Use :func:`start`, or the fixture ``hapax`` of the pytest plugin."""

    def __init__(self, process: ServeProcess) -> None:
        self._process = process
        answer = self._json("GET", "/v1/services")
        self.env: Dict[str, str] = dict(answer["environment"])
        """The variables that point clients at the services, such as HAPAX_PAYMENT_URL or OPENAI_BASE_URL."""
        self._urls: Dict[str, List[str]] = {one["name"]: one["urls"] for one in answer["services"]}
        self._operations = {each["name"] for one in answer["services"] for each in one["operations"]}
        self._expectations: List[Expectation] = []
        self._problem: Optional[str] = None

    def url(self, service: str, caller: int = 1) -> str:
        """The address of a service."""
        urls = self._urls.get(service)
        if urls is None:
            raise HapaxError(f"the service {service} was not started; running: {', '.join(self._urls)}")
        if not 1 <= caller <= len(urls):
            raise HapaxError(f"caller {caller} of {service} does not exist; callers: 1 to {len(urls)}")
        return urls[caller - 1]

    def key(self, service: str) -> str:
        """An API key that the service accepts."""
        self.url(service)
        return self.env[f"HAPAX_{messages.variable_part(service)}_KEY"]

    def begin(self) -> None:
        """Begins a test: removes all faults and effects, and forgets what the test before expected.

        The pytest plugin calls it before each test.
        """
        self._problem = None
        self._clear()

    def reset(self) -> None:
        """Removes all faults and everything that was committed, in the middle of a test.

        What would fail the test if it ended now still fails it at its end.
        """
        if self._problem is None:
            problem = self._problem_now()
            self._problem = None if problem is None else f"before reset(): {problem}"
        self._clear()

    def _clear(self) -> None:
        self._expectations.clear()
        self._json("DELETE", "/v1/faults")
        self._json("DELETE", "/v1/ledger")

    def fault(
        self,
        on: str,
        *,
        commit: Union[str, Mapping[str, Any]] = "now",
        reply: Union[str, Mapping[str, Any]] = "ok",
        attempt: Union[int, str, Sequence[int]] = 1,
        where: Optional[Mapping[str, Value]] = None,
        caller: Optional[int] = None,
        chance: Optional[float] = None,
        optional: bool = False,
    ) -> None:
        """Arms a fault: what is committed on an attempt, and what the caller sees.

        ``commit`` is ``now``, ``never``, ``later``, ``twice`` or ``{"part": 0.5}``; ``reply`` is ``ok``,
        ``drop``, ``reset``, ``hang``, ``truncate``, ``{"status": 503}`` and more (docs/faults.md has all).
        A fault that does not fire fails the test, unless it is ``optional`` or has a ``chance``.
        """
        fault: Dict[str, Any] = {"on": on, "attempt": attempt, "commit": commit, "reply": reply}
        if not isinstance(attempt, (int, str)):
            fault["attempt"] = list(attempt)
        if where is not None:
            fault["where"] = dict(where)
        if caller is not None:
            fault["caller"] = caller
        if chance is not None:
            fault["chance"] = chance
        if optional:
            fault["optional"] = True
        self._json("POST", "/v1/faults", [fault])

    def effects(
        self,
        name: Optional[str] = None,
        *,
        where: Optional[Mapping[str, Value]] = None,
        settle: bool = True,
        **fields: Value,
    ) -> List[Effect]:
        """What was committed. Outstanding commits happen first, unless ``settle`` is false."""
        if settle:
            self.settle()
        self._check_name(name)
        wanted = {**(where or {}), **fields}
        of_name = [effect for effect in effects_in(self.ledger()) if name in (None, effect.name)]
        return _with_fields(name or "effect", of_name, wanted)

    def attempts(
        self, operation: Optional[str] = None, *, where: Optional[Mapping[str, Value]] = None, **fields: Value
    ) -> List[Attempt]:
        """The requests that the services accepted for operations."""
        self._check_name(operation)
        wanted = {**(where or {}), **fields}
        of_name = [each for each in attempts_in(self.ledger()) if operation in (None, each.operation)]
        return _with_fields(operation or "attempt", of_name, wanted)

    def expect(
        self, name: str, times: int = 1, *, where: Optional[Mapping[str, Value]] = None, **fields: Value
    ) -> List[Effect]:
        """Fails with the timeline unless the effect was committed this often, and returns the effects.

        It also fails if a fault on this operation did not fire. At the end of the test it is checked again,
        and an effect of this name that no ``expect`` of the test matches fails the test.
        """
        wanted = {**(where or {}), **fields}
        self._check_name(name)
        self.settle()
        entries = self.ledger()
        effects = effects_in(entries)
        found = _with_fields(name, [effect for effect in effects if effect.name == name], wanted)
        expectation = Expectation(name, wanted, times, len(effects))
        if len(found) != times:
            error = messages.wrong_count(expectation, entries, self.timeline())
            self._expectations.append(replace(expectation, error=error))
            raise AssertionError(error)
        self._expectations.append(expectation)
        self.check_faults(name)
        return found

    def check(self) -> None:
        """Ends a test. It fails

        - if an ``expect`` failed, and the test caught its error,
        - if more was committed after an ``expect`` had passed,
        - if an effect was committed that no ``expect`` matches, though there is one for its name,
        - if hapax does not support a request,
        - if a fault did not fire.

        The pytest plugin calls it after each test.
        """
        problem = self._problem_now() if self._problem is None else self._problem
        if problem is not None:
            raise AssertionError(problem)

    def check_faults(self, operation: Optional[str] = None) -> None:
        """Fails if a fault (on this operation) did not fire."""
        unused = self._unused_faults(operation)
        if unused:
            raise AssertionError(messages.not_fired(unused, self.timeline()))

    def _problem_now(self) -> Optional[str]:
        """Why the test would fail if it ended now. A wrong effect comes before what proves nothing."""
        if self._expectations:
            self.settle()
        entries = self.ledger()
        effects = effects_in(entries)
        expectation = broken(self._expectations, effects)
        if expectation is not None:
            return messages.wrong_count(expectation, entries, self.timeline())
        failed = swallowed(self._expectations)
        if failed is not None:
            return messages.caught(failed)
        others = unexpected(self._expectations, effects)
        if others:
            return messages.not_expected(others, self.timeline())
        unsupported = unsupported_in(entries)
        if unsupported:
            return messages.not_supported(unsupported, self.timeline())
        unused = self._unused_faults()
        return messages.not_fired(unused, self.timeline()) if unused else None

    def _unused_faults(self, operation: Optional[str] = None) -> List[str]:
        """The faults (on this operation) that did not fire and had to."""
        unused = []
        for armed in self._json("GET", "/v1/faults")["faults"]:
            fault = armed["fault"]
            is_required = not fault.get("optional") and fault.get("chance") is None
            if is_required and not armed["fired"] and operation in (None, fault["on"]):
                seen = armed["seen"]
                unused.append(f"{armed['line']} ({seen} matching {'attempt' if seen == 1 else 'attempts'})")
        return unused

    def settle(self) -> None:
        """Commits everything that is outstanding."""
        self._json("POST", "/v1/settle")

    def timeline(self) -> str:
        """Requests, faults, commits and replies since the last reset, as text."""
        return self._request("GET", "/v1/timeline").decode("utf-8")

    def ledger(self) -> List[Entry]:
        """All entries of the ledger since the last reset."""
        entries: List[Entry] = []
        while True:
            after = entries[-1]["n"] if entries else 0
            page = self._json("GET", f"/v1/ledger?after={after}")
            entries += page["entries"]
            if not page["entries"] or len(entries) >= page["count"]:
                return entries

    def stop(self) -> None:
        """Ends the services."""
        self._process.stop()

    def __enter__(self) -> "Services":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _check_name(self, name: Optional[str]) -> None:
        """A name that does not exist would count 0 for ever."""
        if name is None or name in self._operations:
            return
        near = difflib.get_close_matches(name, self._operations, 1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(self._operations))}"
        raise HapaxError(f"the running services have no operation {name}; {hint}")

    def _json(self, method: str, path: str, body: Optional[object] = None) -> Any:
        answer = self._request(method, path, None if body is None else json.dumps(body).encode("utf-8"))
        return json.loads(answer) if answer else None

    def _request(self, method: str, path: str, body: Optional[bytes] = None) -> bytes:
        request = urllib.request.Request(
            self._process.admin_url + path,
            method=method,
            data=body,
            headers={"Authorization": f"Bearer {self._process.token}", "Content-Type": "application/json"},
        )
        try:
            with _OPENER.open(request, timeout=_TIMEOUT_SECONDS) as answer:
                content: bytes = answer.read()
                return content
        except urllib.error.HTTPError as error:
            raise HapaxError(_refusal(error.read())) from None
        except OSError as error:
            raise HapaxError(
                f"hapax serve does not answer ({error}); its errors:\n{self._process.errors()}"
            ) from None


def _with_fields(name: str, items: List[_Item], wanted: Mapping[str, Value]) -> List[_Item]:
    """The effects or attempts with these fields. If none has one of the fields, its name is wrong."""
    found = [item for item in items if matches(item.fields, wanted)]
    if items and not found:
        known = sorted({known for item in items for known in item.fields})
        unknown = [field for field in wanted if field not in known]
        if unknown:
            raise HapaxError(messages.unknown_field(name, unknown, known))
    return found


def _refusal(body: bytes) -> str:
    """The reason of a refused request as the admin API gives it."""
    try:
        refusal = json.loads(body)
        problems = [problem["text"] for problem in refusal.get("problems", [])]
        return "\n".join([refusal["error"], *problems] if problems else [refusal["error"], refusal["help"]])
    except (ValueError, KeyError, TypeError):
        return body.decode("utf-8", "replace")


def start(
    services: Sequence[str] = (),
    *,
    files: Sequence[str] = (),
    idempotency: Optional[Mapping[str, str]] = None,
    callers: int = 1,
) -> Services:
    """Starts services: those that hapax ships by name (all if there is no name and no file), and files that
    declare services of your own. ``idempotency`` says how a service treats keys: ``{"payment": "none"}``."""
    arguments = list(services)
    for file in files:
        arguments += ["--service", file]
    for service, profile in (idempotency or {}).items():
        arguments += ["--idempotency", f"{service}={profile}"]
    if callers != 1:
        arguments += ["--callers", str(callers)]
    return Services(ServeProcess(arguments))
