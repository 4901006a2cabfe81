/** The cluster that the other tests get. */
import { expect, test } from "vitest"
import { kubectl } from "./command.ts"
import { openTestCluster } from "./guard.ts"

/** Such as `kwok-1 kwok-2`. */
const names = (list: string): ReadonlyArray<string> => list.split(" ").toSorted()

test("every fake node keeps a Lease: without one it is not ready each 50 s, and the Services lose its pods", async () => {
  const cluster = await openTestCluster()
  const path = ["-o", "jsonpath={.items[*].metadata.name}"]
  const nodes = await kubectl(cluster, "get", "nodes", "-l", "type=virtual", ...path)
  const leases = () => kubectl(cluster, "get", "leases", "--namespace", "kube-node-lease", ...path)
  // kwok makes them a moment after the nodes.
  await expect.poll(async () => names(await leases())).toEqual(expect.arrayContaining([...names(nodes)]))
})
