/**
 * A registry on loopback that has a package of ours and what it needs, and nothing else: so that "install it from npm" can
 * be tried before it is there, and without network. The needed packages are packed from this checkout's node_modules.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, relative } from "node:path";
import { readArchive, writeArchive } from "../package/archive.ts";
import { readLock, runtimePackages } from "../package/runtime.ts";

export interface Registry {
  /** `http://127.0.0.1:PORT/` */
  url: string;
  /** Names that were asked for and are not there. */
  readonly missed: readonly string[];
  close(): Promise<void>;
}

interface Held {
  manifest: Record<string, unknown> & { name: string; version: string };
  archive: Buffer;
}

/** `archive`: the packed package. `root`: the checkout whose node_modules has what it needs. */
export async function startRegistry(archive: Buffer, root: string): Promise<Registry> {
  const held = [
    hold(archive),
    ...runtimePackages(readLock(root)).map(({ place }) => hold(packFolder(join(root, place)))),
  ];
  const missed: string[] = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent((request.url ?? "/").split("?")[0] ?? "/").slice(1);
    const file = held.find((one) => path === tarballPath(one));
    if (file) return void response.writeHead(200, { "content-type": "application/octet-stream" }).end(file.archive);
    const versions = held.filter((one) => one.manifest.name === path);
    if (versions.length === 0) {
      missed.push(path);
      return void response.writeHead(404, { "content-type": "application/json" }).end('{"error":"not found"}');
    }
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(packument(versions, url)));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    missed,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function hold(archive: Buffer): Held {
  const text =
    readArchive(archive)
      .find(({ path }) => path === "package.json")
      ?.content.toString("utf8") ?? "{}";
  return { manifest: JSON.parse(text) as Held["manifest"], archive };
}

function packFolder(folder: string): Buffer {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !relative(folder, path).startsWith("node_modules"));
  return writeArchive(
    files.map((path) => ({
      path: relative(folder, path),
      mode: statSync(path).mode & 0o777,
      content: readFileSync(path),
    })),
  );
}

function tarballPath({ manifest }: Held): string {
  return `${manifest.name}/-/${manifest.version}.tgz`;
}

function packument(held: readonly Held[], url: string): object {
  const versions = held.map((one) => {
    const integrity = `sha512-${createHash("sha512").update(one.archive).digest("base64")}`;
    return [one.manifest.version, { ...one.manifest, dist: { tarball: `${url}${tarballPath(one)}`, integrity } }];
  });
  const { name, version } = held[0]?.manifest ?? { name: "", version: "" };
  return { name, "dist-tags": { latest: version }, versions: Object.fromEntries(versions) };
}
