/** Requests to the admin API. They use `node:http`, because tests replace `fetch`, and jsdom has none. */
import { Agent, request } from "node:http";
import { HapaxError } from "./binary.js";

const TIMEOUT_MILLISECONDS = 30_000;

/** A client of one admin API. */
export class Admin {
  // An agent of its own: no proxy of the environment is used for this machine.
  private readonly agent = new Agent();

  constructor(
    private readonly url: string,
    private readonly token: string,
    private readonly errors: () => string,
  ) {}

  /** Sends a request and reads JSON. */
  async json<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const answer = await this.text(method, path, body);
    return (answer === "" ? undefined : JSON.parse(answer)) as Answer;
  }

  /** Sends a request and reads text. */
  text(method: string, path: string, body?: unknown): Promise<string> {
    const headers = { authorization: `Bearer ${this.token}`, "content-type": "application/json" };
    return new Promise((done, fail) => {
      const sent = request(this.url + path, { method, headers, agent: this.agent }, (answer) => {
        let content = "";
        answer.setEncoding("utf8");
        answer.on("data", (part: string) => (content += part));
        answer.once("error", fail);
        answer.once("end", () => {
          if ((answer.statusCode ?? 0) < 300) done(content);
          else fail(new HapaxError(refusal(content)));
        });
      });
      sent.setTimeout(TIMEOUT_MILLISECONDS, () => sent.destroy(new Error("timeout")));
      sent.once("error", (error) => {
        fail(new HapaxError(`hapax serve does not answer (${error.message}); its errors:\n${this.errors()}`));
      });
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}

/** The reason of a refused request as the admin API gives it. */
function refusal(body: string): string {
  try {
    const { error, help, problems } = JSON.parse(body) as {
      error: string;
      help: string;
      problems?: { text: string }[];
    };
    return [error, ...(problems?.map((problem) => problem.text) ?? [help])].join("\n");
  } catch {
    return body;
  }
}
