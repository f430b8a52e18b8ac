"""smtplib: sends an email over SMTP. SMTP cannot read it back, so the list comes from the HTTP API.

Argument: the port of the real mail server: 25 without TLS, 587 with STARTTLS, 465 over TLS.
"""

import json
import os
import smtplib
import ssl
import sys
from email.message import EmailMessage
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from client_report import REAL_HOSTS, report_write, service

url, key = service("email", "https://api.resend.com")


def connect():
    if not REAL_HOSTS:
        server = urlsplit(os.environ["HAPAX_SMTP_URL"])
        return smtplib.SMTP(server.hostname, server.port)
    host, port, context = "smtp.shop.example", int(sys.argv[1]), ssl.create_default_context()
    if port == 465:
        return smtplib.SMTP_SSL(host, port, context=context)
    smtp = smtplib.SMTP(host, port)
    if port == 587:
        smtp.starttls(context=context)
    return smtp


def write():
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "shop@shop.example", "ann@mail.example", "Order o1"
    mail.set_content("Thank you")
    with connect() as smtp:
        smtp.login("resend", key)
        smtp.send_message(mail)
    # The id that the server gave it stands in a reply that smtplib keeps to itself.
    return None


def count():
    request = Request(url + "/emails", headers={"Authorization": f"Bearer {key}"})
    with urlopen(request) as answer:
        return sum(mail["subject"] == "Order o1" for mail in json.load(answer)["data"])


report_write(write, None, count)
