"""smtplib: sends an email over SMTP. SMTP cannot read it back, so the list comes from the HTTP API."""

import json
import os
import smtplib
from email.message import EmailMessage
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from client_report import report_write

server = urlsplit(os.environ["HAPAX_SMTP_URL"])
key = os.environ["HAPAX_EMAIL_KEY"]


def write():
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "shop@shop.example", "ann@mail.example", "Order o1"
    mail.set_content("Thank you")
    with smtplib.SMTP(server.hostname, server.port) as smtp:
        smtp.login("resend", key)
        smtp.send_message(mail)
    # The id that the server gave it stands in a reply that smtplib keeps to itself.
    return None


def count():
    request = Request(os.environ["HAPAX_EMAIL_URL"] + "/emails", headers={"Authorization": f"Bearer {key}"})
    with urlopen(request) as answer:
        return sum(mail["subject"] == "Order o1" for mail in json.load(answer)["data"])


report_write(write, None, count)
