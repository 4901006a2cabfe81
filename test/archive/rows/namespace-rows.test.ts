/** The progress of each namespace of a kind, through frames, commits and restarts. */
import { expect, test } from "vitest"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { podKind, podLivesKind } from "../../../src/trace/index.ts"
import { type NamespaceProgress, type NamespacesNews, ObservationsBuilder } from "../../../src/wire/index.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { START } from "../sample-frames.ts"

const at = (
  namespace: string,
  completeThrough: string,
  completeTime = 0,
  listReason: NamespaceProgress["listReason"] = "",
): NamespaceProgress => ({ namespace, completeThrough, completeTime, listReason })

interface Frame extends Partial<NamespacesNews> {
  readonly completeThrough?: string
  readonly listReason?: string
  readonly epoch?: number
}

const encode = ({ completeThrough = "", listReason = "", epoch = 0, ...news }: Frame): Buffer => {
  const slab = Buffer.alloc(8192)
  const builder = new ObservationsBuilder(podKind, { tracksPods: true })
  builder.begin(slab, epoch)
  if (listReason !== "") builder.listReason(listReason)
  builder.completeThrough(completeThrough)
  builder.namespaces({ moved: [], left: [], isComplete: false, livesLag: false, ...news })
  return slab.subarray(0, builder.finish())
}

/** A recording of Pods; each frame is committed, by a writer that has just been opened. */
const recording = () => {
  const directory = temporaryDirectory()
  let now = START
  const open = () => ArchiveWriter.open(directory, { now: () => now })
  return (frame: Frame) => {
    now += 1000
    const writing = open()
    writing.append("watcher", writing.nextIncarnation("watcher"), 1, encode(frame))
    writing.commit()
    writing.close()
    const reading = open()
    const [kind, lives] = [reading.kindState(podKind), reading.kindState(podLivesKind)]
    reading.close()
    return { kind, lives, now }
  }
}

test("is that of its last frame, and complete when all are", () => {
  const record = recording()
  const begun = record({ moved: [at("shop", "", START, "first"), at("stock", "", START, "first")] })
  expect(begun.kind).toMatchObject({ completeThrough: "", recordedSince: 0, completeThroughTime: begun.now })
  const half = record({ moved: [at("shop", "5", START + 500)] })
  expect(half.kind).toMatchObject({
    recordedSince: 0,
    completeThroughTime: begun.now,
    namespaces: [
      { ...at("shop", "5", START + 500), recordedSince: half.now },
      { ...at("stock", "", START, "first"), recordedSince: 0 },
    ],
  })
  const whole = record({ moved: [at("shop", "6"), at("stock", "6")], isComplete: true })
  expect(whole.kind).toMatchObject({
    completeThrough: "",
    completeThroughTime: whole.now,
    recordedSince: whole.now,
    namespaces: [
      { ...at("shop", "6"), recordedSince: half.now },
      { ...at("stock", "6"), recordedSince: whole.now },
    ],
  })
  const without = record({ moved: [at("shop", "7", START + 900)], left: ["stock"] })
  expect(without.kind).toMatchObject({ completeThroughTime: whole.now, recordedSince: whole.now })
  expect(without.kind.namespaces).toEqual([{ ...at("shop", "7", START + 900), recordedSince: half.now }])
})

test("begins with one version for all, and ends when there is one again", () => {
  const record = recording()
  const before = record({ completeThrough: "5" })
  expect(before.kind).toMatchObject({ completeThrough: "5", namespaces: [], recordedSince: before.now })
  const apart = record({ moved: [at("shop", "5"), at("stock", "", START, "stopped")] })
  expect(apart.kind).toMatchObject({
    completeThrough: "",
    completeThroughTime: before.now,
    namespaces: [{ recordedSince: before.now }, { recordedSince: 0 }],
  })
  // While all are listed, each keeps its progress.
  expect(record({ listReason: "stopped" }).kind).toMatchObject({ listReason: "stopped", namespaces: [{}, {}] })
  const after = record({ completeThrough: "9" })
  expect(after.kind).toMatchObject({ completeThrough: "9", listReason: "", namespaces: [], recordedSince: before.now })
})

test("applies to pod lifecycles too, unless they lag", () => {
  const record = recording()
  const moved = [at("shop", "5", START), at("stock", "5", START)]
  expect(record({ moved }).lives).toMatchObject({ namespaces: moved, recordedSince: 0 })
  expect(record({ moved: [at("shop", "6", START)], livesLag: true }).lives.namespaces).toMatchObject(moved)
  const complete = record({ moved: [at("shop", "7"), at("stock", "7")], isComplete: true })
  expect(complete.lives).toMatchObject({ namespaces: [at("shop", "7"), at("stock", "7")], recordedSince: complete.now })
})
