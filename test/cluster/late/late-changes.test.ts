/**
 * Late is not live, on a real control plane: while two recorders are cut off, one killed and one behind a network that passes nothing, and
 * while the API server is down, the cluster lives on under the eyes of an observer. Afterwards every change that was received late says so; its bounds
 * contain the time at which it happened, and the estimates come close.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { isThorough } from "../../harness/effort.ts"
import { churn, kubectl, type Recorder, startRecorder } from "../command.ts"
import { OwnControlPlane } from "../k8s/own-control-plane.ts"
import { Relay } from "../k8s/relay.ts"
import { TimedObserver } from "./timed-observer.ts"

/** s; the thorough form has the lengths of real incidents. */
const [killedFor, heldFor, downFor] = isThorough() ? [30, 20, 60] : [12, 9, 8]

const kinds: ReadonlyMap<string, string> = new Map([
  ["apps/v1.Deployment", "/apis/apps/v1/deployments"],
  ["apps/v1.ReplicaSet", "/apis/apps/v1/replicasets"],
  ["apps/v1.StatefulSet", "/apis/apps/v1/statefulsets"],
  ["apps/v1.DaemonSet", "/apis/apps/v1/daemonsets"],
  ["batch/v1.Job", "/apis/batch/v1/jobs"],
  ["batch/v1.CronJob", "/apis/batch/v1/cronjobs"],
  ["v1.Pod", "/api/v1/pods"],
  ["v1.ConfigMap", "/api/v1/configmaps"],
])

interface Judged {
  readonly gvk: string
  readonly action: string
  readonly isLate: boolean
  readonly isWithinBounds: boolean
  /** s by which the estimate is off. */
  readonly error: number
}

/** A line of a trace, as far as this test reads it. Times are µs. */
interface Line {
  readonly gvk: string
  readonly action?: string
  readonly uid: string
  readonly resourceVersion: string
  readonly time: number
  readonly received?: number
}

interface Range {
  readonly gvk: string
  readonly notBefore: number
  readonly notAfter: number
  readonly receivedFrom: number
  readonly receivedTo: number
}

/** µs by which the observer may see a change later than it happened. */
const observedWithin = 250_000

/** Each recorded event of which the observer knows when it happened. */
const judge = async (recorder: Recorder): Promise<ReadonlyArray<Judged>> => {
  const request = { start_ts: 0, end_ts: 4_000_000_000, export_path: "file:///export", format: "ndjson" }
  const filters = { excluded_namespaces: [], excluded_labels: [] }
  const response = await fetch(`${recorder.address}/export`, {
    method: "POST",
    body: JSON.stringify({ ...request, filters }),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`the export failed with ${response.status}: ${text}\n${recorder.log()}`)
  const [header = "", ...lines] = text.trimEnd().split("\n")
  const { late: ranges = [] } = JSON.parse(header) as { readonly late?: ReadonlyArray<Range> }
  const judged: Array<Judged> = []
  for (const line of lines) {
    const { gvk, action = "", uid, resourceVersion, time, received } = JSON.parse(line) as Line
    const trueMs = observer.seen.get(`${uid} ${resourceVersion}`)
    if (trueMs === undefined) continue
    const micros = trueMs * 1000
    const isWithinBounds = ranges.some(
      (range) =>
        received !== undefined &&
        range.gvk === gvk &&
        received >= range.receivedFrom &&
        received <= range.receivedTo &&
        micros >= range.notBefore &&
        micros <= Math.min(range.notAfter, received) + observedWithin,
    )
    judged.push({ gvk, action, isLate: received !== undefined, isWithinBounds, error: (time - micros) / 1e6 })
  }
  return judged
}

const share = (judged: ReadonlyArray<Judged>, is: (each: Judged) => boolean): number =>
  judged.length === 0 ? Number.NaN : judged.filter(is).length / judged.length

const worst = (judged: ReadonlyArray<Judged>): string =>
  judged
    .toSorted((one, other) => Math.abs(other.error) - Math.abs(one.error))
    .slice(0, 12)
    .map(({ gvk, action, error, isLate }) => `${gvk} ${action} ${isLate ? "late" : "live"} ${error.toFixed(2)} s`)
    .join("\n")

/** ConfigMaps are created, changed and deleted, some four times a second. */
const settings = async (count: number): Promise<void> => {
  for (let index = 0; index < count; index++) {
    const name = `settings-${Math.floor(index / 4)}`
    const words = [
      ["create", "configmap", name, "--from-literal=a=1"],
      ["patch", "configmap", name, "-p", '{"data":{"a":"2"}}'],
      ["label", "configmap", name, "tier=edge"],
      ["delete", "configmap", name],
    ][index % 4] as ReadonlyArray<string>
    await kubectl(plane.cluster, ...words)
  }
}

let directory = ""
let plane: OwnControlPlane
let relay: Relay
let observer: TimedObserver
let killed: Recorder
let held: Recorder

/** `kubeconfig`: its way to the API server. */
const record = (name: string, kubeconfig: string): Promise<Recorder> =>
  startRecorder({ ...plane.cluster, kubeconfig }, join(directory, "tracer.yml"), join(directory, name))

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "kubereel-late-"))
  plane = await OwnControlPlane.start({ nodes: 4 })
  relay = await Relay.listen(plane.first.port)
  const lines = [...kinds.keys()].map((gvk) => `  ${gvk}: {detect: all}\n`)
  await writeFile(join(directory, "tracer.yml"), `trackedObjects:\n${lines.join("")}`)
  const direct = await readFile(plane.cluster.kubeconfig, "utf8")
  const behind = join(directory, "behind.kubeconfig")
  await writeFile(behind, direct.replaceAll(`:${plane.first.port}`, `:${relay.port}`))
  for (const name of ["killed", "held"]) await mkdir(join(directory, name))
  observer = await TimedObserver.start(plane.first.connection, [...kinds.values()])
  ;[killed, held] = await Promise.all([record("killed", plane.cluster.kubeconfig), record("held", behind)])
})
afterAll(async () => {
  await killed?.stop()
  await held?.stop()
  await observer?.stop()
  await relay?.[Symbol.asyncDispose]()
  await plane?.[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

describe.each([
  ["killed", () => killed],
  ["cut off", () => held],
  ["without an API server", () => held],
] as const)("a recorder that was %s", (name, recorder) => {
  beforeAll(async () => {
    if (name === "cut off") return
    if (name === "killed") {
      const life = churn(plane.cluster, "first")
      await sleep(3000)
      relay.hold()
      await killed.kill()
      const end = performance.now() + killedFor * 1000
      await sleep(heldFor * 1000)
      relay.release()
      if (isThorough()) await churn(plane.cluster, "second")
      await sleep(Math.max(0, end - performance.now()))
      killed = await record("killed", plane.cluster.kubeconfig)
      await life
    } else {
      await plane.kill(plane.first)
      await sleep(downFor * 1000)
      await plane.startFirst()
      // The controllers give up while there is no API server, but people do not.
      await settings(40)
    }
    await sleep(3000)
  }, 240_000)

  test("says of every change that it received late when it can have happened", async () => {
    const judged = await judge(recorder())
    const late = judged.filter(({ isLate }) => isLate)
    const estimates = share(late, ({ error }) => Math.abs(error) <= 1.5)
    expect(late.length).toBeGreaterThan(0)
    expect(late.filter(({ isWithinBounds }) => !isWithinBounds)).toEqual([])
    expect(estimates, worst(late)).toBeGreaterThanOrEqual(0.95)
  })

  test("calls nothing live that is not", async () => {
    const live = (await judge(recorder())).filter(({ isLate }) => !isLate)
    expect(
      share(live, ({ error }) => Math.abs(error) <= 1.5),
      worst(live),
    ).toBeGreaterThanOrEqual(0.99)
  })
})
