/** The Python client in a script, and an operator on kopf. */

import { fileURLToPath } from "node:url"
import { beforeAll, expect, test } from "vitest"
import { kinds } from "../../src/kube/index.ts"
import { eventually } from "../harness/eventually.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { type Packages, pythonIn, pythonPackages } from "./build/installed-packages.ts"
import { cafe, cafeDefinition, cafes, definitions } from "./cafes.ts"
import { runProgram, runToEnd } from "./running-program.ts"
import { skipBecause } from "./skip-because.ts"
import { withCluster, withProgram } from "./with-program.ts"

const sourceOf = (name: string): string => fileURLToPath(new URL(`./python/${name}`, import.meta.url))
let packages: Packages

beforeAll(async () => {
  packages = await pythonPackages("python/requirements.txt")
})

test("a script creates, lists in pages, watches, patches in every way, is refused exec with 501, and deletes", async ({
  skip,
}) => {
  if ("missing" in packages) return skipBecause(skip, `the Python client was not installed: ${packages.missing}`)
  const python = pythonIn(packages.folder)
  await withCluster([], async ({ sandbox, kubeconfig, troubles }) => {
    // Its dynamic client keeps what it discovered in a temporary file.
    const environment = { KUBECONFIG: kubeconfig, TMPDIR: temporaryDirectory() }
    const { code, output, errors } = await runToEnd(python, [sourceOf("script.py")], environment)
    expect(errors).toBe("")
    expect(output.trim().split("\n")).toEqual([
      "watch: ready",
      "list: 2 pages",
      "patch: scaled",
      "patch: strategic, JSON, applied",
      "exec: 501",
      "dynamic: created, applied, deleted",
      "delete: with all Pods",
    ])
    expect(code).toBe(0)
    expect(sandbox.ledger.of("v1.Pod").filter(({ action }) => action === "deleted").length).toBeGreaterThanOrEqual(3)
    expect(troubles).toEqual([])
  })
})

test("a kopf operator handles creation, update and deletion of a custom kind", async ({ skip }) => {
  if ("missing" in packages) return skipBecause(skip, `kopf was not installed: ${packages.missing}`)
  const python = pythonIn(packages.folder)
  const words = ["-m", "kopf", "run", "--standalone", "--namespace=default", "--log-format=plain", sourceOf("cafes.py")]
  await withProgram(
    [],
    async ({ api, kubeconfig }) => {
      await api.create(definitions, cafeDefinition)
      return runProgram(python, words, { KUBECONFIG: kubeconfig, PYTHONDONTWRITEBYTECODE: "1" })
    },
    async ({ sandbox, api, troubles }, program) => {
      const target = { namespace: "default", name: "corner" }
      const corner = () => sandbox.get("example.com/v1.Cafe", "default", "corner")
      const menu = () => sandbox.get("v1.ConfigMap", "default", "corner")
      await api.create(cafes, cafe("corner", { tables: 2 }))
      await eventually(() => expect(corner()?.status).toMatchObject({ opened: { tables: 2 } }))
      expect(corner()?.metadata.finalizers).toEqual(["kopf.zalando.org/KopfFinalizerMarker"])
      expect(menu()).toMatchObject({ data: { tables: "2" }, metadata: { ownerReferences: [{ name: "corner" }] } })
      await api.patch(cafes, target, "merge", { spec: { tables: 5 } })
      await eventually(() => expect(corner()?.status).toMatchObject({ "rearranged/spec.tables": { from: 2, to: 5 } }))
      expect(menu()?.data).toEqual({ tables: "5" })
      const pod = { name: "waiter", namespace: "default", labels: { cafe: "corner" } }
      const spec = { containers: [{ name: "c", image: "x" }] }
      await api.create(kinds.pods, { apiVersion: "v1", kind: "Pod", metadata: pod, spec })
      await eventually(() => expect(program.output()).toContain("pod of corner: MODIFIED Running"))
      await api.delete(cafes, target)
      await eventually(() => expect([corner(), menu()]).toEqual([undefined, undefined]))
      expect(sandbox.get("v1.ConfigMap", "default", "corner-closed")).toBeDefined()
      expect(sandbox.list("v1.Event")).toContainEqual(
        expect.objectContaining({ reason: "Opened", message: "with 2 tables", involvedObject: expect.anything() }),
      )
      expect(troubles).toEqual([])
    },
  )
})
