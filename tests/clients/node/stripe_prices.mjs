// stripe: makes a price, and looks it up by its id, in the list and by search. Reads a payment method of a customer.
import assert from "node:assert";
import Stripe from "stripe";
import { reportWrite, service } from "./client_report.mjs";

const { url, key } = service("PAYMENT");
const stripe = new Stripe(key, { host: new URL(url).hostname, port: new URL(url).port, protocol: "http" });

await reportWrite({
  async write() {
    const method = await stripe.paymentMethods.create({ type: "card", card: { token: "tok_visa" } });
    await stripe.paymentMethods.attach(method.id, { customer: "cus_42" });
    assert.equal((await stripe.customers.retrievePaymentMethod("cus_42", method.id)).card.last4, "4242");
    await assert.rejects(stripe.customers.retrievePaymentMethod("cus_43", method.id), { code: "resource_missing" });
    const terms = { currency: "usd", unit_amount: 1500, recurring: { interval: "month" }, lookup_key: "gold" };
    return (await stripe.prices.create({ product: "prod_gold", ...terms })).id;
  },
  async get(id) {
    try {
      return (await stripe.prices.retrieve(id, { expand: ["product"] })).product.name === "gold";
    } catch (error) {
      if (error.code !== "resource_missing") throw error;
      return false;
    }
  },
  async count() {
    const listed = (await stripe.prices.list({ lookup_keys: ["gold"], product: "prod_gold", limit: 100 })).data;
    const found = (await stripe.prices.search({ query: "lookup_key:'gold'" })).data;
    assert.equal(listed.length, found.length, "the list and the search do not agree");
    return found.length;
  },
});
