"""resend: sends a mail, and looks it up by its id and in the list."""

import os

from client_report import REAL_HOSTS, report_write, service

url, key = service("email")
if not REAL_HOSTS:
    # Read when the module is imported.
    os.environ["RESEND_API_URL"] = url

import resend
from resend.exceptions import ResendError

resend.api_key = key
MAIL = {"from": "shop@shop.example", "to": "ann@mail.example", "subject": "Order o1", "html": "<p>Thank you</p>"}


def write():
    return resend.Emails.send(MAIL)["id"]


def get(id):
    try:
        return resend.Emails.get(id)["subject"] == MAIL["subject"]
    except ResendError as error:
        if error.code != 404:
            raise
        return False


def count():
    return sum(mail["subject"] == MAIL["subject"] for mail in resend.Emails.list()["data"])


report_write(write, get, count)
