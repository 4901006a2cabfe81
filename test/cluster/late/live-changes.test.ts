/**
 * Live is not late, on a real control plane: a recorder that was never cut off calls nothing late, although many changes of this cluster leave the times of
 * their objects as they were: a label, a taint and a finalizer that are removed after a silence, scaling, counts that become zero.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { isThorough } from "../../harness/effort.ts"
import { kubectl, type Recorder, startRecorder } from "../command.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"
import { closeShare, isRecorded, type JudgedChange, judgeTimes, liveSeconds, worstOf } from "./judged-times.ts"
import { TimedObserver } from "./timed-observer.ts"

const kinds: ReadonlyMap<string, string> = new Map([
  ["apps/v1.Deployment", "/apis/apps/v1/deployments"],
  ["apps/v1.ReplicaSet", "/apis/apps/v1/replicasets"],
  ["v1.Pod", "/api/v1/pods"],
  ["v1.ConfigMap", "/api/v1/configmaps"],
  ["v1.ReplicationController", "/api/v1/replicationcontrollers"],
  ["v1.ResourceQuota", "/api/v1/resourcequotas"],
  ["v1.Node", "/api/v1/nodes"],
])

const namespace = "when-live"
/** s of silence before a field is removed, of which the thorough form has longer ones and more rounds. */
const silences = isThorough() ? [4, 40, 12, 65, 25, 8] : [4, 7]
/** s within which live changes are recorded; a tenth may take longer, up to {@link liveSeconds}, on a machine that has other work. */
const promptSeconds = 0.2

const controller = {
  apiVersion: "v1",
  kind: "ReplicationController",
  metadata: { name: "rc" },
  spec: {
    replicas: 1,
    selector: { app: "rc" },
    template: { metadata: { labels: { app: "rc" } }, spec: { containers: [{ name: "main", image: "none" }] } },
  },
}
const node = { apiVersion: "v1", kind: "Node", metadata: { name: namespace } }

const life = async (cluster: TestCluster, directory: string, silence: number): Promise<void> => {
  const act = (...words: ReadonlyArray<string>): Promise<string> => kubectl(cluster, "-n", namespace, ...words)
  const apply = async (data: object): Promise<unknown> => {
    const file = join(directory, "applied.json")
    await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "applied" }, data }))
    return act("apply", "--server-side", "-f", file)
  }
  await act("create", "configmap", "labelled", "--from-literal=a=1")
  await act("label", "configmap", "labelled", "tier=edge")
  await act("create", "configmap", "held", "--from-literal=a=1")
  await act("patch", "configmap", "held", "-p", '{"metadata":{"finalizers":["example.com/held"]}}')
  await act("delete", "configmap", "held", "--wait=false")
  await apply({ one: "1", two: "2" })
  await act("taint", "node", namespace, "example.com/busy=yes:NoSchedule")
  await act("scale", "rc/rc", "--replicas=2")
  await act("create", "quota", "room", "--hard=pods=10")
  await sleep(silence * 1000)
  // On streams that were silent, of objects that were written just before the silence.
  await act("label", "configmap", "labelled", "tier-")
  await sleep(3000)
  await act("patch", "configmap", "held", "--type=json", "-p", '[{"op":"remove","path":"/metadata/finalizers"}]')
  await act("taint", "node", namespace, "example.com/busy-")
  await act("scale", "rc/rc", "--replicas=0")
  await sleep(3000)
  await apply({ one: "1" })
  await act("delete", "quota/room", "configmap/labelled", "configmap/applied")
}

describe("a recorder that was never cut off", () => {
  let cluster: TestCluster
  let directory: string
  let observer: TimedObserver
  let recorder: Recorder
  let judged: ReadonlyArray<JudgedChange> = []

  beforeAll(async () => {
    cluster = await openTestCluster()
    directory = await mkdtemp(join(tmpdir(), "kubereel-live-"))
    const lines = [...kinds.keys()].map((gvk) => `  ${gvk}: {detect: all}\n`)
    const config = join(directory, "tracer.yml")
    await writeFile(config, `trackedObjects:\n${lines.join("")}`)
    await kubectl(cluster, "create", "namespace", namespace)
    for (const object of [controller, node]) {
      const file = join(directory, `${object.kind}.json`)
      await writeFile(file, JSON.stringify(object))
      await kubectl(cluster, "-n", namespace, "create", "-f", file)
    }
    observer = await TimedObserver.start(cluster.connection, kinds)
    recorder = await startRecorder(cluster, config, join(directory, "data"))
    for (const silence of silences) await life(cluster, directory, silence)
    await kubectl(cluster, "-n", namespace, "create", "configmap", "the-end")
    while (!(await isRecorded(recorder.address, "the-end"))) await sleep(250)
    judged = await judgeTimes(recorder.address, observer.seen, 0)
  }, 600_000)
  afterAll(async () => {
    await recorder?.stop()
    await observer?.stop()
    await kubectl(cluster, "delete", "namespace", namespace, "--wait=false")
    await kubectl(cluster, "delete", "node", namespace)
    await rm(directory, { recursive: true, force: true })
  }, 60_000)

  test("calls nothing late", () => {
    expect(judged.length).toBeGreaterThan(15 * silences.length)
    expect(judged.filter(({ isLate }) => isLate).map(({ change, error }) => ({ ...change, error }))).toEqual([])
  })

  test("dates changes within a fifth of a second", () => {
    expect(closeShare(judged, promptSeconds), worstOf(judged)).toBeGreaterThanOrEqual(0.9)
    expect(closeShare(judged, liveSeconds), worstOf(judged)).toBe(1)
  })
})
