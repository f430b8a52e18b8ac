// nodemailer with its default verification of certificates: sends one email and claims it. Argument: starttls or tls.
import nodemailer from "nodemailer";

const tls = process.argv[2] === "tls";
const url = process.env[tls ? "HAPAX_SMTPS_URL" : "HAPAX_SMTP_URL"];
const transport = nodemailer.createTransport({ url, requireTLS: !tls });
await transport.sendMail({ from: "shop@shop.example", to: "ann@mail.example", subject: "Order o1", text: "Thank you" });
transport.close();
console.log('{"outcome": "done"}');
