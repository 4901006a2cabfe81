import "../../scripts/require-node.js"
import { defineConfig } from "vitest/config"
import { patient } from "../harness/patience.ts"

/**
 * `npm run test:engines`: query engines of others over facts, with the statements of docs/guides/query.md. Each comes from a package registry into the
 * user's cache directory, some 600 MB and minutes the first time, and is reported as skipped where that is not possible.
 */
export default defineConfig({
  root: new URL("../..", import.meta.url).pathname,
  test: {
    include: ["test/engines/*.test.ts"],
    globalSetup: ["test/harness/run-directory.ts"],
    setupFiles: ["test/harness/ends-with-its-test.ts"],
    // A process has one version of DuckDB, and the virtual machines of Spark have the cores to themselves.
    pool: "forks",
    fileParallelism: false,
    expect: { poll: { timeout: patient(15_000) } },
    testTimeout: patient(150_000),
    hookTimeout: patient(450_000),
    allowOnly: false,
    experimental: { viteModuleRunner: false, nodeLoader: false },
  },
})
