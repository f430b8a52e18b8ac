// resend: sends a mail, and looks it up by its id and in the list.
import { Resend } from "resend";
import { realHosts, reportWrite, service } from "./client_report.mjs";

const { url, key } = service("EMAIL");
const resend = realHosts ? new Resend(key) : new Resend(key, { baseUrl: url });
const subject = "Order o1";

// This client throws nothing: its errors are answers.
function data(answer) {
  if (answer.error) throw answer.error;
  return answer.data;
}

await reportWrite({
  async write() {
    const mail = { from: "shop@shop.example", to: "ann@mail.example", subject, html: "<p>Thank you</p>" };
    return data(await resend.emails.send(mail)).id;
  },
  async get(id) {
    const answer = await resend.emails.get(id);
    if (answer.error?.name === "not_found") return false;
    return data(answer).subject === subject;
  },
  async count() {
    return data(await resend.emails.list()).data.filter((mail) => mail.subject === subject).length;
  },
});
