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
    // Checks for leftovers of the tests and of their own cluster after that cluster has stopped.
    globalSetup: ["test/harness/run-directory.ts", "test/bundles.ts", "test/cluster/control-plane.ts"],
    setupFiles: ["test/harness/ends-with-its-test.ts"],
    pool: "forks",
    // One cluster: the changes of one file would be noise for the next.
    fileParallelism: false,
    // The cluster runs in real time: roll-outs and namespace deletions take seconds.
    testTimeout: 180_000,
    hookTimeout: 120_000,
    allowOnly: false,
  },
})
