/** A manager of controller-runtime: leader election, cached reads, owned objects, patches. */

import { beforeAll, expect, test } from "vitest"
import { goProgram, type Program } from "./build/compiled-program.ts"
import { runProgram } from "./running-program.ts"
import { enlargeShop, loseDeployment, openShop } from "./shop.ts"
import { withProgram } from "./with-program.ts"

let program: Program

beforeAll(async () => {
  program = await goProgram("controller-runtime")
})

test("becomes the leader, makes a Deployment for a ConfigMap, keeps it, and sees when it is ready", async ({
  skip,
}) => {
  if ("missing" in program) return skip(`the manager was not built: ${program.missing}`)
  const { path } = program
  await withProgram(
    [],
    ({ kubeconfig }) => runProgram(path, [], { KUBECONFIG: kubeconfig }),
    async (surroundings) => {
      const { sandbox, troubles } = surroundings
      await openShop(surroundings)
      expect(sandbox.get("coordination.k8s.io/v1.Lease", "default", "manager.example.com")).toBeDefined()
      await loseDeployment(surroundings)
      await enlargeShop(surroundings)
      expect(troubles).toEqual([])
    },
  )
})
