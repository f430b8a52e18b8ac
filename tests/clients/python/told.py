"""What a client is told to do, and the one line in which it tells what it believes."""

import json


def tell(write, get, count):
    """Makes the write once, reads it back, and prints what came of it.

    `write` gives the id of what was made, `get` whether something is there under that id, `count` how many there are.
    """
    told = {"write": "ok", "error": None, "id": None, "get": None}
    try:
        told["id"] = write()
    except Exception as error:
        told["write"] = "error"
        told["error"] = type(error).__name__
    if told["id"] is not None:
        told["get"] = get(told["id"])
    told["read"] = count()
    print(json.dumps(told))
