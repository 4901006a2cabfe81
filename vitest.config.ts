import "./scripts/require-node.js"
import { defineConfig } from "vitest/config"
import { patient } from "./test/harness/patience.ts"

/**
 * Folders whose tests start no workers and no processes, and leave nothing behind in theirs: their files share a process, so that
 * the modules they share are evaluated once per worker and not once per file. That took 73 s of CPU instead of 157.
 */
const shared = [
  "test/trace/**",
  "test/wire/**",
  "test/archive/**",
  "test/kube/**",
  "test/apiserver/**",
  "test/sandbox/**",
  "test/k8s/**",
]

/** `npm test`: everything that needs no cluster. The suite against a real one is test/cluster/vitest.config.ts. */
export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: { name: "shared", include: shared.map((folder) => `${folder}/*.test.ts`), isolate: false },
      },
      {
        extends: true,
        test: { name: "isolated", include: ["test/**/*.test.ts"], exclude: ["test/cluster/**", ...shared] },
      },
    ],
    // The second brings dist/ up to date, because tests of actors start the bundles that users run.
    globalSetup: ["test/harness/run-directory.ts", "test/bundles.ts"],
    setupFiles: ["test/harness/patient-limits.ts", "test/harness/ends-with-its-test.ts"],
    // Processes, not threads: tests start worker threads of their own, measure memory and end processes.
    pool: "forks",
    // The smallest machine we measure on has two cores; the longest suites kill actors at random moments and mostly wait for them.
    maxWorkers: 3,
    teardownTimeout: patient(5000),
    allowOnly: false,
  },
})
