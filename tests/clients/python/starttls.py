"""smtplib: sends an email after STARTTLS, and prints its result. Argument: the timeout in seconds."""

import os
import smtplib
import ssl
import sys
from email.message import EmailMessage
from urllib.parse import urlsplit

server = urlsplit(os.environ["HAPAX_SMTP_URL"])
# This client does not verify; tests/external/mail_clients.rs has those that do.
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

mail = EmailMessage()
mail["From"], mail["To"], mail["Subject"] = "shop@shop.example", "ann@mail.example", "Order o1"
mail.set_content("Thank you")

smtp = smtplib.SMTP(server.hostname, server.port, timeout=100)
smtp.starttls(context=context)
over = smtp.sock.version()
smtp.login("resend", os.environ["HAPAX_EMAIL_KEY"])
smtp.sock.settimeout(float(sys.argv[1]))
try:
    smtp.send_message(mail)
    smtp.quit()
    print("ok over", over)
except smtplib.SMTPResponseException as error:
    print(type(error).__name__, error.smtp_code, "over", over)
except Exception as error:
    print(type(error).__name__, "over", over)
