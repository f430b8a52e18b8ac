"""The plugin, in suites that pytest runs in processes of their own."""

import os
import signal
import socket
import subprocess
import sys

import pytest

import hapax_harness

CHARGE = """
import os, urllib.parse, urllib.request

def charge(order="ord_1", key=None, amount=4999):
    form = {"amount": amount, "currency": "usd", "source": "tok_visa", "metadata[order]": order}
    return post("/v1/charges", key, **form)

def post(path, key=None, **form):
    headers = {"Authorization": "Bearer " + os.environ["HAPAX_PAYMENT_KEY"]}
    if key is not None:
        headers["Idempotency-Key"] = key
    url = os.environ["HAPAX_PAYMENT_URL"] + path
    request = urllib.request.Request(url, data=urllib.parse.urlencode(form).encode(), headers=headers)
    try:
        urllib.request.urlopen(request, timeout=60).close()
        return True
    except OSError:
        return False
"""


@pytest.fixture
def suite(pytester):
    """Runs a suite of tests that can charge."""

    def run(tests, *arguments, ini=""):
        pytester.makepyfile(charges=CHARGE)
        pytester.makepyfile(test_suite="from charges import charge, post\nimport os, pytest\n" + tests)
        pytester.makeini(f"[pytest]\nhapax_services = payment\n{ini}")
        return pytester.runpytest_subprocess(*arguments)

    return run


def test_each_test_starts_without_faults_and_effects(suite):
    result = suite(
        """
def test_one(hapax):
    hapax.fault("payment.charge", reply="drop")
    assert not charge()
    hapax.expect("payment.charge")

def test_two(hapax):
    assert hapax.effects() == [] and hapax.attempts() == []
    assert charge()
"""
    )
    result.assert_outcomes(passed=2)


def test_effects_and_attempts_have_fields_and_keys(suite):
    result = suite(
        """
def test_fields(hapax):
    charge("ord_1", "k1"), charge("ord_2", "k2")
    (effect,) = hapax.effects("payment.charge", order="ord_2", amount="4999")
    assert (effect.name, effect.attempt, effect.fields["amount"]) == ("payment.charge", 2, 4999)
    assert [attempt.key for attempt in hapax.attempts("payment.charge")] == ["k1", "k2"]
    assert len(hapax.effects(where={"metadata.order": "ord_1"})) == 1
    assert hapax.url("payment") == os.environ["HAPAX_PAYMENT_URL"]
"""
    )
    result.assert_outcomes(passed=1)


def test_a_fault_that_does_not_fire_fails_the_test_unless_it_is_optional(suite):
    result = suite(
        """
def test_required(hapax):
    hapax.fault("payment.charge", attempt=2, reply="drop")
    charge()

def test_optional(hapax):
    hapax.fault("payment.charge", attempt=2, reply="drop", optional=True)
    charge()

class TestOther:
    @pytest.fixture(autouse=True)
    def services(self, hapax):
        self.hapax = hapax

    def test_required(self):
        self.hapax.fault("payment.charge", reply="drop")
"""
    )
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "a fault did not fire, so the test proves nothing:",
            "  payment.charge#2 commit=now reply=drop (1 matching attempt)",
            "Timeline (seconds since the start of the test):",
            "*caller 1 ───► payment  payment.charge#1*",
        ]
    )


def test_a_commit_that_happens_later_is_counted(suite):
    result = suite(
        """
def test_later(hapax):
    hapax.fault("payment.charge", commit="later", reply={"status": 503})
    charge(), charge()
    assert len(hapax.effects("payment.charge", settle=False)) == 1
    hapax.expect("payment.charge", times=1)
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*to be committed once, but it was committed twice"])


def test_names_that_do_not_exist_are_errors(suite):
    result = suite(
        """
def test_operation(hapax):
    hapax.expect("payment.chrge", times=0)

def test_field(hapax):
    charge()
    hapax.expect("payment.charge", times=0, ordr="ord_1")

def test_field_of_an_attempt(hapax):
    charge()
    assert hapax.attempts("payment.charge", odrer="ord_1") == []

def test_fault(hapax):
    hapax.fault("payment.charge", reply="drp")

def test_service(hapax):
    hapax.url("email")

def test_another_value_of_a_field_is_none(hapax):
    charge()
    hapax.expect("payment.charge", times=0, order="ord_2")
    hapax.expect("payment.charge", order="ord_1")
"""
    )
    result.assert_outcomes(passed=1, failed=5)
    result.stdout.fnmatch_lines(
        [
            "*no operation payment.chrge; did you mean payment.charge?",
            "*no payment.charge has the field ordr*",
            "*no payment.charge has the field odrer*",
            "*help: did you mean `drop`?",
            "*the service email was not started; running: payment",
        ]
    )


def test_a_missing_effect_names_what_to_do(suite):
    result = suite(
        """
def test_no_attempt(hapax):
    hapax.expect("payment.charge")

def test_lost(hapax):
    hapax.fault("payment.charge", commit="never", reply="drop")
    charge()
    hapax.expect("payment.charge")

def test_refused(hapax):
    charge(amount=1)
    hapax.expect("payment.charge")

def test_another(hapax):
    charge("ord_2")
    hapax.expect("payment.charge", order="ord_1")
"""
    )
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(
        [
            "*no request arrived",
            "*Fix: No attempt of payment.charge arrived.*",
            "*but it was not committed",
            "*Fix: A failed or lost reply says nothing about the effect.*",
            "*refused with 400*Amount must be at least*",
            "*Fix: The service refused every request.*",
            "*Committed with other fields: *order=ord_2*",
        ]
    )


def test_a_request_that_hapax_does_not_support_fails_the_test(suite):
    result = suite(
        """
def test_endpoint(hapax):
    assert not post("/v1/invoices", customer="cus_1")
    assert not post("/v1/invoices", customer="cus_1")

def test_parameter(hapax):
    option = {"payment_method_options[card][installments][enabled]": "true"}
    assert not post("/v1/payment_intents", amount=4999, currency="usd", **option)

def test_before_a_reset(hapax):
    assert not post("/v1/checkout/sessions", mode="payment")
    hapax.reset()

def test_refused(hapax):
    assert not charge(amount=1)
    assert not post("/v1/no_such_endpoint")
"""
    )
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(
        [
            "hapax lacks what a request needs, so the test proves nothing:",
            "  payment: POST /v1/invoices: hapax does not have POST /v1/invoices yet",
            "",
            "*caller 1 *refused with 501*",
            "Fix: Let the code under test do without it in this test*",
            "  payment: POST /v1/payment_intents: hapax does not have the parameter *installments*",
            "before reset(): hapax lacks what a request needs, so the test proves nothing:",
            "  payment: POST /v1/checkout/sessions: *",
        ]
    )


def test_effects_after_a_check_fail_the_test(suite):
    result = suite(
        """
def test_more(hapax):
    charge()
    hapax.expect("payment.charge", times=1, order="ord_1")
    charge()

def test_later(hapax):
    hapax.expect("payment.charge", times=0)
    hapax.fault("payment.charge", commit="later", reply={"status": 503})
    charge()

def test_before_a_reset(hapax):
    charge()
    hapax.expect("payment.charge")
    charge()
    hapax.reset()

def test_a_check_that_fails_counts_nothing(hapax):
    charge("ord_3")
    hapax.expect("payment.charge", order="ord_3")
    charge("ord_3")
    with pytest.raises(AssertionError):
        hapax.expect("payment.charge", order="ord_3")

def test_steps(hapax):
    hapax.expect("payment.charge", times=0)
    charge("ord_1")
    hapax.expect("payment.charge", times=1, order="ord_1")
    charge("ord_2")
    hapax.expect("payment.charge", times=2)

def test_a_check_that_fails_is_not_forgotten(hapax):
    with pytest.raises(AssertionError):
        hapax.expect("payment.charge", order="ord_4")

def test_a_check_that_holds_later_is_fine(hapax):
    with pytest.raises(AssertionError):
        hapax.expect("payment.charge", times=2)
    charge()
    charge()
    hapax.expect("payment.charge", times=2)

def test_expectations_end_with_a_reset(hapax):
    charge()
    hapax.expect("payment.charge", times=1)
    hapax.reset()
    charge("ord_2")
    charge("ord_2")
"""
    )
    result.assert_outcomes(passed=3, failed=5)
    result.stdout.fnmatch_lines(
        [
            "expected payment.charge with order=ord_1 to be committed once, but it was committed twice",
            "The check passed when the test called it; more was committed after that.",
            "Timeline (seconds since the start of the test):",
            "*committed payment.charge *",
            "*committed payment.charge *",
            "Fix: Derive the idempotency key from the order*",
            "expected payment.charge to be committed never, but it was committed once",
            "before reset(): expected payment.charge to be committed once, but it was committed twice",
            "expected payment.charge with order=ord_3 to be committed once, but it was committed twice",
            "an expect failed, and the test caught its error:",
            "expected payment.charge with order=ord_4 to be committed once, but it was not committed",
        ]
    )


def test_effects_that_no_check_matches_fail_the_test(suite):
    result = suite(
        """
def test_other(hapax):
    charge("ord_1")
    charge("")
    hapax.expect("payment.charge", times=1, order="ord_1")

def test_many(hapax):
    for number in range(12):
        charge(f"other_{number}")
    hapax.expect("payment.charge", times=0, order="other")

def test_before_a_reset(hapax):
    charge("ord_1")
    charge("ord_2")
    hapax.expect("payment.charge", times=1, order="ord_1")
    hapax.reset()

def test_all_are_matched(hapax):
    charge("ord_1")
    charge("ord_2")
    hapax.expect("payment.charge", times=1, order="ord_1")
    hapax.expect("payment.charge", times=1, order="ord_2")

def test_own_assertions(hapax):
    charge("ord_1")
    charge("ord_2")
    assert len(hapax.effects("payment.charge", order="ord_1")) == 1
    hapax.expect("payment.refund", times=0)
"""
    )
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines(
        [
            "an effect was committed that no expect of the test matches:",
            "  payment.charge with amount=4999, *",
            "",
            "Timeline (seconds since the start of the test):",
            "Fix: Do not cause the effect, or add an expect for it if it is right.",
            "  payment.charge with *other_9*",
            "  and 2 more",
            "before reset(): an effect was committed that no expect of the test matches:",
            "  payment.charge with *ord_2*",
        ]
    )


def test_a_fault_that_has_not_fired_before_a_reset_fails_the_test(suite):
    result = suite(
        """
def test_required(hapax):
    hapax.fault("payment.charge", attempt=2, reply="drop")
    charge()
    hapax.reset()
    charge()
    hapax.expect("payment.charge")

def test_optional(hapax):
    hapax.fault("payment.charge", attempt=2, reply="drop", optional=True)
    charge()
    hapax.reset()

def test_fired(hapax):
    hapax.fault("payment.charge", reply="drop")
    charge()
    hapax.reset()
"""
    )
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "before reset(): a fault did not fire, so the test proves nothing:",
            "  payment.charge#2 commit=now reply=drop (1 matching attempt)",
        ]
    )


def test_without_pytest_each_test_begins_and_is_checked():
    with hapax_harness.start(["payment"]) as services:
        services.fault("payment.charge", reply="drop")
        services.reset()
        for _ in range(2):
            with pytest.raises(AssertionError, match="before reset.*a fault did not fire"):
                services.check()
        services.begin()
        services.check()


def test_a_marker_chooses_other_services(suite):
    result = suite(
        """
@pytest.mark.hapax(services=["payment", "email"], idempotency={"payment": "none"}, callers=2)
def test_marked(hapax):
    assert hapax.url("email") != hapax.url("email", caller=2)
    charge(key="k"), charge(key="k")
    hapax.expect("payment.charge", times=2)

def test_unmarked(hapax):
    assert "HAPAX_EMAIL_URL" not in os.environ
    charge(key="k"), charge(key="k")
    hapax.expect("payment.charge", times=1)

@pytest.mark.hapax(service="payment")
def test_wrong(hapax): ...
"""
    )
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*the marker hapax has no argument service*"])


def test_the_variables_are_only_set_during_a_test_unless_the_services_start_early(suite):
    tests = """
AT_IMPORT = os.environ.get("HAPAX_PAYMENT_URL")

def test_import(hapax):
    assert AT_IMPORT == hapax.url("payment")

def test_without_services():
    assert "HAPAX_PAYMENT_URL" not in os.environ
"""
    suite(tests).assert_outcomes(passed=1, failed=1)
    suite(tests, ini="hapax_early = true").assert_outcomes(passed=1, failed=1)


def test_workers_have_services_of_their_own(suite):
    tests = """
@pytest.mark.parametrize("number", range(8))
def test_many(hapax, number):
    assert charge()
    hapax.expect("payment.charge", times=1)
"""
    suite(tests, "-n", "2", ini="hapax_early = true").assert_outcomes(passed=8)


def test_services_that_do_not_exist_are_an_error_of_the_test(suite):
    result = suite("def test_one(hapax): ...\n", ini="hapax_idempotency = paymnt=none")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*hapax serve did not start:", "*did you mean `payment`?*"])


def test_the_services_end_when_the_process_is_killed():
    code = (
        "import hapax_harness, time\n"
        "print(hapax_harness.start(['payment']).url('payment'), flush=True)\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    host, port = process.stdout.readline().strip().removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.settimeout(30)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        # The connection ends with the services.
        try:
            assert connection.recv(1) == b""
        except ConnectionResetError:
            pass


def test_a_command_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setenv("HAPAX_BIN", "/nowhere/hapax")
    with pytest.raises(hapax_harness.HapaxError, match="HAPAX_BIN names /nowhere/hapax"):
        hapax_harness.find_hapax()
