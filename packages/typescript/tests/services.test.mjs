// The package without the hooks of a test runner, as Node runs it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { connect } from "node:net";
import { after, beforeEach, test } from "node:test";
import { ExpectationError, HapaxError, findHapax, startServices } from "hapax";

const services = await startServices(["payment"]);
services.setEnv();
beforeEach(() => services.begin());
after(() => services.stop());

function charge(order = "ord_1", key = order, amount = "4999") {
  return post("/v1/charges", { amount, currency: "usd", source: "tok_visa", "metadata[order]": order }, key);
}

async function post(path, body, key) {
  const headers = { Authorization: `Bearer ${process.env.HAPAX_PAYMENT_KEY}`, "Idempotency-Key": key };
  const url = process.env.HAPAX_PAYMENT_URL + path;
  const sent = fetch(url, { method: "POST", headers, body: new URLSearchParams(body) });
  return (await sent.catch(() => undefined))?.ok ?? false;
}

/** The message of the error that a promise is rejected with. */
async function message(promise, kind) {
  const error = await promise.then(
    () => assert.fail("it was not rejected"),
    (error) => error,
  );
  assert.ok(error instanceof kind, `${error}`);
  return error.message;
}

test("effects and attempts have fields and keys", async () => {
  await charge("ord_1");
  await charge("ord_2");
  const where = { order: "ord_2", amount: "4999" };
  const [effect, ...others] = await services.effects("payment.charge", { where });
  assert.deepEqual([effect.name, effect.attempt, effect.fields.amount], ["payment.charge", 2, 4999]);
  assert.deepEqual(others, []);
  const attempts = await services.attempts("payment.charge");
  assert.deepEqual(
    attempts.map((attempt) => attempt.key),
    ["ord_1", "ord_2"],
  );
  assert.equal(services.url("payment"), process.env.HAPAX_PAYMENT_URL);
});

test("a second effect fails with the timeline", async () => {
  await services.fault({ on: "payment.charge", reply: "drop" });
  await charge("ord_1", "k1");
  await charge("ord_1", "k2");
  const check = services.expect("payment.charge", { where: { order: "ord_1" } });
  const text = await message(check, ExpectationError);
  assert.match(text, /with order=ord_1 to be committed once, but it was committed twice/);
  assert.match(text, /fault: commit now, reply drop/);
  assert.match(text, /Fix: Derive the idempotency key from the order/);
});

test("a commit that happens later is counted", async () => {
  await services.fault({ on: "payment.charge", commit: "later", reply: { status: 503 } });
  await charge("ord_1", "k1");
  await charge("ord_1", "k2");
  assert.equal((await services.effects("payment.charge", { settle: false })).length, 1);
  assert.match(await message(services.expect("payment.charge"), ExpectationError), /it was committed twice/);
});

test("a missing effect names what to do", async () => {
  const nothing = await message(services.expect("payment.charge"), ExpectationError);
  assert.match(nothing, /no request arrived[^]*No attempt of payment.charge arrived/);
  await charge("ord_1", "k", "1");
  const refused = await message(services.expect("payment.charge"), ExpectationError);
  assert.match(refused, /refused with 400[^]*Fix: The service refused every request/);
  await charge("ord_2");
  const check = services.expect("payment.charge", { where: { order: "ord_1" } });
  const other = await message(check, ExpectationError);
  assert.match(other, /Committed with other fields: .*order=ord_2[^]*A failed or lost reply says nothing/);
});

test("a fault that does not fire is an error unless it is optional", async () => {
  await services.fault({ on: "payment.charge", attempt: 2, reply: "drop", optional: true });
  await charge();
  await services.expect("payment.charge");
  await services.fault({ on: "payment.charge", attempt: 3, reply: "drop" });
  for (const check of [() => services.expect("payment.charge"), () => services.checkFaults()]) {
    assert.match(await message(check(), ExpectationError), /payment.charge#3 .* \(0 matching attempts\)/);
  }
});

test("a fault that has not fired before a reset is an error at the end", async () => {
  await services.fault({ on: "payment.charge", reply: "drop", optional: true });
  await services.reset();
  await services.check();
  await services.fault({ on: "payment.charge", attempt: 2, reply: "drop" });
  await charge();
  await services.reset();
  await services.checkFaults();
  assert.match(
    await message(services.check(), ExpectationError),
    /before reset\(\): a fault did not fire[^]*payment.charge#2 .* \(1 matching attempt\)/,
  );
  await services.begin();
  await services.check();
});

test("effects after a check are an error at the end, unless a later check counts them", async () => {
  await services.expect("payment.charge", { times: 0 });
  await charge("ord_1");
  await services.expect("payment.charge", { where: { order: "ord_1" } });
  await charge("ord_2");
  await services.expect("payment.charge", { times: 2 });
  await services.check();
  await services.fault({ on: "payment.charge", commit: "later", reply: { status: 503 } });
  await charge("ord_1", "k2");
  await message(services.expect("payment.charge"), ExpectationError);
  const text = await message(services.check(), ExpectationError);
  assert.match(text, /expected payment.charge to be committed twice, but it was committed 3 times/);
  assert.match(text, /The check passed when the test called it; more was committed after that/);
  assert.match(text, /Fix: Derive the idempotency key from the order/);
  await services.reset();
  await charge("ord_1");
  assert.match(await message(services.check(), ExpectationError), /^before reset\(\): expected payment.charge/);
});

test("effects that no check matches are an error at the end", async () => {
  await charge("ord_1");
  await charge("", "k2");
  await services.expect("payment.refund", { times: 0 });
  await services.check();
  await services.expect("payment.charge", { where: { order: "ord_1" } });
  assert.match(
    await message(services.check(), ExpectationError),
    /no expect of the test matches:\n  payment.charge with amount=4999[^]*add an expect for it/,
  );
  await services.expect("payment.charge", { times: 2 });
  await services.check();
  await services.reset();
  for (let number = 0; number < 12; number++) await charge(`other_${number}`);
  await services.expect("payment.charge", { times: 0, where: { order: "other" } });
  assert.match(await message(services.check(), ExpectationError), /other_9[^]*  and 2 more/);
});

test("a request that hapax does not support is an error at the end", async () => {
  await charge("ord_1", "k", "1");
  await post("/v1/no_such_endpoint", {}, "k1");
  await services.check();
  const option = { "payment_method_options[card][installments][enabled]": "true" };
  await post("/v1/payment_intents", { amount: "4999", currency: "usd", ...option }, "k2");
  assert.match(
    await message(services.check(), ExpectationError),
    /proves nothing:\n  payment: POST \/v1\/payment_intents: hapax does not have the parameter .*installments/,
  );
});

test("calls without await are waited for, and their errors are not lost", async () => {
  services.fault({ on: "payment.charge", reply: "drop" });
  assert.match(await message(services.check(), ExpectationError), /a fault did not fire/);
  await services.begin();
  services.fault({ on: "payment.charge", reply: "drp" });
  assert.match(await message(services.check(), HapaxError), /did you mean `drop`/);
  await services.begin();
  services.fault({ on: "payment.charge", reply: "drop" });
  await services.reset();
  assert.match(await message(services.check(), ExpectationError), /before reset\(\): a fault did not fire/);
  await services.begin();
  await message(services.expect("payment.charge"), ExpectationError);
  assert.match(await message(services.check(), ExpectationError), /an expect failed, and the test caught its error/);
});

test("names that do not exist are errors", async () => {
  await charge();
  const none = { times: 0, where: { ordr: "ord_1" } };
  assert.match(
    await message(services.expect("payment.chrge", { times: 0 }), HapaxError),
    /no operation payment.chrge/,
  );
  assert.match(await message(services.expect("payment.charge", none), HapaxError), /has the field ordr/);
  assert.match(await message(services.attempts("payment.charge", none), HapaxError), /has the field ordr/);
  assert.match(
    await message(services.fault({ on: "payment.charge", reply: "drp" }), HapaxError),
    /help: did you mean `drop`/,
  );
  assert.throws(() => services.url("email"), /the service email was not started; running: payment/);
  assert.match(await message(startServices(["paymnt"]), HapaxError), /did not start:[^]*mean `payment`/);
  await services.expect("payment.charge", { times: 0, where: { order: "ord_2" } });
});

test("other services are started beside, and the variables are restored when they stop", async () => {
  const before = process.env.HAPAX_PAYMENT_URL;
  const options = { idempotency: { payment: "none" }, callers: 2 };
  const others = await startServices(["payment", "email"], options);
  others.setEnv();
  assert.notEqual(others.url("email", 2), process.env.HAPAX_EMAIL_URL);
  await charge("ord_1", "k");
  await charge("ord_1", "k");
  await others.expect("payment.charge", { times: 2 });
  await others.stop();
  assert.deepEqual([process.env.HAPAX_PAYMENT_URL, process.env.HAPAX_EMAIL_URL], [before, undefined]);
  assert.throws(() => others.url("email"), /the services are not running/);
});

test("the services end when the process is killed", async () => {
  const code =
    'import { startServices } from "hapax"; const services = await startServices(["payment"]);' +
    'console.log(services.url("payment")); setInterval(() => {}, 1000);';
  const options = { cwd: import.meta.dirname, stdio: ["ignore", "pipe", "inherit"] };
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], options);
  const printed = await new Promise((done) => child.stdout.once("data", (text) => done(`${text}`)));
  const { port, hostname } = new URL(printed);
  const ended = await new Promise((done, fail) => {
    const connection = connect(Number(port), hostname, () => child.kill("SIGKILL"));
    // The connection ends with the services.
    for (const event of ["close", "end", "error"]) connection.once(event, () => done(true));
    connection.resume();
    child.once("error", fail);
  });
  assert.ok(ended);
});

test("a process that forgets to stop the services ends", async () => {
  const code = 'import { startServices } from "hapax"; await startServices(["payment"]);';
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], { cwd: import.meta.dirname });
  assert.equal(await new Promise((done) => child.once("close", done)), 0);
});

test("a command that is not there is named", () => {
  const before = process.env.HAPAX_BIN;
  process.env.HAPAX_BIN = "/nowhere/hapax";
  assert.throws(() => findHapax(), /HAPAX_BIN names \/nowhere\/hapax/);
  process.env.HAPAX_BIN = before;
});
