"""sendgrid: sends a mail, and looks it up by the id of the message and by its argument."""

import json

from python_http_client.exceptions import NotFoundError
from sendgrid import SendGridAPIClient
from sendgrid.helpers.mail import CustomArg, Mail
from client_report import REAL_HOSTS, report_write, service

url, key = service("email")
client = SendGridAPIClient(key) if REAL_HOSTS else SendGridAPIClient(key, host=url)


def search(query):
    found = client.client.messages.get(query_params={"limit": 10, "query": query})
    return json.loads(found.body)["messages"]


def write():
    mail = Mail(from_email="shop@shop.example", to_emails="ann@mail.example", subject="Order o1", html_content="<p>Thank you</p>")
    mail.custom_arg = CustomArg("order", "o1")
    return client.send(mail).headers["X-Message-Id"]


def get(id):
    # The sender gets only the beginning of the id.
    for message in search(f'msg_id LIKE "{id}.%"'):
        try:
            details = client.client.messages._(message["msg_id"]).get()
        except NotFoundError:
            return False
        return json.loads(details.body)["subject"] == "Order o1"
    return False


def count():
    return len(search("unique_args['order']=\"o1\""))


report_write(write, get, count)
