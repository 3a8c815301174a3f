// Does the steps of `bench_clients.py` with the TypeScript SDK: `node drive.mjs MODULES < JOB`.
// MODULES is the node_modules with @modelcontextprotocol/sdk (1.x) or @modelcontextprotocol/client
// (2.x). JOB and output are those of drive.py.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const modules = process.argv[2];
const at = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/${path}`));
const { server, steps } = JSON.parse(readFileSync(0, "utf8"));
const isLater = existsSync(`${modules}/@modelcontextprotocol/client`);
const answer = { action: "accept", content: { city: "Turin" } };
const sample = { role: "assistant", model: "none", content: { type: "text", text: "Drip." } };

async function parts() {
  if (isLater) {
    const base = "client/dist";
    return { ...(await at(`${base}/index.mjs`)), ...(await at(`${base}/stdio.mjs`)) };
  }
  const base = "sdk/dist/esm";
  return {
    ...(await at(`${base}/client/index.js`)),
    ...(await at(`${base}/client/stdio.js`)),
    ...(await at(`${base}/client/streamableHttp.js`)),
    ...(await at(`${base}/types.js`)),
  };
}

const sdk = await parts();
const client = new sdk.Client(
  { name: "bench", version: "1" },
  { capabilities: { elicitation: {}, sampling: {} } },
);
client.setRequestHandler(isLater ? "elicitation/create" : sdk.ElicitRequestSchema, async () => answer);
client.setRequestHandler(isLater ? "sampling/createMessage" : sdk.CreateMessageRequestSchema, async () => sample);
const transport = server.url
  ? new sdk.StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: server.headers ?? {} } })
  : new sdk.StdioClientTransport({ ...server, stderr: "ignore" });
await client.connect(transport);
const methods = {
  tools: async () => (await client.listTools()).tools,
  call: (name, args) => client.callTool({ name, arguments: args }),
  resources: async () => (await client.listResources()).resources,
  templates: async () => (await client.listResourceTemplates()).resourceTemplates,
  read: (uri) => client.readResource({ uri }),
  prompts: async () => (await client.listPrompts()).prompts,
  prompt: (name, args) => client.getPrompt({ name, arguments: args }),
};
const outcomes = [];
for (const [method, ...given] of steps) {
  try {
    outcomes.push({ ok: await methods[method](...given) });
  } catch (error) {
    outcomes.push({ error: `${error.constructor.name}: ${error.message}`, data: error.data });
  }
}
console.log(JSON.stringify(outcomes));
await client.close();
process.exit(0);
