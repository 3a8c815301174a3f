// Reads a flowchart from standard input by Mermaid's own parser, and counts its nodes and edges.
// Called with a folder `node_modules` that holds mermaid and jsdom.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder] = process.argv.slice(2);
const { JSDOM } = createRequire(join(folder, "x.js"))("jsdom");
globalThis.window = new JSDOM("").window;
globalThis.document = window.document;
const address = pathToFileURL(join(folder, "mermaid", "dist", "mermaid.core.mjs"));
const { default: mermaid } = await import(address);
mermaid.initialize({ maxEdges: 1e6, maxTextSize: 1e9 });
const text = readFileSync(0, "utf8");
await mermaid.parse(text);
const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
console.log(db.getVertices().size, db.getEdges().length);
