// Node's own fetch: puts a record once, and prints its result. Argument: the timeout in seconds.
const url = `${process.env.HAPAX_RECORDS_URL}/records/a`;
const headers = { Authorization: `Bearer ${process.env.HAPAX_RECORDS_KEY}`, "Content-Type": "application/json" };

// The error and its causes, the outermost first. fetch throws a TypeError for everything; its message says more.
function causes(error) {
  const named = error.name === "TypeError" ? error.message : typeof error.code === "string" ? error.code : error.name;
  return [named, ...(error.cause ? causes(error.cause) : [])];
}

try {
  const signal = AbortSignal.timeout(Number(process.argv[2]) * 1000);
  const answer = await fetch(url, { method: "PUT", headers, body: JSON.stringify({ value: "one" }), signal });
  console.log(answer.status, (await answer.json()).key);
} catch (error) {
  console.log(causes(error).join(" of "));
}
process.exit();
