// What is found at the end of a test, in every runner. A test whose name begins with "fails" must fail.
const charge = (order) => post("/v1/charges", { source: "tok_visa", "metadata[order]": order });

async function post(path, fields) {
  const body = new URLSearchParams({ amount: "4999", currency: "usd", ...fields });
  const headers = { Authorization: `Bearer ${process.env.HAPAX_PAYMENT_KEY}` };
  await (await fetch(process.env.HAPAX_PAYMENT_URL + path, { method: "POST", headers, body })).text();
}

exports.define = (test, services) => {
  test("fails: a fault without await does not fire", () => {
    services.fault({ on: "payment.charge", attempt: 7, reply: "drop" });
  });

  test("fails: a call without await has an error", () => {
    services.fault({ on: "payment.charge", reply: "drp" });
  });

  test("fails: a check without await", () => {
    services.expect("payment.refund");
  });

  test("fails: an effect after a check", async () => {
    await charge("ord_1");
    await services.expect("payment.charge", { where: { order: "ord_1" } });
    await charge("ord_1");
  });

  test("fails: an effect that no check matches", async () => {
    await charge("ord_1");
    await charge("ord_2");
    await services.expect("payment.charge", { where: { order: "ord_1" } });
  });

  test("fails: a request that hapax does not support", () => post("/v1/invoices", {}));

  test("fails: a fault that has not fired before a reset", async () => {
    await services.fault({ on: "payment.charge", attempt: 8, reply: "drop" });
    await services.reset();
  });

  test("fails: a check whose error the test catches", async () => {
    await services.expect("payment.charge", { where: { order: "ord_9" } }).catch(() => undefined);
  });

  test("passes: each test begins anew", () => services.check());

  test("passes: the test handles an error", async () => {
    await services.expect("payment.charge").catch(() => undefined);
    await charge("ord_1");
    await services.expect("payment.charge");
  });
};

exports.messages = [
  "payment.charge#7 commit=now reply=drop (0 matching attempts)",
  "did you mean `drop`?",
  "expected payment.refund to be committed once, but it was not committed",
  "expected payment.charge with order=ord_1 to be committed once, but it was committed twice",
  "an effect was committed that no expect of the test matches",
  "payment: POST /v1/invoices: hapax does not have POST /v1/invoices yet",
  "an expect failed, and the test caught its error",
  "before reset(): a fault did not fire, so the test proves nothing",
];
