"""aiosmtplib with its default verification of certificates: sends one email and claims it.

Argument: starttls or tls.
"""

import asyncio
import os
import sys
from email.message import EmailMessage
from urllib.parse import urlsplit

import aiosmtplib

tls = sys.argv[1] == "tls"
server = urlsplit(os.environ["HAPAX_SMTPS_URL" if tls else "HAPAX_SMTP_URL"])

mail = EmailMessage()
mail["From"], mail["To"], mail["Subject"] = "shop@shop.example", "ann@mail.example", "Order o1"
mail.set_content("Thank you")

login = {"username": server.username, "password": server.password}
asyncio.run(aiosmtplib.send(mail, hostname=server.hostname, port=server.port, use_tls=tls, start_tls=not tls, **login))
print('{"outcome": "done"}')
