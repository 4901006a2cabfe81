/** An operator on fabric8's client, over both of its usual HTTP clients: its informers watch over WebSockets. */

import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { beforeAll, expect, test } from "vitest"
import { kinds } from "../../src/kube/index.ts"
import { eventually } from "../harness/eventually.ts"
import { javaPackages, type Packages } from "./build/installed-packages.ts"
import { runProgram } from "./running-program.ts"
import { enlargeShop, openShop } from "./shop.ts"
import { skipBecause } from "./skip-because.ts"
import { withProgram } from "./with-program.ts"

const operator = fileURLToPath(new URL("./fabric8/Operator.java", import.meta.url))
let packages: Packages

beforeAll(async () => {
  packages = await javaPackages("fabric8/pom.xml")
})

test.for(["vertx", "jdk"])(
  "leads, hears of every change, applies, waits and patches, on %s",
  async (http, { skip }) => {
    if ("missing" in packages) return skipBecause(skip, `fabric8 was not installed: ${packages.missing}`)
    const words = ["-cp", join(packages.folder, "*"), operator, http]
    const lease = { namespace: "default", name: "fabric8" }
    await withProgram(
      [],
      ({ kubeconfig }) => runProgram("java", words, { KUBECONFIG: kubeconfig }),
      async (surroundings, program) => {
        const { sandbox, api, troubles } = surroundings
        const held = () => sandbox.get("coordination.k8s.io/v1.Lease", "default", lease.name)?.spec
        await eventually(() => expect(program.output()).toContain("synced true"))
        expect(program.output()).toContain("leader only-one")
        expect(held()).toMatchObject({ holderIdentity: "only-one", leaseTransitions: expect.any(Number) })
        await openShop(surroundings)
        const managers = sandbox.get("apps/v1.Deployment", "default", "shop")?.metadata.managedFields
        expect(managers).toContainEqual(expect.objectContaining({ manager: "fabric8", operation: "Apply" }))
        await enlargeShop(surroundings)
        await api.delete(kinds.configMaps, { namespace: "default", name: "shop" })
        const lines = () => program.output().split("\n")
        const heard = () => lines().filter((line) => line.includes("shop="))
        const noted = "updated shop=2 to shop=2"
        const changes = [
          "added shop=2",
          noted,
          "updated shop=2 to shop=3",
          "updated shop=3 to shop=3",
          "deleted shop=3",
        ]
        await eventually(() => expect(heard()).toEqual(changes))
        const watches = sandbox.requests.entries({ resource: "configmaps", verb: "watch" })
        expect(watches.map(({ status }) => status)).toContain(101)
        await program.stop()
        // It releases a Lease by shortening it: a merge patch without the holder leaves the holder as it is.
        expect(held()).toMatchObject({ leaseDurationSeconds: 1 })
        expect(troubles).toEqual([])
      },
    )
  },
)
