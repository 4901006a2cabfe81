/** Lifecycles of a data directory that has no Pods. */
import { expect, onTestFinished, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { recordedTrace } from "../../../src/archive/recorded-trace.ts"
import { podLivesKind } from "../../../src/trace/index.ts"
import { ObservationsBuilder, type PodLife } from "../../../src/wire/index.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { encodeFrame, START } from "../sample-frames.ts"

const controlledBy = (kind: string, name: string): Buffer => {
  const reference = { apiVersion: "batch/v1", kind, name, uid: `uid-of-${name}`, controller: true }
  return Buffer.from(JSON.stringify([reference]))
}

const lifeOf = (pod: number, start: number, end: number | undefined, owners?: Buffer): PodLife => ({
  pod,
  time: START,
  start,
  end,
  gone: false,
  identity: { uid: `uid-${pod}`, namespace: "shop", name: `pod-${pod}`, specHash: 7n },
  ...(owners && { ownerReferences: owners }),
})

const livesFrame = (lives: ReadonlyArray<PodLife>): Buffer => {
  const slab = Buffer.alloc(64 * 1024)
  const builder = new ObservationsBuilder(podLivesKind, { tracksPods: true })
  builder.begin(slab, 0)
  for (const life of lives) builder.addPodLife(life)
  builder.completeThrough("1")
  return slab.subarray(0, builder.finish())
}

test("are those of the uppermost owner that is known, or of the pod itself, in the order in which the pods ran", () => {
  const directory = temporaryDirectory()
  const writer = ArchiveWriter.open(directory)
  onTestFinished(() => writer.close())
  const event = { action: "applied", number: 1, time: START + 1, version: 1, object: "{}" } as const
  const jobs = { gvk: "batch/v1.Job", newObjects: [1], events: [event], completeThrough: "1" }
  writer.append("jobs/1", 1, 1, encodeFrame(jobs))
  writer.append(
    "pods/1",
    1,
    1,
    livesFrame([
      lifeOf(1, 100, 137, controlledBy("Job", "nightly-1")),
      lifeOf(2, 101, undefined, controlledBy("Job", "nightly-1")),
      lifeOf(3, 102, 110),
    ]),
  )
  writer.commit()
  const reader = ArchiveReader.open(directory)
  onTestFinished(() => reader.close())
  const items = [...recordedTrace(reader, { from: undefined, to: undefined })]
  expect(items[0]).toMatchObject({ type: "header", kinds: ["batch/v1.Job"], hasLifecycles: true })
  const job = { type: "lifecycles", gvk: "batch/v1.Job", owner: "shop/nightly-1" }
  expect(items.filter(({ type }) => type === "lifecycles")).toEqual([
    { ...job, pods: new Map([[7n, [{ state: "finished", start: 100, end: 137 }]]]) },
    { ...job, pods: new Map([[7n, [{ state: "running", start: 101 }]]]) },
    {
      type: "lifecycles",
      gvk: "v1.Pod",
      owner: "shop/pod-3",
      pods: new Map([[7n, [{ state: "finished", start: 102, end: 110 }]]]),
    },
  ])
})
