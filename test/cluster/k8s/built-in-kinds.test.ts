/** `reel k8s --offline` knows the kinds of this Kubernetes as its API server does. */
import { execFile } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, test } from "vitest"
import { kubectl } from "../command.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"

const run = promisify(execFile)
const reel = fileURLToPath(new URL("../../../bin/reel.js", import.meta.url))

let cluster: TestCluster
let directory = ""
beforeAll(async () => {
  cluster = await openTestCluster()
  directory = await mkdtemp(join(tmpdir(), "kubereel-kinds-"))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

interface ResourceList {
  readonly resources: ReadonlyArray<{
    readonly name: string
    readonly kind: string
    readonly verbs: ReadonlyArray<string>
  }>
}

/** Kinds of stable versions that can be recorded, custom ones left out. */
const kindsOfCluster = async (): Promise<ReadonlyArray<string>> => {
  const raw = async (path: string) => JSON.parse(await kubectl(cluster, "get", "--raw", path)) as unknown
  const { groups } = (await raw("/apis")) as {
    readonly groups: ReadonlyArray<{
      readonly name: string
      readonly versions: ReadonlyArray<{ readonly groupVersion: string }>
    }>
  }
  const stable = groups
    .filter(({ name }) => !name.includes(".") || name.endsWith(".k8s.io"))
    .flatMap(({ versions }) => versions.map(({ groupVersion }) => groupVersion))
    .filter((groupVersion) => /\/v\d+$/.test(groupVersion))
  const kinds = await Promise.all(
    ["v1", ...stable].map(async (version) => {
      const { resources } = (await raw(version === "v1" ? "/api/v1" : `/apis/${version}`)) as ResourceList
      return resources
        .filter(({ name, verbs }) => !name.includes("/") && verbs.includes("watch"))
        .map(({ kind }) => `${version}.${kind}`)
    }),
  )
  return kinds.flat()
}

test("manifests for all of them are the same with and without the API server", async () => {
  const kinds = await kindsOfCluster()
  expect(kinds.length).toBeGreaterThan(40)
  const config = join(directory, "all.yml")
  await writeFile(config, `trackedObjects:\n${kinds.map((kind) => `  ${kind}: {}\n`).join("")}`)
  const print = async (...words: ReadonlyArray<string>): Promise<string> =>
    (await run(process.execPath, [reel, "k8s", "-c", config, ...words])).stdout
  expect(await print("--offline")).toBe(await print("--kubeconfig", cluster.kubeconfig))
})
