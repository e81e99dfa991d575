// `node load-extension.mjs LOADER EXTENSION`: milliseconds that Pi's loader takes for one extension.
import { pathToFileURL } from "node:url";

const [loader, extension] = process.argv.slice(2);
const { loadExtensions } = await import(pathToFileURL(loader).href);
const began = performance.now();
const { extensions, errors } = await loadExtensions([extension], process.cwd());
const took = performance.now() - began;
if (errors.length > 0 || extensions.length !== 1) throw new Error(JSON.stringify(errors));
process.stdout.write(String(took));
process.exit(0);
