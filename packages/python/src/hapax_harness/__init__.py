"""The mock services of hapax in Python tests: start them, inject faults, and check what was really committed.

The pytest plugin provides the fixture ``hapax``, a :class:`Services` that is reset before each test. Without
pytest, :func:`start` starts the services.
"""

from .binary import HapaxError, find_hapax
from .ledger import Attempt, Effect, Value
from .services import Services, start

__all__ = ["Attempt", "Effect", "HapaxError", "Services", "Value", "find_hapax", "start"]
