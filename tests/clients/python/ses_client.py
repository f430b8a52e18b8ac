"""boto3: sends a mail with Amazon SES (`sesv2`). SES cannot list what was sent, so the list comes from the service `web`."""

import json
from urllib.request import urlopen

import boto3
from client_report import REAL_HOSTS, report_write, service

url, key = service("web", "https://email.us-east-1.amazonaws.com")
settings = {} if REAL_HOSTS else {"endpoint_url": url}
ses = boto3.client(
    "sesv2", region_name="us-east-1", aws_access_key_id="id_of_its_own", aws_secret_access_key=key, **settings
)


def write():
    text = {"Data": "Thank you"}
    ses.send_email(
        FromEmailAddress="shop@shop.example",
        Destination={"ToAddresses": ["ann@mail.example"]},
        Content={"Simple": {"Subject": {"Data": "Order o1"}, "Body": {"Text": text}}},
    )
    # The answer of `web` has no id by the name that SES gives it.
    return None


def count():
    with urlopen(url + "/v2/email/outbound-emails") as answer:
        return json.load(answer)["total"]


report_write(write, None, count)
