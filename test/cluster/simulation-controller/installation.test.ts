/** The overlay of Simulations is what a real API server takes, and its kinds refuse the same there and in a sandbox. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, test } from "vitest"
import { ApiClient, type ApiObject, loadCredentials } from "../../../src/kube/index.ts"
import { LocalCluster } from "../../../src/sandbox/index.ts"
import { simulationDefinitions, simulationKind } from "../../../src/simulation/index.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { until } from "../../recorder/recorder/recorder-command.ts"
import { kubectl } from "../command.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"
import { apply, type KubernetesObject, parseObjects } from "../k8s/installation.ts"

const overlay = fileURLToPath(new URL("../../../k8s/overlays/simulation", import.meta.url))
const crds = fileURLToPath(new URL("../../../k8s/crds", import.meta.url))

/** kwok's kind, of which the overlay has objects, as far as they need it. */
const stages: KubernetesObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "stages.kwok.x-k8s.io" },
  spec: {
    group: "kwok.x-k8s.io",
    names: { kind: "Stage", plural: "stages", singular: "stage" },
    scope: "Cluster",
    versions: [
      {
        ...{ name: "v1alpha1", served: true, storage: true },
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
}

let cluster: TestCluster
beforeAll(async () => {
  cluster = await openTestCluster()
  await apply(cluster, [stages])
  await kubectl(cluster, "apply", "-k", crds)
  await kubectl(cluster, "wait", "--for=condition=Established", "--timeout=60s", "crd/stages.kwok.x-k8s.io")
  await kubectl(cluster, "wait", "--for=condition=Established", "--timeout=60s", "-f", join(crds, "simulations.yaml"))
})
afterAll(async () => {
  await kubectl(cluster, "delete", "-k", crds, "--ignore-not-found")
  await kubectl(cluster, "delete", "crd", "stages.kwok.x-k8s.io", "--ignore-not-found")
})

test("every manifest of the overlay passes a dry run on the server", async () => {
  const objects = parseObjects(await kubectl(cluster, "kustomize", overlay))
  expect(objects.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["Deployment", "Stage", "ClusterRole"]))
  // Its own namespace does not exist, and a dry run makes none.
  const moved = objects.map((each) => ({
    ...each,
    metadata: { ...each.metadata, ...(each.metadata.namespace !== undefined && { namespace: "default" }) },
  }))
  const file = join(temporaryDirectory(), "objects.json")
  writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: moved }))
  const printed = await kubectl(cluster, "apply", "--server-side", "--dry-run=server", "--force-conflicts", "-f", file)
  const lines = printed.trim().split("\n")
  expect(lines).toHaveLength(objects.length)
  for (const line of lines) expect(line).toMatch(/serverside-applied \(server dry run\)$/)
})

const driver = { image: "kubereel", namespace: "simkube", port: 8888, tracePath: "s3://traces/demo.sktrace" }
const unusable: ReadonlyArray<readonly [what: string, spec: Readonly<Record<string, unknown>>]> = [
  ["no driver", {}],
  ["no speed", { driver, speed: 0 }],
  ["a negative speed", { driver, speed: -1 }],
  ["no repetitions", { driver, repetitions: 0 }],
  ["an address of no known form", { driver: { ...driver, tracePath: "ftp://traces/demo" } }],
  ["a relative path", { driver: { ...driver, tracePath: "traces/demo" } }],
  ["a namespace with capitals", { driver: { ...driver, namespace: "SimKube" } }],
  ["a port that is none", { driver: { ...driver, port: 70_000 } }],
  ["a hook that may take no time", { driver, hooks: { preRunHooks: [{ cmd: "true", timeout: "0s" }] } }],
  ["a speed that is a text", { driver, speed: "fast" }],
]

test("a sandbox refuses the same Simulations as the API server, with the same words", async () => {
  await using sandbox = await LocalCluster.start({ nodes: 0 })
  const credentials = await loadCredentials({ kubeconfig: cluster.kubeconfig, context: undefined })
  const real = new ApiClient({ server: credentials, userAgent: "kubereel-test" })
  const local = sandbox.client
  try {
    const definitions = { gvk: { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" } }
    const kind = { ...definitions, plural: "customresourcedefinitions", namespaced: false }
    for (const each of simulationDefinitions()) await local.create(kind, each as unknown as ApiObject)
    const tried = (api: ApiClient, spec: object): Promise<string> =>
      api
        .create(
          simulationKind,
          { apiVersion: "simkube.io/v1", kind: "Simulation", metadata: { name: "bad" }, spec } as ApiObject,
          { dryRun: true },
        )
        .then(
          () => "accepted",
          (error: Error) => error.message.replace(/^.*?Simulation/, "Simulation"),
        )
    await until(
      async () => (await tried(local, { driver })) === "accepted",
      () => "the kind in the sandbox",
    )
    const words = await Promise.all(
      unusable.map(async ([what, spec]) => [what, await tried(real, spec), await tried(local, spec)] as const),
    )
    for (const [what, there, here] of words) {
      expect(there, what).toContain("is invalid")
      expect(here, what).toBe(there)
    }
    expect(await tried(real, { driver })).toBe("accepted")
  } finally {
    real.close()
  }
})
