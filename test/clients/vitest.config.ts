import "../../scripts/require-node.js"
import { defineConfig } from "vitest/config"
import { patient } from "../harness/patience.ts"

/**
 * `npm run test:clients`: programs of others against the sandbox. Each is built or run if its toolchain is there, and reported as skipped
 * otherwise; the first build of a program in Go takes some minutes.
 */
export default defineConfig({
  root: new URL("../..", import.meta.url).pathname,
  test: {
    include: ["test/clients/**/*.test.ts"],
    globalSetup: ["test/harness/run-directory.ts"],
    setupFiles: ["test/harness/ends-with-its-test.ts"],
    pool: "forks",
    fileParallelism: false,
    // The programs run in real time.
    expect: { poll: { timeout: patient(15_000) } },
    testTimeout: patient(150_000),
    hookTimeout: patient(300_000),
    allowOnly: false,
    experimental: { viteModuleRunner: false, nodeLoader: false },
  },
})
