import "../../scripts/require-node.js"
import { defineConfig } from "vitest/config"
import { patient } from "../harness/patience.ts"

/**
 * `npm run test:browser`: the page in a Chromium, `KUBEREEL_CHROMIUM` or Debian's. Without one all tests are skipped, but in CI they fail.
 * `KUBEREEL_UPDATE=1` replaces the reference pictures.
 */
export default defineConfig({
  root: new URL("../..", import.meta.url).pathname,
  test: {
    include: ["test/browser/**/*.test.ts"],
    globalSetup: ["test/harness/run-directory.ts", "test/bundles.ts", "test/browser/recorded-incident.ts"],
    setupFiles: ["test/harness/ends-with-its-test.ts"],
    pool: "forks",
    // One browser at a time: a second one on two cores makes both miss their times.
    fileParallelism: false,
    expect: { poll: { timeout: patient(15_000) } },
    testTimeout: patient(30_000),
    hookTimeout: patient(30_000),
    allowOnly: false,
    experimental: { viteModuleRunner: false, nodeLoader: false },
  },
})
