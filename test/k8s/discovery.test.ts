/** Kinds are looked up in the cluster if one is given, and otherwise in the table. */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { builtInKinds, discoverBuiltIn } from "../../src/k8s/index.ts"
import { discover, HttpClient } from "../../src/kube/index.ts"
import { parseGvk } from "../../src/kube/offline.ts"
import { kubeconfigOf, Sandbox } from "../../src/sandbox/index.ts"
import { imageNeeded, printed } from "./printed.ts"

let sandbox: Sandbox
let directory = ""
let kubeconfig = ""
beforeAll(async () => {
  sandbox = await Sandbox.start()
  directory = await mkdtemp(join(tmpdir(), "kubereel-k8s-"))
  kubeconfig = join(directory, "kubeconfig")
  await writeFile(kubeconfig, kubeconfigOf(sandbox.url))
})
afterAll(async () => {
  await sandbox.close()
  await rm(directory, { recursive: true, force: true })
})

test("the table agrees with an API server for every kind in it", async () => {
  const client = new HttpClient(sandbox.endpoint, { userAgent: "test" })
  let compared = 0
  for (const name of builtInKinds) {
    const gvk = parseGvk(name)
    if (gvk === undefined) throw new Error(name)
    const expected = await discover(client, gvk)
    if (expected.tag !== "found") continue
    // Rights need no other names, and the table has none.
    const { verbs: _, singular: __, shortNames: ___, categories: ____, ...resource } = expected.resource
    expect(discoverBuiltIn(gvk)).toMatchObject({ tag: "found", resource })
    compared += 1
  }
  client.close()
  expect(compared).toBeGreaterThan(30)
})

test("the name of a built-in property of objects is not a kind", () => {
  expect(discoverBuiltIn({ group: "apps", version: "v1", kind: "constructor" }).tag).toBe("absent")
  expect(discoverBuiltIn({ group: "", version: "constructor", kind: "name" }).tag).toBe("absent")
})

test("discovery gives the same manifests for the default configuration", async () => {
  expect((await printed("--kubeconfig", kubeconfig)).text).toBe((await printed("--offline")).text)
})

test("a custom kind of the cluster is found by discovery", async () => {
  const config = join(directory, "tracer.yml")
  await writeFile(config, "trackedObjects:\n  example.com/v1.Foot: {}\n")
  sandbox.register({ gvk: { group: "example.com", version: "v1", kind: "Foot" }, plural: "feet", namespaced: true })
  const { code, error, named } = await printed("--kubeconfig", kubeconfig, "-c", config)
  expect({ code, error }).toEqual({ code: 0, error: imageNeeded() })
  const rules = named("ClusterRole", "kubereel").flatMap((role) => role.rules)
  expect(rules[0]).toEqual({
    apiGroups: ["example.com"],
    resources: ["feet"],
    verbs: ["list", "watch"],
  })
  // Another server may provide it.
  expect(rules).toContainEqual({
    apiGroups: ["apiregistration.k8s.io"],
    resources: ["apiservices"],
    verbs: ["list"],
  })
})

test("a cluster that does not respond is an error, not a cluster without kinds", async () => {
  const broken = join(directory, "broken")
  await writeFile(broken, kubeconfigOf("http://127.0.0.1:1"))
  const { code, text, error } = await printed("--kubeconfig", broken)
  expect({ code, text }).toEqual({ code: 1, text: "" })
  expect(error).toMatch(
    /^reel k8s: the API server cannot be reached: .*: connection refused; is the API server running, .*\n$/,
  )
})

test("without a cluster it says that one is not always needed", async () => {
  const { code, error } = await printed("--kubeconfig", join(directory, "nothing"))
  expect(code).toBe(1)
  expect(error).toContain("--offline")
})
