// What a client is told to do, and the one line in which it tells what it believes.

// Makes the write once, reads it back, and prints what came of it. `write` gives the id of what was made, `get` whether
// something is there under that id, `count` how many there are.
export async function tell({ write, get, count }) {
  const told = { write: "ok", error: null, id: null, get: null };
  try {
    told.id = await write();
  } catch (error) {
    told.write = "error";
    told.error = named(error);
  }
  if (told.id !== null) told.get = await get(told.id);
  told.read = await count();
  console.log(JSON.stringify(told));
  // A client can hold a connection open that keeps Node running: stripe does for 80 s when it has retried a 503.
  process.exit();
}

// The kind of an error: what a program would look at to tell it from others.
function named(error) {
  return String(error.type ?? error.code ?? error.status ?? error.name);
}
