/**
 * `reel record --all` on a real control plane: of every kind it has the objects that kubectl shows, without a gap, and a kind that is installed meanwhile is
 * recorded within seconds.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { eventually } from "../../harness/eventually.ts"
import { kubectl, type Recorder, startRecorder } from "../command.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"

const namespace = `every-kind-${process.pid}`
const group = `every-kind-${process.pid}.example.com`
const gears = `gears.${group}`

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${gears}}
spec:
  group: ${group}
  scope: Namespaced
  names: {plural: gears, singular: gear, kind: Gear, listKind: GearList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`
const gear = `{apiVersion: ${group}/v1, kind: Gear, metadata: {name: first, namespace: ${namespace}}, spec: {size: 7}}\n`

let cluster: TestCluster
let directory = ""
let recorder: Recorder | undefined

beforeAll(async () => {
  cluster = await openTestCluster()
  directory = await mkdtemp(join(tmpdir(), "kubereel-every-kind-"))
  await mkdir(join(directory, "data"))
  recorder = await startRecorder(cluster, undefined, join(directory, "data"))
})
afterAll(async () => {
  await recorder?.stop()
  await kubectl(cluster, "delete", "crd", gears, "--ignore-not-found")
  await kubectl(cluster, "delete", "namespace", namespace, "--ignore-not-found", "--wait=false")
  await rm(directory, { recursive: true, force: true })
})

const apply = async (text: string): Promise<void> => {
  const file = join(directory, "manifest.yml")
  await writeFile(file, text)
  await kubectl(cluster, "apply", "-f", file)
}

interface RecordedKind {
  readonly gvk: string
  readonly discovered: { readonly plural: string }
}

interface Named {
  readonly namespace?: string
  readonly name: string
}

interface Answer<Item> {
  readonly isComplete: boolean
  readonly gaps: ReadonlyArray<unknown>
  readonly items: ReadonlyArray<Item>
}

const ask = async <Item>(path: string): Promise<Answer<Item>> => {
  const response = await fetch(`${recorder?.address}${path}`)
  if (response.status !== 200) throw new Error(`${path}: HTTP ${response.status}: ${await response.text()}`)
  return (await response.json()) as Answer<Item>
}

const names = (objects: ReadonlyArray<Named>): ReadonlyArray<string> =>
  objects.map((object) => `${object.namespace ?? ""}/${object.name}`).sort()

/** The path of a kind's list of all namespaces. */
const listOf = ({ gvk, discovered }: RecordedKind): string => {
  const [, group, version] = /^(?:(.+)\/)?([^./]+)\./.exec(gvk) ?? []
  return `${group === undefined ? "/api" : `/apis/${group}`}/${version}/${discovered.plural}`
}

const recordedObjects = async ({ gvk }: RecordedKind) => {
  const { items, isComplete, gaps } = await ask<Named>(`/v1/objects?kind=${encodeURIComponent(gvk)}&limit=5000`)
  return { names: names(items), isComplete, gaps }
}

const shownObjects = async (kind: RecordedKind) => {
  const { items } = JSON.parse(await kubectl(cluster, "get", "--raw", listOf(kind))) as {
    readonly items: ReadonlyArray<{ readonly metadata: Named }> | null
  }
  return names((items ?? []).map(({ metadata }) => metadata))
}

test("a kind that is installed while it records is recorded within seconds", { timeout: 60_000 }, async () => {
  await kubectl(cluster, "create", "namespace", namespace)
  await apply(definition)
  await kubectl(cluster, "wait", "--for=condition=Established", `crd/${gears}`)
  await apply(gear)
  await eventually(async () => {
    const { items } = await ask<RecordedKind>("/v1/kinds")
    expect(items.map(({ gvk }) => gvk)).toContain(`${group}/v1.Gear`)
    expect(await recordedObjects({ gvk: `${group}/v1.Gear`, discovered: { plural: "gears" } })).toEqual({
      ...{ names: [`${namespace}/first`], isComplete: true, gaps: [] },
    })
  })
})

test("of every kind it has the objects that kubectl shows, without a gap, in little memory", async () => {
  await kubectl(cluster, "-n", namespace, "create", "configmap", "gone", "--from-literal=n=1")
  await kubectl(cluster, "-n", namespace, "delete", "configmap", "gone")
  await kubectl(cluster, "-n", namespace, "create", "deployment", "web", "--image=web:1", "--replicas=2")
  await kubectl(cluster, "-n", namespace, "rollout", "status", "deployment/web", "--timeout=20s")
  const { items: kinds } = await ask<RecordedKind>("/v1/kinds")
  expect(kinds.length).toBeGreaterThan(30)
  for (const kind of kinds)
    await eventually(async () =>
      expect({ kind: kind.gvk, ...(await recordedObjects(kind)) }).toEqual({
        ...{ kind: kind.gvk, names: await shownObjects(kind), isComplete: true, gaps: [] },
      }),
    )
  const ready = await fetch(`${recorder?.address}/readyz?verbose`)
  expect(await ready.text()).toMatch(/^\[\+\](\d+) of \1 kinds watching\n/)
  const metrics = await (await fetch(`${recorder?.address}/metrics`)).text()
  expect(Number(/^process_resident_memory_bytes (\S+)/m.exec(metrics)?.[1])).toBeLessThan(500e6)
})
