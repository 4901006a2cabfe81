import "../../scripts/require-node.js"
import { defineConfig } from "vitest/config"

/**
 * `npm run test:cluster`: the suite against a real Kubernetes. It writes to the cluster of KUBEREEL_TEST_KUBECONFIG, or
 * starts one of its own when that is not set (Go 1.25 or later needed), and fails when it can do neither.
 */
export default defineConfig({
  root: new URL("../..", import.meta.url).pathname,
  test: {
    include: ["test/cluster/**/*.test.ts"],
    // What the tests and the cluster of their own leave behind is found when that cluster is down.
    globalSetup: ["test/harness/run-directory.ts", "test/bundles.ts", "test/cluster/control-plane.ts"],
    setupFiles: ["test/harness/ends-with-its-test.ts"],
    pool: "forks",
    // One cluster: what one file changes, the next would see as noise.
    fileParallelism: false,
    // Here the cluster's own clock runs: roll-outs and namespace deletions take their seconds.
    testTimeout: 180_000,
    hookTimeout: 120_000,
    allowOnly: false,
  },
})
