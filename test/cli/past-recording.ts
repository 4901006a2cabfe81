/** A recording of a small story: a Deployment is scaled, its Pod is scheduled, crashes and is deleted; another Deployment is deleted and made again. */
import { ArchiveWriter } from "../../src/archive/index.ts"
import { ObservationsBuilder } from "../../src/wire/index.ts"
import { fingerprintOf, gapAt } from "../archive/sample-frames.ts"
import { frameEvent } from "../wire/frame-events.ts"

/** µs since the Unix epoch: 2026-03-02T03:00:00Z. */
export const storyStart = Date.UTC(2026, 2, 2, 3) * 1000

const deployment = "apps/v1.Deployment"
const replicaSet = "apps/v1.ReplicaSet"
const pod = "v1.Pod"
const event = "v1.Event"

interface Written {
  /** s after the start. */
  readonly at: number
  readonly gvk: string
  readonly number: number
  readonly name: string
  readonly uid?: string
  readonly owner?: { readonly kind: string; readonly name: string; readonly uid: string }
  readonly action?: 1 | 2
  readonly manager?: string
  readonly content?: object
}

const owned = (kind: string, name: string, uid: string) => ({ kind, name, uid })
const template = { template: { spec: { containers: [{ name: "web", image: "web:1" }] } } }

const story: ReadonlyArray<Written> = [
  {
    at: 1,
    gvk: deployment,
    number: 1,
    name: "web",
    manager: "kubectl",
    content: { spec: { replicas: 1, ...template } },
  },
  {
    at: 2,
    gvk: replicaSet,
    number: 1,
    name: "web-1",
    owner: owned("Deployment", "web", "d-web"),
    content: { spec: { replicas: 1 } },
  },
  {
    at: 3,
    gvk: pod,
    number: 1,
    name: "web-1-a",
    owner: owned("ReplicaSet", "web-1", "r-web-1"),
    content: { status: { phase: "Pending" } },
  },
  {
    at: 4,
    gvk: pod,
    number: 1,
    name: "web-1-a",
    owner: owned("ReplicaSet", "web-1", "r-web-1"),
    manager: "kube-scheduler",
    content: { spec: { nodeName: "node-1" }, status: { phase: "Pending" } },
  },
  {
    ...{ at: 5, gvk: pod, number: 1, name: "web-1-a", owner: owned("ReplicaSet", "web-1", "r-web-1") },
    content: {
      spec: { nodeName: "node-1" },
      status: {
        phase: "Running",
        conditions: [{ type: "Ready", status: "False", reason: "ContainersNotReady", message: "web is not ready" }],
        containerStatuses: [
          {
            name: "web",
            restartCount: 1,
            state: { waiting: { reason: "CrashLoopBackOff" } },
            lastState: { terminated: { exitCode: 137, reason: "OOMKilled", finishedAt: "2026-03-02T03:00:05Z" } },
          },
        ],
      },
    },
  },
  {
    at: 6,
    gvk: event,
    number: 1,
    name: "web-1-a.17",
    content: {
      involvedObject: { kind: "Pod", name: "web-1-a", uid: "p-web-1-a" },
      type: "Warning",
      reason: "BackOff",
      message: "Back-off restarting failed container",
      source: { component: "kubelet" },
    },
  },
  {
    at: 6,
    gvk: event,
    number: 2,
    name: "web-1-a.18",
    content: {
      involvedObject: { kind: "Pod", name: "web-1-a", uid: "another" },
      type: "Normal",
      reason: "Started",
      message: "of another Pod of this name",
    },
  },
  {
    at: 600,
    gvk: deployment,
    number: 1,
    name: "web",
    manager: "kubectl-edit",
    content: { spec: { replicas: 3, ...template } },
  },
  {
    at: 601,
    gvk: deployment,
    number: 2,
    name: "api",
    uid: "d-api-1",
    manager: "kubectl",
    content: { spec: { replicas: 1 } },
  },
  { at: 602, gvk: deployment, number: 2, name: "api", uid: "d-api-1", action: 2, content: { spec: { replicas: 1 } } },
  {
    at: 603,
    gvk: deployment,
    number: 3,
    name: "api",
    uid: "d-api-2",
    manager: "kubectl",
    content: { spec: { replicas: 2 } },
  },
  {
    at: 720,
    gvk: pod,
    number: 1,
    name: "web-1-a",
    owner: owned("ReplicaSet", "web-1", "r-web-1"),
    action: 2,
    content: { spec: { nodeName: "node-1" }, status: { phase: "Failed" } },
  },
]

const uidOf = ({ gvk, name, uid }: Written): string =>
  uid ?? `${gvk.slice(gvk.lastIndexOf(".") + 1)[0]?.toLowerCase()}-${name}`

const frameOf = (written: Written, version: number, isNew: boolean): Buffer => {
  const { at, gvk, number, name, owner, action = 1, manager = "controller", content } = written
  const time = storyStart + at * 1_000_000
  const uid = uidOf(written)
  const stamp = new Date(time / 1000).toISOString().replace(/\.\d+Z/, "Z")
  const ownerReferences = owner === undefined ? undefined : [{ apiVersion: "apps/v1", controller: true, ...owner }]
  const metadata = {
    ...{
      name,
      namespace: "shop",
      uid,
      resourceVersion: String(version),
      creationTimestamp: "2026-03-02T03:00:00Z",
      labels: { app: "web" },
    },
    ...(ownerReferences !== undefined && { ownerReferences }),
    managedFields: [
      { manager, operation: "Update", apiVersion: "v1", time: stamp, fieldsType: "FieldsV1", fieldsV1: {} },
    ],
  }
  const bytes = Buffer.from(JSON.stringify({ metadata, ...content }))
  const builder = new ObservationsBuilder(gvk)
  const slab = Buffer.alloc(16 * 1024)
  builder.begin(slab, 0)
  const references =
    ownerReferences === undefined ? {} : { ownerReferences: Buffer.from(JSON.stringify(ownerReferences)) }
  const [fingerprintLow, fingerprintHigh] = fingerprintOf(bytes.toString())
  const isTaken = [
    !isNew || builder.addObject({ number, uid, namespace: "shop", name, ...references }),
    builder.append(
      frameEvent({ action, objectNumber: number, timeMicros: time, version, fingerprintLow, fingerprintHigh, bytes }),
    ),
    builder.completeThrough(String(version)),
  ]
  if (isTaken.includes(false)) throw new Error("the story does not fit into its frame")
  return slab.subarray(0, builder.finish())
}

interface StoryOptions {
  readonly hasGap?: boolean
  /** A name that is left out of it. */
  readonly without?: string
}

/** Records it; everything is complete from the beginning, except for a gap of ReplicaSets if one is wanted, at the last second of the story. */
export const recordStory = (directory: string, { hasGap = false, without }: StoryOptions = {}): void => {
  const writer = ArchiveWriter.open(directory, {
    now: () => storyStart,
    limits: { blockBytes: 2500, blocksPerCheckpoint: 2 },
  })
  const frames = new Map<string, number>()
  const append = (gvk: string, frame: Buffer): void => {
    const number = (frames.get(gvk) ?? 0) + 1
    frames.set(gvk, number)
    writer.append(`watcher/${gvk}`, 1, number, frame)
  }
  for (const gvk of [deployment, replicaSet, pod, event]) {
    const builder = new ObservationsBuilder(gvk)
    const slab = Buffer.alloc(1024)
    builder.begin(slab, 0)
    builder.completeThrough("1")
    append(gvk, slab.subarray(0, builder.finish()))
  }
  const known = new Set<string>()
  for (const [index, written] of story.entries()) {
    if (written.name === without) continue
    const uid = uidOf(written)
    append(written.gvk, frameOf(written, index + 2, !known.has(uid)))
    known.add(uid)
    if (index % 4 === 3) writer.commit()
  }
  if (hasGap) writer.recordGap(replicaSet, gapAt(storyStart + 720_000_000))
  writer.commit()
  writer.close()
}
