/** A manager of controller-runtime: leader election, cached reads, owned objects, patches. */

import { execFile } from "node:child_process"
import { mkdir } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { beforeAll, expect, test } from "vitest"
import { kinds } from "../../src/kube/client/kinds.ts"
import { eventually } from "../harness/eventually.ts"
import { runProgram } from "./running-program.ts"
import { withProgram } from "./with-program.ts"

const sources = fileURLToPath(new URL("./controller-runtime/", import.meta.url))
let program: { readonly path: string } | { readonly missing: string }

beforeAll(async () => {
  program = await build()
})

/** Kept in the user's cache directory; Go itself finds out whether it is up to date. */
const build = async (): Promise<typeof program> => {
  const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "kubereel-clients")
  const path = join(folder, "controller-runtime")
  await mkdir(folder, { recursive: true })
  const env = { ...process.env, GOTOOLCHAIN: "local", GOFLAGS: "-buildvcs=false -mod=readonly", GOWORK: "off" }
  try {
    await promisify(execFile)("go", ["build", "-trimpath", "-o", path, "."], { cwd: sources, env })
    return { path }
  } catch (cause) {
    const { code, stderr = "" } = cause as { code?: unknown; stderr?: string }
    if (code === "ENOENT") return { missing: "Go is not installed" }
    // Without a network the modules may be missing; a program that does not compile is a failure.
    if (/dial tcp|no such host|requires go >=|module lookup disabled/.test(stderr))
      return { missing: stderr.trim().split("\n").at(-1) ?? "" }
    throw cause
  }
}

test("becomes the leader, makes a Deployment for a ConfigMap, keeps it, and sees when it is ready", async ({
  skip,
}) => {
  if ("missing" in program) return skip(`the manager was not built: ${program.missing}`)
  const { path } = program
  await withProgram(
    [],
    ({ kubeconfig }) => runProgram(path, [], { KUBECONFIG: kubeconfig }),
    async ({ sandbox, api, troubles }) => {
      await api.create(kinds.configMaps, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "shop", namespace: "default", labels: { app: "shop" } },
        data: { replicas: "2" },
      })
      const shop = { namespace: "default", name: "shop" }
      const readyOf = () => {
        const annotations = sandbox.get("v1.ConfigMap", "default", "shop")?.metadata.annotations
        return (annotations as Record<string, string> | undefined)?.["example.com/ready"]
      }
      await eventually(() => expect(readyOf()).toBe("2"))
      expect(sandbox.get("coordination.k8s.io/v1.Lease", "default", "manager.example.com")).toBeDefined()
      await api.delete(kinds.deployments, shop)
      await eventually(() => {
        const owners = sandbox.get("apps/v1.Deployment", "default", "shop")?.metadata.ownerReferences
        expect(owners).toEqual([expect.objectContaining({ kind: "ConfigMap", name: "shop", controller: true })])
      })
      await api.patch(kinds.configMaps, shop, "merge", { data: { replicas: "3" } })
      await eventually(() => expect(readyOf()).toBe("3"))
      expect(troubles).toEqual([])
    },
  )
})
