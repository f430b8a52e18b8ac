// @sendgrid/mail: sends a mail, and looks it up by the id of the message and by its argument.
import { Client } from "@sendgrid/client";
import mail from "@sendgrid/mail";
import { realHosts, reportWrite, service } from "./client_report.mjs";

const { url, key } = service("EMAIL");
const client = new Client();
client.setApiKey(key);
// Setting the key sets the address, so this comes after it.
if (!realHosts) client.setDefaultRequest("baseUrl", url);
mail.setClient(client);

async function search(query) {
  const [, body] = await client.request({ method: "GET", url: "/v3/messages", qs: { limit: 10, query } });
  return body.messages;
}

await reportWrite({
  async write() {
    const [answer] = await mail.send({
      from: "shop@shop.example",
      to: "ann@mail.example",
      subject: "Order o1",
      html: "<p>Thank you</p>",
      customArgs: { order: "o1" },
    });
    return answer.headers["x-message-id"];
  },
  async get(id) {
    // The sender gets only the beginning of the id.
    const [found] = await search(`msg_id LIKE "${id}.%"`);
    if (!found) return false;
    const [, details] = await client.request({ method: "GET", url: `/v3/messages/${found.msg_id}` });
    return details.subject === "Order o1";
  },
  async count() {
    return (await search(`unique_args['order']="o1"`)).length;
  },
});
