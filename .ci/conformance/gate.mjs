// Judges a run of the conformance suite: every scenario of the set ran, has a
// SUCCESS, and neither a FAILURE nor a WARNING; a client had nothing to complain
// about, unless it had to. Usage: gate.mjs SET DIR
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";

const server = `
  server-initialize server-session-lifecycle ping logging-set-level completion-complete
  tools-list tools-call-simple-text tools-call-image tools-call-audio
  tools-call-embedded-resource tools-call-mixed-content tools-call-with-logging
  tools-call-error tools-call-with-progress tools-call-sampling tools-call-elicitation
  resources-list resources-read-text resources-read-binary resources-templates-read
  resources-subscribe resources-unsubscribe
  prompts-list prompts-get-simple prompts-get-with-args prompts-get-embedded-resource
  prompts-get-with-image`;

const sets = {
  "server-2025-11-25": `${server}
    elicitation-sep1034-defaults elicitation-sep1330-enums json-schema-2020-12
    server-sse-polling server-sse-multiple-streams dns-rebinding-protection`,
  "server-2025-06-18": server,
  "server-2025-03-26": "server-session-lifecycle",
  "client-2025-11-25": `initialize tools_call elicitation-sep1034-client-defaults sse-retry
    json-schema-2020-12-preservation
    auth/metadata-default auth/metadata-var1 auth/metadata-var2 auth/metadata-var3
    auth/basic-cimd auth/scope-from-www-authenticate auth/scope-from-scopes-supported
    auth/scope-omitted-when-undefined auth/scope-step-up auth/scope-retry-limit
    auth/token-endpoint-auth-basic auth/token-endpoint-auth-post
    auth/token-endpoint-auth-none auth/pre-registration auth/client-credentials-jwt
    auth/client-credentials-basic auth/enterprise-managed-authorization auth/dpop
    auth/dpop-nonce auth/wif-jwt-bearer`,
  "client-2025-06-18": `initialize tools_call auth/token-endpoint-auth-basic
    auth/token-endpoint-auth-post auth/token-endpoint-auth-none`,
  "client-2025-03-26": "auth/2025-03-26-oauth-metadata-backcompat auth/2025-03-26-oauth-endpoint-fallback",
  "authorization": "authorization-server-metadata-endpoint authorization-code-grant",
};

// In these the client has to give up, and says so.
const complains = ["auth/scope-retry-limit"];

const words = (text = "") => text.split(/\s+/).filter(Boolean);

// results finds the folders of scenarios: NAME-TIME, with a prefix for servers.
function results(dir) {
  const found = new Map();
  const prefix = set === "authorization" ? "authorization-server-" : set.startsWith("server-") ? "server-" : "";
  for (const path of readdirSync(dir, { recursive: true })) {
    if (!path.endsWith("/checks.json")) continue;
    const name = path.replace(/-\d{4}-\d\d-\d\dT[\d-]+Z\/checks\.json$/, "");
    found.set(name.startsWith(prefix) ? name.slice(prefix.length) : name, join(dir, path));
  }
  return found;
}

// problems lists what is wrong with a scenario.
function problems(name, file) {
  const checks = JSON.parse(readFileSync(file));
  const bad = checks.filter((c) => c.status === "FAILURE" || c.status === "WARNING");
  const wrong = bad.map((c) => `${c.status} ${c.id}: ${c.errorMessage ?? c.description} ${JSON.stringify(c.details ?? {})}`);
  if (!bad.length && !checks.some((c) => c.status === "SUCCESS")) wrong.push("no check succeeded");
  const stderr = join(dirname(file), "stderr.txt");
  const said = existsSync(stderr) ? readFileSync(stderr, "utf8").trim() : "";
  return said && !complains.includes(name) ? [...wrong, said] : wrong;
}

const [set, dir] = process.argv.slice(2);
const ran = existsSync(dir) ? results(dir) : new Map();
const wanted = words(sets[set]);
const faults = [];
for (const name of wanted) {
  const wrong = ran.has(name) ? problems(name, ran.get(name)) : ["did not run"];
  if (wrong.length) faults.push([name, ...wrong].join("\n    "));
}
for (const name of ran.keys()) {
  if (!wanted.includes(name)) faults.push(`${name}: ran, and is not listed`);
}
console.log(`${set}: ${wanted.length} scenarios, ${faults.length} at fault`);
for (const fault of faults) console.log(`  ${fault}`);
process.exit(faults.length ? 1 : 0);
