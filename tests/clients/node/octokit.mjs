// octokit: makes a deployment, and looks it up by its number and in the list of its environment.
import { Octokit } from "octokit";
import { realHosts, reportWrite, service } from "./client_report.mjs";

const { url, key } = service("DEPLOY");
const octokit = new Octokit({
  auth: key,
  ...(realHosts ? {} : { baseUrl: url }),
  // Its pauses are in milliseconds instead of seconds; the number of retries is not changed.
  retry: { retryAfterBaseValue: 1 },
});
const place = { owner: "shop", repo: "web" };
const what = { ref: "v1.2.3", environment: "production" };

await reportWrite({
  async write() {
    const wanted = { ...place, ...what, auto_merge: false, required_contexts: [] };
    return (await octokit.rest.repos.createDeployment(wanted)).data.id;
  },
  async get(id) {
    try {
      return (await octokit.rest.repos.getDeployment({ ...place, deployment_id: id })).data.ref === what.ref;
    } catch (error) {
      if (error.status !== 404) throw error;
      return false;
    }
  },
  async count() {
    return (await octokit.paginate(octokit.rest.repos.listDeployments, { ...place, ...what })).length;
  },
});
