/** The example in examples/host/typescript as its users run it: a process of its own, which a kubeconfig leads to a sandbox. */

import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, onTestFinished, test } from "vitest"
import { parse } from "yaml"
import type { ApiObject, Pod } from "../../../src/host/controllers.ts"
import { type Kind, kinds } from "../../../src/kube/index.ts"
import { kubeconfigOf, LocalCluster } from "../../../src/sandbox/index.ts"
import { eventually } from "../../harness/eventually.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"

const folder = fileURLToPath(new URL("../../../examples/host/typescript", import.meta.url))

const definitions: Kind = {
  gvk: { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" },
  plural: "customresourcedefinitions",
  namespaced: false,
}
const simplePods: Kind = {
  gvk: { group: "slinky.dev", version: "v1", kind: "SimplePod" },
  plural: "simplepods",
  namespaced: true,
}

interface SimplePod extends ApiObject {
  readonly status?: { readonly phase?: string; readonly conditions?: ReadonlyArray<{ readonly status: string }> }
}

test("The example keeps a pod for each SimplePod, replaces it with the image, and ends in order", async () => {
  const cluster = await LocalCluster.start()
  onTestFinished(() => cluster.close())
  const kubeconfig = join(temporaryDirectory(), "kubeconfig")
  writeFileSync(kubeconfig, kubeconfigOf(cluster.sandbox.url))
  const example = spawn(process.execPath, [join(folder, "simplepod.ts")], {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ["ignore", "inherit", "pipe"],
  })
  onTestFinished(() => void example.kill("SIGKILL"))
  const exited = once(example, "exit")
  let complaints = ""
  example.stderr.on("data", (text) => {
    complaints += String(text)
  })

  // It waits for its kind.
  await eventually(() => expect(complaints).toContain("waiting for slinky.dev/v1.SimplePod: it is not installed"))
  const { client } = cluster
  await client.create(definitions, parse(readFileSync(join(folder, "../simplepod-crd.yaml"), "utf8")))
  const place = { namespace: "default", name: "web" }
  const object = { apiVersion: "slinky.dev/v1", kind: "SimplePod", metadata: place, spec: { image: "nginx:1" } }
  await eventually(() => client.create(simplePods, object))
  const isReady = async (): Promise<void> => {
    const { status } = await client.get<SimplePod>(simplePods, place)
    expect(status).toMatchObject({ phase: "Running", conditions: [{ status: "True", reason: "PodReady" }] })
  }
  await eventually(isReady)
  const first = await client.get<Pod>(kinds.pods, place)
  expect(first.metadata.ownerReferences).toMatchObject([{ kind: "SimplePod", name: "web", controller: true }])

  await client.patch(simplePods, place, "merge", { spec: { image: "nginx:2", args: ["-v"] } })
  await eventually(async () => {
    const pod = await client.get<Pod>(kinds.pods, place)
    expect(pod.spec.containers).toMatchObject([{ image: "nginx:2", args: ["-v"] }])
    expect(pod.metadata.uid).not.toBe(first.metadata.uid)
  })
  await eventually(isReady)
  await eventually(async () => {
    const { items } = await client.list<ApiObject & { readonly reason: string }>(kinds.events, { namespace: "default" })
    expect(items.map(({ reason }) => reason)).toContain("PodReplaced")
  })

  await client.delete(simplePods, place)
  await eventually(async () => expect((await client.list(kinds.pods)).items).toEqual([]))
  example.kill("SIGTERM")
  expect(await exited).toEqual([0, null])
  expect(complaints.trim().split("\n")).toEqual([expect.stringContaining("waiting for slinky.dev/v1.SimplePod")])
})
