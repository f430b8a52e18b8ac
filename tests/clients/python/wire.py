"""requests: puts a record once, and prints its result. Argument: the timeout in seconds."""

import os
import sys

import requests

url = os.environ["HAPAX_RECORDS_URL"] + "/records/a"
headers = {"Authorization": "Bearer " + os.environ["HAPAX_RECORDS_KEY"]}


def causes(error):
    """The error and its causes, the outermost first."""
    inner = [part for part in error.args if isinstance(part, Exception)]
    inner += [part for part in [getattr(error, "reason", None)] if isinstance(part, Exception)]
    return [type(error).__name__] + (causes(inner[0]) if inner else [])


try:
    answer = requests.put(url, json={"value": "one"}, headers=headers, timeout=float(sys.argv[1]))
    print(answer.status_code, answer.json()["key"])
except Exception as error:
    print(" of ".join(causes(error)))
