"""The pytest plugin: the fixture ``hapax``, the marker of the same name, and the settings in pytest.ini."""

from __future__ import annotations

import os
from typing import Any, Dict, Generator, Iterator, Optional, Tuple

import pytest

from .services import Services, start

_Key = Tuple[Tuple[str, ...], Tuple[str, ...], Tuple[Tuple[str, str], ...], int]

_RUNNING = pytest.StashKey[Dict[_Key, Services]]()
_OF_TEST = pytest.StashKey[Services]()
_ENVIRONMENT = pytest.StashKey[pytest.MonkeyPatch]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("hapax_services", "The mock services to start; all of them by default.", "args", [])
    parser.addini("hapax_service_files", "YAML files that declare services of your own.", "paths", [])
    parser.addini("hapax_idempotency", "How services treat keys, such as payment=none.", "args", [])
    parser.addini(
        "hapax_early",
        "Start the services before the tests are imported, for code that reads variables at import.",
        "bool",
        False,
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "hapax(services=[...], files=[...], idempotency={...}, callers=1): "
        "the mock services of the fixture hapax, instead of those of the settings.",
    )
    config.stash[_RUNNING] = {}


def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    # The process that only distributes tests to workers (pytest-xdist) runs none itself.
    distributes = config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput")
    if config.getini("hapax_early") and not distributes:
        patch = config.stash[_ENVIRONMENT] = pytest.MonkeyPatch()
        _set_variables(patch, _started(config, {}))


def pytest_unconfigure(config: pytest.Config) -> None:
    if _ENVIRONMENT in config.stash:
        config.stash[_ENVIRONMENT].undo()
    for services in config.stash.get(_RUNNING, {}).values():
        services.stop()


@pytest.fixture
def hapax(request: pytest.FixtureRequest) -> Iterator[Services]:
    """Mock services without faults and effects; the variables of the environment point at them."""
    node = request.node
    marker = node.get_closest_marker("hapax")
    services = _started(request.config, {} if marker is None else dict(marker.kwargs))
    services.begin()
    node.stash[_OF_TEST] = services
    with pytest.MonkeyPatch.context() as patch:
        _set_variables(patch, services)
        yield services


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """A test that has passed fails if its effects are wrong at its end, or if it proves nothing."""
    result = yield
    services = item.stash.get(_OF_TEST, None)
    problem = None if services is None else _problem(services)
    if problem is not None:
        pytest.fail(problem, pytrace=False)
    return result


def _problem(services: Services) -> Optional[str]:
    try:
        services.check()
    except AssertionError as error:
        return str(error)
    return None


def _set_variables(patch: pytest.MonkeyPatch, services: Services) -> None:
    for name, value in services.env.items():
        patch.setenv(name, value)


def _started(config: pytest.Config, chosen: Dict[str, Any]) -> Services:
    """The services with these settings, which are started once for the session."""
    unknown = set(chosen) - {"services", "files", "idempotency", "callers"}
    if unknown:
        raise pytest.UsageError(f"the marker hapax has no argument {', '.join(sorted(unknown))}")
    services = chosen.get("services", config.getini("hapax_services"))
    files = chosen.get("files", config.getini("hapax_service_files"))
    idempotency = chosen.get("idempotency")
    if idempotency is None:
        idempotency = dict(_pair(line) for line in config.getini("hapax_idempotency"))
    key: _Key = (
        tuple(services),
        tuple(os.fspath(file) for file in files),
        tuple(sorted(idempotency.items())),
        chosen.get("callers", 1),
    )
    running = config.stash[_RUNNING]
    if key not in running:
        running[key] = start(key[0], files=key[1], idempotency=dict(key[2]), callers=key[3])
    return running[key]


def _pair(line: str) -> Tuple[str, str]:
    service, sign, profile = line.partition("=")
    if not sign:
        raise pytest.UsageError(f"hapax_idempotency must be SERVICE=PROFILE, not {line}")
    return service, profile
