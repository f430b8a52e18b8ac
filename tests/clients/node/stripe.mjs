// stripe: takes money with a confirmed intent, and looks it up by its id, in the list and by search.
import assert from "node:assert";
import Stripe from "stripe";
import { realHosts, reportWrite, service } from "./client_report.mjs";

const { url, key } = service("PAYMENT");
const settings = () => ({ host: new URL(url).hostname, port: new URL(url).port, protocol: "http" });
const stripe = realHosts ? new Stripe(key) : new Stripe(key, settings());

await reportWrite({
  async write() {
    const intent = await stripe.paymentIntents.create({
      amount: 4999,
      currency: "usd",
      customer: "cus_42",
      payment_method: "pm_card_visa",
      payment_method_types: ["card"],
      confirm: true,
      metadata: { order: "o1" },
    });
    return intent.id;
  },
  async get(id) {
    try {
      return (await stripe.paymentIntents.retrieve(id)).status === "succeeded";
    } catch (error) {
      if (error.code !== "resource_missing") throw error;
      return false;
    }
  },
  async count() {
    const listed = (await stripe.paymentIntents.list({ customer: "cus_42" })).data.filter((it) => it.metadata.order === "o1");
    const found = (await stripe.paymentIntents.search({ query: "metadata['order']:'o1'" })).data;
    assert.equal(listed.length, found.length, "the list and the search do not agree");
    return found.length;
  },
});
