/** The manifests of this project, applied to the sandbox as `kubectl apply --server-side` does. */
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { Sandbox } from "../../src/sandbox/index.ts"
import { imageNeeded, objectsOf, type PrintedObject, printed } from "./printed.ts"

const folder = fileURLToPath(new URL("../../k8s", import.meta.url))
const examples = fileURLToPath(new URL("../../examples/host", import.meta.url))
const simplePods = join(examples, "simplepod-crd.yaml")
const files = (await readdir(folder, { recursive: true }))
  .filter((path) => path.endsWith(".yaml") && !path.endsWith("kustomization.yaml"))
  .sort()

/** Kinds whose definitions come with other software: the Prometheus operator, kwok. */
const foreign: Readonly<Record<string, string>> = {
  "monitoring.coreos.com/v1.PodMonitor": "podmonitors",
  "monitoring.coreos.com/v1.PrometheusRule": "prometheusrules",
  "monitoring.coreos.com/v1.ServiceMonitor": "servicemonitors",
  "kwok.x-k8s.io/v1alpha1.Stage": "stages",
}

let sandbox: Sandbox
beforeEach(async () => {
  sandbox = await Sandbox.start({ lifecycle: true })
})
afterEach(() => sandbox.close())

const gvkOf = ({ apiVersion, kind }: PrintedObject): string => `${apiVersion}.${kind}`

/** The path of an object by discovery; `undefined` if the server has no such kind. */
const pathOf = async ({ apiVersion, kind, metadata }: PrintedObject): Promise<string | undefined> => {
  const base = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const answer = await fetch(`${sandbox.url}${base}`)
  if (answer.status === 404) return undefined
  const { resources } = (await answer.json()) as {
    readonly resources: ReadonlyArray<{ readonly name: string; readonly kind: string; readonly namespaced: boolean }>
  }
  const found = resources.find((each) => each.kind === kind && !each.name.includes("/"))
  if (found === undefined) return undefined
  const namespace = found.namespaced ? `/namespaces/${metadata.namespace ?? "default"}` : ""
  return `${base}${namespace}/${found.name}/${metadata.name}`
}

/** Applies the objects in order; what is not applied, with the reason. Kinds that the server lacks are left out. */
const apply = async (objects: ReadonlyArray<PrintedObject>): Promise<ReadonlyArray<string>> => {
  const refused: Array<string> = []
  for (const object of objects) {
    const path = await pathOf(object)
    if (path === undefined) {
      expect(Object.keys(foreign)).toContain(gvkOf(object))
      continue
    }
    const answer = await fetch(`${sandbox.url}${path}?fieldManager=test&fieldValidation=Strict`, {
      method: "PATCH",
      headers: { "Content-Type": "application/apply-patch+yaml" },
      body: JSON.stringify(object),
    })
    const text = await answer.text()
    if (!answer.ok) refused.push(`${gvkOf(object)} ${object.metadata.name}: ${text}`)
  }
  return refused
}

/** What the manifests of this project are beside: the namespaces of other software, kinds of the example. */
const prepare = async (objects: ReadonlyArray<PrintedObject>): Promise<void> => {
  for (const namespace of new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? [])))
    if (
      namespace !== "default" &&
      !objects.some((each) => each.kind === "Namespace" && each.metadata.name === namespace)
    )
      sandbox.put("v1.Namespace", { metadata: { name: namespace } })
  for (const [gvk, plural] of Object.entries(foreign)) {
    const [apiVersion = "", kind = ""] = gvk.split(/\.(?=[A-Z])/)
    const [group = "", version = ""] = apiVersion.split("/")
    sandbox.register({ gvk: { group, version, kind }, plural, namespaced: kind !== "Stage" })
  }
}

describe("To the sandbox", () => {
  test.each(files)("the file k8s/%s is applied twice, without a field that the server does not know", async (file) => {
    const objects = objectsOf(await readFile(join(folder, file), "utf8"))
    expect(objects.length).toBeGreaterThan(0)
    await prepare(objects)
    expect(await apply(objects)).toEqual([])
    expect(await apply(objects)).toEqual([])
  })

  test.each([
    ["the default", "--offline"],
    [
      "a claim, monitoring, no authorization",
      "--offline --volume-claim --monitoring --auth none --allow-from 10.0.0.0/8",
    ],
    ["tokens, stores", "--offline --auth token --allow-target s3://traces/shop --target-secret store-access"],
    ["two namespaces", "--offline --record-namespace shop,stock --auth none"],
    [
      "modules in a claim",
      `--host ${join(examples, "typescript")} --crd ${simplePods} --offline --modules claim/modules --monitoring`,
    ],
    ["modules in ConfigMaps", `--host ${join(examples, "typescript")} --crd ${simplePods} --offline`],
    ["Simulations", "--simulation"],
  ])("what reel k8s prints for %s is applied", async (_, words) => {
    const { code, objects } = await printed(...words.split(" "))
    expect(code).toBe(0)
    await prepare(objects)
    expect(await apply(objects)).toEqual([])
  })

  test("what has to be there before is said: the image, and the Prometheus operator", async () => {
    expect((await printed("--offline")).error).toBe(imageNeeded())
    const { error } = await printed("--offline", "--monitoring", "--image", "registry.example.com/kubereel:1")
    expect(error).toBe(
      "reel k8s: the nodes must be able to pull the image registry.example.com/kubereel:1\n" +
        "reel k8s: the cluster must have the Prometheus operator, for ServiceMonitor and PrometheusRule\n",
    )
  })

  test("without the Prometheus operator all but its own kinds are applied", async () => {
    const { objects } = await printed("--offline", "--monitoring")
    expect(await apply(objects)).toEqual([])
    expect(objects.map(gvkOf)).toContain("monitoring.coreos.com/v1.ServiceMonitor")
    expect(sandbox.get("networking.k8s.io/v1.NetworkPolicy", "kubereel", "kubereel")).toBeDefined()
  })
})
