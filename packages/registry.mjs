// A registry with the packed npm packages of a folder. Prints its address, and ends when standard input does.
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const folder = process.argv[2];
const packages = new Map();
for (const file of readdirSync(folder).filter((file) => file.endsWith(".tgz"))) {
  const content = readFileSync(join(folder, file));
  const text = execFileSync("tar", ["-xzOf", join(folder, file), "package/package.json"]);
  packages.set(JSON.parse(text).name, { manifest: JSON.parse(text), file, content });
}

const server = createServer((request, response) => {
  const path = decodeURIComponent(request.url.slice(1));
  const archive = [...packages.values()].find(({ file }) => path === `-/${file}`);
  if (archive) return response.end(archive.content);
  const found = packages.get(path);
  if (!found) return response.writeHead(404, { "content-type": "application/json" }).end("{}");
  const { manifest, file, content } = found;
  const integrity = `sha512-${createHash("sha512").update(content).digest("base64")}`;
  const dist = { tarball: `http://${request.headers.host}/-/${file}`, integrity };
  const versions = { [manifest.version]: { ...manifest, dist } };
  const answer = { name: manifest.name, "dist-tags": { latest: manifest.version }, versions };
  return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
process.stdin.resume().on("end", () => process.exit());
