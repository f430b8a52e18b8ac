"""How an agent waits for a person: it ends with its questions, and is started again with the answers.

See docs/agents-that-wait.md.
"""

import json
import os
import pathlib

STATE = pathlib.Path(os.environ["HAPAX_STATE_DIR"])
# Whether each question was approved, by its id. Empty in the first start.
ANSWERS = {one["id"]: one["decision"] == "approved" for one in json.loads(os.environ.get("HAPAX_ANSWER", "[]"))}


def question(id: str, arguments: dict) -> dict:
    """What a person is asked before `refund_charge` runs."""
    return {"id": id, "operation": "payment.refund", "fields": arguments}


def wait_for(questions: list[dict]):
    """Says that the answers are needed to go on."""
    claim = {"outcome": "waiting", "for": questions}
    pathlib.Path(os.environ["HAPAX_RESULT"]).write_text(json.dumps(claim))
