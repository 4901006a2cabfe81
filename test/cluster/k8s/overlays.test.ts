/** Each overlay of k8s/ runs in a namespace that enforces the restricted standard, on nodes that simulate pods. */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, test } from "vitest"
import { stringify } from "yaml"
import { kubectl, kubectlJson } from "../command.ts"
import { at, textAt } from "../exact-json.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"
import { apply, type KubernetesObject, only, parseObjects, printManifests } from "./installation.ts"

const folder = fileURLToPath(new URL("../../../k8s", import.meta.url))

let cluster: TestCluster
let directory = ""
const created: Array<ReadonlyArray<KubernetesObject>> = []

/** Unlike the nodes of a test's cluster, it reports its disk size, as every kubelet does. */
const node: KubernetesObject = {
  apiVersion: "v1",
  kind: "Node",
  metadata: {
    name: `kubereel-${process.pid}`,
    labels: { type: "virtual" },
    annotations: { "kwok.x-k8s.io/node": "fake" },
  },
  status: {
    allocatable: { cpu: "4", memory: "8Gi", pods: "20", "ephemeral-storage": "50Gi" },
    capacity: { cpu: "4", memory: "8Gi", pods: "20", "ephemeral-storage": "50Gi" },
  },
}

beforeAll(async () => {
  cluster = await openTestCluster()
  created.push([node])
  await apply(cluster, [node])
  directory = await mkdtemp(join(tmpdir(), "kubereel-overlay-"))
})
afterAll(async () => {
  for (const objects of created)
    for (const { kind, metadata } of objects.filter((each) => each.metadata.namespace === undefined))
      await kubectl(cluster, "delete", kind, metadata.name, "--ignore-not-found", "--wait=false")
  await rm(directory, { recursive: true, force: true })
})

/** An overlay with names for this test: a cluster that tests share has at most one `kubereel`. */
const build = async (
  name: string,
  overlay: string,
  ...components: ReadonlyArray<string>
): Promise<ReadonlyArray<KubernetesObject>> => {
  const path = (...parts: ReadonlyArray<string>): string => relative(directory, join(folder, ...parts))
  const kustomization = {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    namespace: name,
    nameSuffix: `-${process.pid}`,
    resources: [path("overlays", overlay)],
    components: components.map((each) => path("components", each)),
  }
  await writeFile(join(directory, "kustomization.yaml"), stringify(kustomization))
  return parseObjects(await kubectl(cluster, "kustomize", directory))
}

/** A volume for a claim without a class: this cluster provisions none. */
const volume = (name: string): KubernetesObject => ({
  apiVersion: "v1",
  kind: "PersistentVolume",
  metadata: { name },
  spec: {
    capacity: { storage: "10Gi" },
    accessModes: ["ReadWriteOnce"],
    hostPath: { path: "/nowhere" },
    persistentVolumeReclaimPolicy: "Retain",
  },
})

test.each([
  ["tracer", []],
  ["dev", []],
  ["host", []],
  ["tracer", ["volume-claim"]],
])("overlay %s with components %j becomes available, and nothing is refused", async (overlay, components) => {
  const name = `kubereel-${process.pid}-${[overlay, ...components].join("-")}`
  const objects = await build(name, overlay, ...components)
  created.push([...objects, volume(name)])
  if (components.includes("volume-claim")) await apply(cluster, [volume(name)])
  // Pod security warns about what it would refuse; there must be no other warnings of "apply" either.
  expect(await apply(cluster, objects)).not.toMatch(/warning/i)
  const deployment = only(objects, "Deployment").metadata.name
  await kubectl(cluster, "wait", `deployment/${deployment}`, "--for=condition=Available", "-n", name, "--timeout=120s")
  const events = at(await kubectlJson(cluster, "get", "events", "-n", name), "items")
  const reasons = Array.isArray(events) ? events.map((event) => textAt(event, "reason")) : []
  expect(reasons).toContain("SuccessfulCreate")
  // It is available, so it has been scheduled; a claim may have been bound a moment after the pod was first tried.
  expect(reasons.filter((reason) => reason.startsWith("Failed") && reason !== "FailedScheduling")).toEqual([])
  // The namespace really enforces the standard that admitted the pod.
  const careless = { name: "careless", image: "nothing", securityContext: { privileged: true } }
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "careless", namespace: name },
    spec: { containers: [careless] },
  }
  await expect(apply(cluster, [pod])).rejects.toThrow(/violates PodSecurity "restricted/)
})

test("the components are what the options of reel k8s add", async () => {
  const directoryOf = (...parts: ReadonlyArray<string>): string => relative(directory, join(folder, ...parts))
  const kustomization = {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    resources: [directoryOf("overlays", "tracer")],
    components: [directoryOf("components", "volume-claim"), directoryOf("components", "monitoring")],
  }
  await writeFile(join(directory, "kustomization.yaml"), stringify(kustomization))
  const built = parseObjects(await kubectl(cluster, "kustomize", directory))
  expect(sorted(built)).toEqual(sorted(await printManifests(cluster, "--volume-claim", "--monitoring")))
})

/** Kustomize sorts members and objects; the rest must be the same. */
const sorted = (objects: ReadonlyArray<KubernetesObject>): ReadonlyArray<KubernetesObject> =>
  objects.toSorted((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1))
const nameOf = ({ kind, metadata }: KubernetesObject): string => `${kind}/${metadata.name}`
