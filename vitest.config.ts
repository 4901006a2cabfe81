import "./scripts/require-node.js"
import { defineConfig } from "vitest/config"

/** `npm test`: everything that needs no cluster. The suite against a real one is test/cluster/vitest.config.ts. */
export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/cluster/**"],
    // Brings dist/ up to date, because tests of actors start the bundles that users run.
    globalSetup: ["test/bundles.ts"],
    // Processes, not threads: tests start worker threads of their own, measure memory and end processes.
    pool: "forks",
    // The smallest machine we measure on has two cores. The longest suites kill actors at random moments and mostly wait for them:
    // with a third worker the whole takes 20 s less there, with a fourth no less, and timings become less steady.
    maxWorkers: 3,
    // No test waits on a wall clock. The slowest lawful thing is a worker's start on a busy machine.
    testTimeout: 15_000,
    hookTimeout: 30_000,
    teardownTimeout: 5_000,
    allowOnly: false,
  },
})
