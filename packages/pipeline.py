"""Runs the commands of a CI file in the current folder, as the CI system would, and ends with the status of
the first one that fails.

    pipeline.py github FILE [NAME=VALUE ...]    a workflow; the values are variables of the repository
    pipeline.py action FILE [NAME=VALUE ...]    a composite action; the values are its inputs
    pipeline.py gitlab FILE [NAME=VALUE ...]    a pipeline, or a component with inputs

Actions that a workflow uses are listed, not run. RUNNER_TEMP must name an existing folder.
"""

import os
import pathlib
import re
import subprocess
import sys
from typing import Any, Dict, List

import yaml

EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")


def value(expression: str, names: Dict[str, str]) -> str:
    """An expression of GitHub: names and quoted texts with `||` between them."""
    for part in (part.strip() for part in expression.split("||")):
        found = part[1:-1] if part.startswith("'") else names.get(part, "")
        if found:
            return found
    return ""


def filled(text: Any, names: Dict[str, str]) -> str:
    return EXPRESSION.sub(lambda found: value(found[1], names), str(text))


def run(shell: List[str], script: str, folder: str, env: Dict[str, str]) -> None:
    print(f"+ {script.strip()}", flush=True)
    status = subprocess.run([*shell, script], cwd=folder, env=env).returncode
    if status != 0:
        sys.exit(status)


def github(steps: List[Dict[str, Any]], names: Dict[str, str], folder: str) -> None:
    """Runs the steps; `folder` is where those without a folder of their own run."""
    temporary = pathlib.Path(os.environ["RUNNER_TEMP"])
    files = {name: temporary / name for name in ("GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for step in steps:
        if "uses" in step:
            print(f"- uses {step['uses']}", flush=True)
            for name, text in step.get("with", {}).items():
                print(f"  {name}: {filled(text, names)}", flush=True)
            continue
        for file in files.values():
            file.touch()
        own = {name: filled(text, names) for name, text in step.get("env", {}).items()}
        runner = {"RUNNER_OS": "Linux", "GITHUB_ACTIONS": "true", "GITHUB_RUN_ATTEMPT": "1"}
        runner["RUNNER_ARCH"] = {"x86_64": "X64", "aarch64": "ARM64"}[os.uname().machine]
        env = {**os.environ, **runner, **{name: str(file) for name, file in files.items()}, **own}
        env["PATH"] = ":".join([*reversed(files["GITHUB_PATH"].read_text().split()), env["PATH"]])
        where = filled(step.get("working-directory", folder), names)
        run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"], step["run"], where, env)
        for line in files["GITHUB_OUTPUT"].read_text().splitlines():
            name, _, text = line.partition("=")
            names[f"steps.{step.get('id')}.outputs.{name}"] = text


def gitlab(text: str, inputs: Dict[str, str]) -> None:
    parts = list(yaml.safe_load_all(text))
    if len(parts) == 2:
        for name, given in parts[0]["spec"]["inputs"].items():
            text = text.replace(f"$[[ inputs.{name} ]]", inputs.pop(name, given["default"]))
        assert not inputs, f"the component has no input {', '.join(inputs)}"
        assert "$[[" not in text.split("\n---\n")[1], "an input that is not declared"
    (job,) = list(yaml.safe_load_all(text))[-1].values()
    env = {**os.environ, **job.get("variables", {}), "CI_PROJECT_DIR": os.getcwd()}
    env.update((name, os.environ[name]) for name in job.get("variables", {}) if name in os.environ)
    lines = [*job["before_script"], *job["script"]]
    run(["sh", "-ec"], "\n".join(lines), ".", env)
    for kept in job["artifacts"]["paths"]:
        assert pathlib.Path(kept).is_dir(), f"the job keeps {kept}, which does not exist"
    assert pathlib.Path(job["artifacts"]["reports"]["junit"]).is_file()


def main() -> None:
    kind, file, *given = sys.argv[1:]
    values = dict(word.split("=", 1) for word in given)
    text = pathlib.Path(file).read_text()
    if kind == "gitlab":
        gitlab(text, values)
        return
    if kind == "action":
        action = yaml.safe_load(text)
        inputs = {name: str(values.pop(name, one["default"])) for name, one in action["inputs"].items()}
        assert not values, f"the action has no input {', '.join(values)}"
        github(action["runs"]["steps"], {f"inputs.{name}": text for name, text in inputs.items()}, ".")
        return
    (job,) = yaml.safe_load(text)["jobs"].values()
    folder = job.get("defaults", {}).get("run", {}).get("working-directory", ".")
    github(job["steps"], {f"vars.{name}": text for name, text in values.items()}, folder)


main()
