import "./scripts/require-node.js"
import { defineConfig } from "vitest/config"
import { isInstalled, testsThatImport } from "./test/harness/installed-program.ts"
import { longestFirst, longTests } from "./test/harness/long-tests.ts"
import { patient } from "./test/harness/patience.ts"

/**
 * Folders each of whose files needs a process of its own: they limit or measure the process, or kill actors for minutes. All others
 * share processes, so that a module is evaluated once per process and not once per file, which is half a second of CPU for each.
 */
const isolated = [
  "test/recorder/recorder/**",
  "test/recorder/recorded/**",
  "test/runtime/**",
  "test/actors/exporter/**",
]
const tests = "test/**/*.test.ts"
/** Tests that users would write. */
const examples = ["examples/host/typescript/*.test.ts", "examples/vitest/*.test.ts"]
const cluster = "test/cluster/**"
const clients = "test/clients/**"
const engines = "test/engines/**"
const browser = "test/browser/**"

/** Certificates are made by openssl; what needs them is left out without it, and named. */
const needsOpenssl = isInstalled("openssl", "version") ? [] : testsThatImport("test/kube/certificates.ts", "test")
if (needsOpenssl.length > 0) console.warn(`not run, as openssl is not installed:\n  ${needsOpenssl.join("\n  ")}`)

/**
 * Everything that needs no cluster: `npm test` is the projects "shared" and "isolated", `npm run test:long` the project "long". The suite against a
 * real cluster is test/cluster/vitest.config.ts.
 */
export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: "shared",
          include: [tests, ...examples],
          exclude: [cluster, clients, engines, browser, ...isolated, ...longTests, ...needsOpenssl],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: "isolated",
          include: isolated.map((folder) => `${folder}/*.test.ts`),
          exclude: [...longTests, ...needsOpenssl],
        },
      },
      { extends: true, test: { name: "long", include: [...longTests], exclude: [...needsOpenssl] } },
    ],
    // The second brings dist/ up to date, because tests of actors start the bundles that users run.
    globalSetup: ["test/harness/run-directory.ts", "test/bundles.ts"],
    setupFiles: ["test/harness/patient-limits.ts", "test/harness/ends-with-its-test.ts"],
    // Processes, not threads: tests start worker threads of their own, measure memory and end processes.
    pool: "forks",
    // The smallest machine we measure on has two cores; the longest suites kill actors at random moments and mostly wait for them.
    maxWorkers: 3,
    sequence: { sequencer: longestFirst(longTests) },
    teardownTimeout: patient(5000),
    // Vitest's own second is less than a busy machine takes to look once.
    expect: { poll: { timeout: patient(15_000) } },
    allowOnly: false,
    // Node imports the sources itself, as it does for users: with Vite's module runner a run takes 54 s of CPU more, of 361.
    experimental: { viteModuleRunner: false, nodeLoader: false },
  },
})
