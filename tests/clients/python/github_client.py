"""PyGithub: makes a deployment, and looks it up by its number and in the list of its environment."""

from github import Auth, Github, UnknownObjectException
from client_report import REAL_HOSTS, report_write, service

url, key = service("deploy")

# The pauses are the client's courtesy to GitHub; the number of its retries does not depend on them.
github = Github(
    auth=Auth.Token(key),
    **({} if REAL_HOSTS else {"base_url": url}),
    seconds_between_requests=0,
    seconds_between_writes=0,
)
repository = github.get_repo("shop/web")


def write():
    return repository.create_deployment(ref="v1.2.3", environment="production", auto_merge=False, required_contexts=[]).id


def get(id):
    try:
        return repository.get_deployment(id).ref == "v1.2.3"
    except UnknownObjectException:
        return False


def count():
    return sum(1 for _ in repository.get_deployments(ref="v1.2.3", environment="production"))


report_write(write, get, count)
