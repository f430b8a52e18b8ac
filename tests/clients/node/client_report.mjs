// Makes the main write of a client, and prints one line about it.

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
