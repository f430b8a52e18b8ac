// Packs the npm packages into a folder: `hapax`, with a platform package as an optional dependency for each
// system, and the platform packages of the programs that are given. Needs the built package of ./build.
//
//   node pack.mjs BUILT VERSION FOLDER linux-x64=PROGRAM ...
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

// What packages/build has targets for.
const SYSTEMS = ["linux-x64", "linux-arm64", "darwin-arm64"];

const here = dirname(fileURLToPath(import.meta.url));
const [built, version, folder, ...programs] = process.argv.slice(2);
const licenses = ["LICENSE-APACHE", "LICENSE-MIT"];

/** Writes a package with its licenses, and packs it. */
function pack(manifest, files) {
  const place = mkdtempSync(join(tmpdir(), "hapax-npm-"));
  try {
    for (const name of licenses) cpSync(join(here, "../..", name), join(place, name));
    for (const [name, source] of Object.entries(files)) {
      mkdirSync(dirname(join(place, name)), { recursive: true });
      cpSync(source, join(place, name), { recursive: true });
    }
    writeFileSync(join(place, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    if (manifest.os) chmodSync(join(place, "bin/hapax"), 0o755);
    execFileSync("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder], {
      cwd: place,
      stdio: ["ignore", "ignore", "inherit"],
    });
  } finally {
    rmSync(place, { recursive: true });
  }
}

for (const given of programs) {
  const [system, program] = given.split("=");
  if (!SYSTEMS.includes(system)) throw new Error(`${system} is not one of ${SYSTEMS.join(", ")}`);
  const [os, cpu] = system.split("-");
  const manifest = {
    name: `@hapax/${system}`,
    version,
    description: `The program of the package hapax for ${system}`,
    license: "MIT OR Apache-2.0",
    os: [os],
    cpu: [cpu],
    files: ["bin"],
    // The package manager must not keep it in an archive.
    preferUnplugged: true,
  };
  pack(manifest, { "bin/hapax": program });
}

const manifest = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
if (manifest.version !== version) {
  throw new Error(`package.json has version ${manifest.version}, not ${version}`);
}
delete manifest.scripts;
delete manifest.devDependencies;
// The versions are exact: a launcher starts the program of its own version.
manifest.optionalDependencies = Object.fromEntries(SYSTEMS.map((system) => [`@hapax/${system}`, version]));
const names = ["README.md", "bin"];
const own = Object.fromEntries(names.map((name) => [name, join(here, name)]));
pack(manifest, { ...own, dist: join(built, "dist") });
