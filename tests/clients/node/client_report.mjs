// Makes the main write of a client, and prints one line about it.

// Whether the client calls the real host of the service, as its defaults are.
export const realHosts = "REAL_HOSTS" in process.env;

// The URL and the key of a service. Where the client calls the real host, there is no URL and the key is its own.
export function service(name) {
  if (realHosts) return { url: undefined, key: "key_of_its_own" };
  return { url: process.env[`HAPAX_${name}_URL`], key: process.env[`HAPAX_${name}_KEY`] };
}

// Makes the write once, reads it back, and prints the result. `write` returns the id of the new object, `get` whether
// there is an object with that id, `count` how many there are.
export async function reportWrite({ write, get, count }) {
  const report = { write: "ok", error: null, id: null, get: null };
  try {
    report.id = await write();
  } catch (error) {
    report.write = "error";
    report.error = named(error);
  }
  if (report.id !== null) report.get = await get(report.id);
  report.read = await count();
  console.log(JSON.stringify(report));
  // A client can keep a connection open, which keeps Node running: stripe does for 80 s after a retry of a 503.
  process.exit();
}

// The kind of an error, by which a program can distinguish it from others.
function named(error) {
  return String(error.type ?? error.code ?? error.status ?? error.name);
}
