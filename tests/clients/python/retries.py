"""Makes one write that is repeated when its reply is lost, each time by another layer.

Argument: which one, a function of this file without `made_by_`.
"""

import os
import sys
import threading
import time
from contextlib import suppress

ORDER = "ord_1001"
CHARGE = {"amount": 4999, "currency": "usd", "customer": "cus_42"}
FORM = {**CHARGE, "metadata[order]": ORDER}
DEPLOYMENT = {"ref": "v1.4.2", "environment": "production", "auto_merge": False, "required_contexts": []}


def service(name):
    return os.environ[f"HAPAX_{name}_URL"], os.environ[f"HAPAX_{name}_KEY"]


def address():
    return service("PAYMENT")[0] + "/v1/charges"


def authorization():
    return {"Authorization": "Bearer " + service("PAYMENT")[1]}


def repeat(call, pause):
    """A plain loop."""
    for _ in range(3):
        try:
            return call()
        except Exception as error:
            print(f"trying again: {error}", file=sys.stderr)
            time.sleep(pause)
    raise SystemExit("it failed three times")


# The client.


def stripe_module():
    import stripe

    stripe.api_base, stripe.api_key = service("PAYMENT")
    return stripe


def made_by_stripe():
    stripe_module().Charge.create(**CHARGE, metadata={"order": ORDER})


def made_by_stripe_with_a_key_of_the_agent():
    stripe_module().Charge.create(**CHARGE, metadata={"order": ORDER}, idempotency_key=ORDER)


def session_with_retries(**settings):
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry

    session = requests.Session()
    retry = Retry(total=3, allowed_methods=None, status_forcelist=[429, 503], **settings)
    session.mount("http://", HTTPAdapter(max_retries=retry))
    return session


def made_by_urllib3():
    session_with_retries(backoff_factor=0.2).post(address(), data=FORM, headers=authorization(), timeout=30)


def made_by_urllib3_alone():
    import urllib3

    retry = urllib3.Retry(total=3, allowed_methods=None, status_forcelist=[503])
    pool = urllib3.PoolManager(retries=retry)
    fields = {name: str(value) for name, value in FORM.items()}
    pool.request_encode_body("POST", address(), fields=fields, encode_multipart=False, headers=authorization())


def repository(**settings):
    from github import Auth, Github

    url, key = service("DEPLOY")
    return Github(auth=Auth.Token(key), base_url=url, **settings).get_repo("shop/web")


def made_by_pygithub():
    repository().create_deployment(**DEPLOYMENT)


def gitlab(**settings):
    import gitlab

    url, key = service("WEB")
    return gitlab.Gitlab(url, private_token=key, **settings)


def made_by_python_gitlab():
    gitlab(retry_transient_errors=True).http_post("/projects/1/issues", post_data={"title": ORDER})


def made_by_boto3():
    import boto3

    url, key = service("WEB")
    keys = {"aws_access_key_id": "id", "aws_secret_access_key": key}
    ses = boto3.client("sesv2", region_name="us-east-1", endpoint_url=url, **keys)
    text = {"Data": "Thank you"}
    ses.send_email(
        FromEmailAddress="shop@shop.example",
        Destination={"ToAddresses": ["ann@mail.example"]},
        Content={"Simple": {"Subject": {"Data": ORDER}, "Body": {"Text": text}}},
    )


def made_by_slack_sdk():
    from slack_sdk import WebClient
    from slack_sdk.errors import SlackApiError

    url, key = service("WEB")
    with suppress(SlackApiError):  # The service `web` does not answer like Slack.
        WebClient(token=key, base_url=url + "/api/").chat_postMessage(channel="C1", text=ORDER)


def made_by_jira():
    from jira import JIRA

    url, key = service("WEB")
    JIRA(url, basic_auth=("agent", key), get_server_info=False).add_comment("SHOP-1", ORDER)


def made_by_pyairtable():
    from pyairtable import Api

    url, key = service("WEB")
    with suppress(KeyError):  # The service `web` does not answer like Airtable.
        Api(key, endpoint_url=url).table("appAAAAAAAAAAAAAA", "Orders").create({"Order": ORDER})


def made_by_google_api_python_client():
    import httplib2
    from googleapiclient.discovery import build_from_document

    url, _ = service("WEB")
    message = {"id": "Message", "type": "object", "properties": {"raw": {"type": "string"}}}
    send = {"id": "mail.send", "path": "send", "httpMethod": "POST", "request": {"$ref": "Message"}}
    document = {
        "name": "mail",
        "version": "v1",
        "rootUrl": url + "/",
        "servicePath": "gmail/v1/",
        "resources": {"messages": {"methods": {"send": send}}},
        "schemas": {"Message": message},
    }
    mail = build_from_document(document, http=httplib2.Http(proxy_info=None))
    mail.messages().send(body={"raw": ORDER}).execute()


def ask_openai(**settings):
    import openai

    messages = [{"role": "user", "content": os.environ["HAPAX_TASK"]}]
    openai.OpenAI(**settings).chat.completions.create(model="gpt-5.2", messages=messages)


def made_by_openai():
    ask_openai()


def made_by_anthropic():
    import anthropic

    messages = [{"role": "user", "content": os.environ["HAPAX_TASK"]}]
    anthropic.Anthropic().messages.create(model="claude-opus-4-5", max_tokens=99, messages=messages)


# The agent's code.


def post():
    import requests

    requests.post(address(), data=FORM, headers=authorization(), timeout=30).raise_for_status()


def made_by_a_loop():
    repeat(post, 0.6)


def made_by_a_loop_without_a_pause():
    import requests

    repeat(post, 0)
    requests.get(address(), headers=authorization(), timeout=30)


def made_by_a_loop_with_a_session():
    import requests

    session = requests.Session()

    def call():
        session.post(address(), data=FORM, headers=authorization(), timeout=30).raise_for_status()

    repeat(call, 0.6)


def made_by_a_loop_with_a_session_and_no_pause():
    import requests

    session = requests.Session()
    repeat(lambda: session.post(address(), data=FORM, headers=authorization(), timeout=30).raise_for_status(), 0)


def made_by_a_loop_around_urllib():
    from urllib.parse import urlencode
    from urllib.request import Request, urlopen

    repeat(lambda: urlopen(Request(address(), urlencode(FORM).encode(), authorization()), timeout=30), 0)


def post_with_httpx():
    import httpx

    httpx.post(address(), data=FORM, headers=authorization(), timeout=30).raise_for_status()


def made_by_a_loop_around_httpx():
    repeat(post_with_httpx, 0)


def made_by_backoff():
    import backoff

    backoff.on_exception(backoff.expo, Exception, max_tries=3)(post_with_httpx)()


def decorated(call, pause):
    import tenacity

    return tenacity.retry(wait=tenacity.wait_fixed(pause), stop=tenacity.stop_after_attempt(3))(call)()


def charge_with_stripe_client(**options):
    import stripe

    url, key = service("PAYMENT")
    client = stripe.StripeClient(key, base_addresses={"api": url}, max_network_retries=0)
    client.v1.charges.create({**CHARGE, "metadata": {"order": ORDER}}, options)


def made_by_tenacity():
    decorated(lambda: charge_with_stripe_client(idempotency_key=ORDER), 1.2)


def made_by_tenacity_without_a_key():
    decorated(charge_with_stripe_client, 0.5)


def made_by_tenacity_with_one_client():
    import stripe

    url, key = service("PAYMENT")
    client = stripe.StripeClient(key, base_addresses={"api": url}, max_network_retries=0)
    charge = {**CHARGE, "metadata": {"order": ORDER}}
    decorated(lambda: client.v1.charges.create(charge, {"idempotency_key": ORDER}), 0.5)


def made_by_tenacity_around_requests():
    decorated(post, 0)


def made_by_tenacity_around_stripe():
    """The client retries twice in each call, and the decorator makes the call again."""
    stripe = stripe_module()
    metadata = {"order": ORDER}
    decorated(lambda: stripe.Charge.create(**CHARGE, metadata=metadata, idempotency_key=ORDER), 4)


def made_by_tenacity_around_pygithub():
    shop = repository(retry=None)
    decorated(lambda: shop.create_deployment(**DEPLOYMENT), 0)


def made_by_a_loop_around_python_gitlab():
    repeat(lambda: gitlab().http_post("/projects/1/issues", post_data={"title": ORDER}), 0.6)


def made_by_a_loop_around_openai():
    repeat(lambda: ask_openai(max_retries=0), 0.5)


def made_by_an_agent_that_reads_first():
    import requests

    try:
        post()
    except requests.RequestException:
        requests.get(address(), headers=authorization(), timeout=30)
        post()


# What is above the call.


def made_by_nobody():
    post()


def made_by_a_deadline():
    """Waits a second for a reply, and makes the call again while the first is still waiting."""
    import http.client
    import urllib.parse

    url = urllib.parse.urlsplit(address())
    headers = {**authorization(), "Content-Type": "application/x-www-form-urlencoded"}
    first = http.client.HTTPConnection(url.hostname, url.port)
    first.request("POST", url.path, urllib.parse.urlencode(FORM), headers)
    # The deadline begins when the request has been sent, so that a slow start does not let the second call overtake it.
    waiting = threading.Thread(target=first.getresponse, daemon=True)
    waiting.start()
    waiting.join(timeout=1)
    post()


globals()["made_by_" + sys.argv[1]]()
print('{"outcome": "done"}')
