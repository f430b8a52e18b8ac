"""smtplib with its default verification of certificates: sends one email and claims it.

Arguments: starttls or tls, and what to leave out.
"""

import os
import smtplib
import ssl
import sys
from email.message import EmailMessage
from urllib.parse import urlsplit

tls, without = sys.argv[1] == "tls", sys.argv[2:]
server = urlsplit(os.environ["HAPAX_SMTPS_URL" if tls else "HAPAX_SMTP_URL"])
context = ssl.create_default_context()

mail = EmailMessage()
mail["From"], mail["To"], mail["Subject"] = "shop@shop.example", "ann@mail.example", "Order o1"
mail.set_content("Thank you")

with smtplib.SMTP_SSL(server.hostname, server.port, context=context) if tls else smtplib.SMTP(server.hostname, server.port) as smtp:
    if not tls:
        smtp.starttls(context=context)
    if "login" not in without:
        # In two parts: a traceback shows this line.
        wrong = "-".join(["guessed", "password"])
        smtp.login(server.username, wrong if "password" in without else server.password)
    smtp.send_message(mail)
print('{"outcome": "done"}')
