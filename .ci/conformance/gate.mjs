// Judges a run of the conformance suite: every scenario of the set ran, has a
// SUCCESS, and neither a FAILURE nor a WARNING; a client had nothing to complain
// about, unless it had to. Usage: gate.mjs SET DIR
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";

// What belongs to every revision, and to those that open with initialize.
const common = `
  completion-complete
  tools-list tools-call-simple-text tools-call-image tools-call-audio
  tools-call-embedded-resource tools-call-mixed-content tools-call-error
  tools-call-with-progress
  resources-list resources-read-text resources-read-binary resources-templates-read
  prompts-list prompts-get-simple prompts-get-with-args prompts-get-embedded-resource
  prompts-get-with-image`;
const sessions = `${common}
  server-initialize server-session-lifecycle ping logging-set-level
  tools-call-with-logging tools-call-sampling tools-call-elicitation
  resources-subscribe resources-unsubscribe`;

const login = `
  auth/metadata-default auth/metadata-var1 auth/metadata-var2 auth/metadata-var3
  auth/basic-cimd auth/scope-from-www-authenticate auth/scope-from-scopes-supported
  auth/scope-omitted-when-undefined auth/scope-step-up auth/scope-retry-limit
  auth/token-endpoint-auth-basic auth/token-endpoint-auth-post
  auth/token-endpoint-auth-none auth/pre-registration auth/client-credentials-jwt
  auth/client-credentials-basic auth/enterprise-managed-authorization auth/dpop
  auth/dpop-nonce auth/wif-jwt-bearer`;

const sets = {
  "server-2026-07-28": `${common}
    server-stateless caching sep-2164-resource-not-found
    input-required-result-basic-elicitation input-required-result-basic-sampling
    input-required-result-basic-list-roots input-required-result-request-state
    input-required-result-multiple-input-requests input-required-result-multi-round
    input-required-result-missing-input-response input-required-result-non-tool-request
    input-required-result-result-type input-required-result-unsupported-methods
    input-required-result-tampered-state input-required-result-capability-check
    input-required-result-ignore-extra-params input-required-result-validate-input
    http-header-validation http-custom-header-server-validation
    json-schema-2020-12 server-sse-multiple-streams dns-rebinding-protection
    tasks-lifecycle tasks-capability-negotiation tasks-wire-fields
    tasks-request-state-removal tasks-mrtr-input tasks-request-headers
    tasks-dispatch-and-envelope tasks-required-task-error tasks-mrtr-composition`,
  "server-2025-11-25": `${sessions}
    elicitation-sep1034-defaults elicitation-sep1330-enums json-schema-2020-12
    server-sse-polling server-sse-multiple-streams dns-rebinding-protection`,
  "server-2025-06-18": sessions,
  "server-2025-03-26": "server-session-lifecycle",
  "client-2026-07-28": `tools_call request-metadata sep-2322-client-request-state
    http-standard-headers http-custom-headers http-invalid-tool-headers
    json-schema-ref-no-deref json-schema-2020-12-preservation ${login}
    auth/resource-mismatch auth/offline-access-scope auth/offline-access-not-supported
    auth/authorization-server-migration auth/metadata-issuer-mismatch
    auth/iss-supported auth/iss-not-advertised auth/iss-supported-missing
    auth/iss-wrong-issuer auth/iss-unexpected auth/iss-normalized`,
  "client-2025-11-25": `initialize tools_call elicitation-sep1034-client-defaults sse-retry
    json-schema-2020-12-preservation ${login}`,
  "client-2025-06-18": `initialize tools_call auth/token-endpoint-auth-basic
    auth/token-endpoint-auth-post auth/token-endpoint-auth-none`,
  "client-2025-03-26": "auth/2025-03-26-oauth-metadata-backcompat auth/2025-03-26-oauth-endpoint-fallback",
  "authorization": "authorization-server-metadata-endpoint authorization-code-grant",
};

// In these the client has to give up, and says so.
const complains = ["auth/scope-retry-limit", "auth/resource-mismatch", "auth/metadata-issuer-mismatch",
  "auth/iss-supported-missing", "auth/iss-wrong-issuer", "auth/iss-unexpected", "auth/iss-normalized"];

// This one the suite skips, whatever a server does.
const always = { "server-2026-07-28": "tasks-status-notifications" };

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
const skipped = words(always[set]);
const faults = [];
for (const name of wanted) {
  const wrong = ran.has(name) ? problems(name, ran.get(name)) : ["did not run"];
  if (wrong.length) faults.push([name, ...wrong].join("\n    "));
}
for (const name of ran.keys()) {
  if (![...wanted, ...skipped].includes(name)) faults.push(`${name}: ran, and is not listed`);
}
console.log(`${set}: ${wanted.length} scenarios, ${faults.length} at fault`);
for (const fault of faults) console.log(`  ${fault}`);
process.exit(faults.length ? 1 : 0);
