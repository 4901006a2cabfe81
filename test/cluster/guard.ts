/**
 * Guards every test that writes to a cluster.
 *
 * The cluster is the one of KUBEREEL_TEST_KUBECONFIG and never that of KUBECONFIG, which people point at clusters they
 * work on. A cluster whose kube-system namespace is older than a day was not made for this test run and is refused.
 */

import { access, constants } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { type Connection, get, readConnection } from "./connection.ts"
import { textAt } from "./exact-json.ts"

/** A cluster that tests may write to. */
export interface TestCluster {
  /** Absolute path of the kubeconfig. */
  readonly kubeconfig: string
  /** Path of a kubectl: that of KUBECTL, else the one beside the kubeconfig, else the one on the PATH. */
  readonly kubectl: string
  readonly connection: Connection
}

/** Set to `1` to let tests write to a cluster that is older than a day. */
export const allowOldCluster = "KUBEREEL_TEST_ALLOW_OLD_CLUSTER"

/** A cluster made for tests is minutes old; one that survived a night is probably in use. */
const oldestMs = 24 * 60 * 60 * 1000

/** @throws Error if no cluster is named or the named one seems to be in use. */
export const openTestCluster = async (environment: NodeJS.ProcessEnv = process.env): Promise<TestCluster> => {
  const named = environment.KUBEREEL_TEST_KUBECONFIG
  if (named === undefined || named === "")
    throw new Error(
      "KUBEREEL_TEST_KUBECONFIG is not set: name the kubeconfig of a cluster that tests may write to " +
        "(test/cluster/control-plane/up starts one and prints it)",
    )
  const kubeconfig = resolve(named)
  const connection = await readConnection(kubeconfig)
  const { body, date } = await get(connection, "/api/v1/namespaces/kube-system")
  const created = textAt(body, "metadata", "creationTimestamp")
  // By the server's own clock: it stamped the namespace, and ours may differ.
  const ageMs = date - Date.parse(created)
  if (!(ageMs < oldestMs) && environment[allowOldCluster] !== "1")
    throw new Error(
      `the cluster ${connection.server} of KUBEREEL_TEST_KUBECONFIG is older than a day (kube-system since ${created}) ` +
        `and tests would write to it: use a fresh one, or set ${allowOldCluster}=1 if it is there for tests`,
    )
  const beside = join(dirname(kubeconfig), "kubectl")
  const isThere = await access(beside, constants.X_OK).then(
    () => true,
    () => false,
  )
  return { kubeconfig, kubectl: environment.KUBECTL ?? (isThere ? beside : "kubectl"), connection }
}
