"""Makes the main write of a client, and prints one line about it."""

import json
import os


# Set where the client calls the real host of the service, as its defaults are.
REAL_HOSTS = "REAL_HOSTS" in os.environ


def service(name, real=None):
    """The URL and the key of a service. Where the client calls the real host, the URL is `real` and the key its own."""
    if REAL_HOSTS:
        return real, "key_of_its_own"
    return os.environ[f"HAPAX_{name.upper()}_URL"], os.environ[f"HAPAX_{name.upper()}_KEY"]


def report_write(write, get, count):
    """Makes the write once, reads it back, and prints the result.

    `write` returns the id of the new object, `get` whether there is an object with that id, `count` how many there
    are.
    """
    report = {"write": "ok", "error": None, "id": None, "get": None}
    try:
        report["id"] = write()
    except Exception as error:
        report["write"] = "error"
        report["error"] = type(error).__name__
    if report["id"] is not None:
        report["get"] = get(report["id"])
    report["read"] = count()
    print(json.dumps(report))
