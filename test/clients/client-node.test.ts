/** An operator on @kubernetes/client-node, which needs no toolchain. Its single calls are tested in test/sandbox/clients. */

import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { runProgram } from "./running-program.ts"
import { enlargeShop, loseDeployment, openShop } from "./shop.ts"
import { withProgram } from "./with-program.ts"

const operator = fileURLToPath(new URL("./client-node/operator.ts", import.meta.url))

test("makes a Deployment for a ConfigMap, keeps it, and sees when it is ready", async () => {
  await withProgram(
    [],
    ({ kubeconfig }) => runProgram(process.execPath, [operator], { KUBECONFIG: kubeconfig }),
    async (surroundings) => {
      const { sandbox, troubles } = surroundings
      await openShop(surroundings)
      await loseDeployment(surroundings)
      await enlargeShop(surroundings)
      const managers = sandbox.get("apps/v1.Deployment", "default", "shop")?.metadata.managedFields
      expect(managers).toContainEqual(expect.objectContaining({ manager: "operator", operation: "Apply" }))
      expect(sandbox.requests.count({ resource: "deployments", verb: "watch" })).toBeGreaterThan(0)
      expect(troubles).toEqual([])
    },
  )
})
