import "../../scripts/require-node.js"
import { defineConfig } from "vitest/config"
import { longestFirst } from "../harness/long-tests.ts"
import { patient } from "../harness/patience.ts"

const pathOf = (name: string): string => `test/cluster/${name}.test.ts`

/** Files that compare moments to within fractions of a second. They run after all others, one at a time. */
const punctual = ["etcd-ledger/etcd-ledger", "simulation/pod-round-trip", "simulation/round-trip"].map(pathOf)

/** The others that take a minute or more. */
const long = [
  "late/late-changes",
  "docs/pages",
  "docs/readme-flow",
  "k8s/rights",
  "simulation-controller/life",
  "k8s/interruptions",
  "simulation-controller/crashes",
  "clients/kubectl-serve",
  "record",
  "k8s/namespaces",
  "conformance/mutants",
  "simulation/driver",
  "conformance/conformance",
  "conformance/kubectl",
].map(pathOf)

/**
 * `npm run test:cluster`: the suite against a real Kubernetes. It writes to the cluster of KUBEREEL_TEST_KUBECONFIG, or
 * starts clusters of its own when that is not set (Go 1.25 or later needed), and fails when it can do neither.
 */
export default defineConfig({
  root: new URL("../..", import.meta.url).pathname,
  test: {
    projects: [
      { extends: true, test: { name: "cluster", include: [pathOf("**/*")], exclude: punctual } },
      { extends: true, test: { name: "punctual", include: punctual, maxWorkers: 1 } },
    ],
    // Checks for leftovers of the tests and of their own cluster after that cluster has stopped.
    globalSetup: ["test/harness/run-directory.ts", "test/bundles.ts", "test/cluster/control-plane.ts"],
    setupFiles: ["test/cluster/own-cluster.ts", "test/harness/ends-with-its-test.ts"],
    pool: "forks",
    // Each worker has a cluster: the changes of one file would be noise for another. Two use two cores, because files mostly wait for their cluster.
    maxWorkers: process.env.KUBEREEL_TEST_KUBECONFIG ? 1 : 2,
    sequence: { sequencer: longestFirst(long) },
    // The cluster runs in real time: roll-outs and namespace deletions take seconds.
    expect: { poll: { timeout: patient(15_000) } },
    testTimeout: patient(90_000),
    hookTimeout: patient(60_000),
    allowOnly: false,
  },
})
