/** Pod lifecycles and owners on disk: what a cut contains, and where a successor resumes. */
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import type { AnsweredOwner } from "../../../src/archive/rows/owner-sets.ts"
import { DATABASE_FILE } from "../../../src/archive/tables/schema.ts"
import type { ArchiveWriterOptions } from "../../../src/archive/writing.ts"
import { podKind, podLivesKind } from "../../../src/trace/index.ts"
import { MalformedFrameError, type NewObject, ObservationsBuilder, type PodLife } from "../../../src/wire/index.ts"
import { rounds } from "../../harness/effort.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { frameEvent } from "../../wire/frame-events.ts"
import { START } from "../sample-frames.ts"

const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "rs", uid: "rs-uid", controller: true }
const ownerReferences = Buffer.from(JSON.stringify([owner]))

interface Frame {
  readonly lives?: ReadonlyArray<PodLife>
  readonly objects?: ReadonlyArray<NewObject>
  readonly events?: number
  readonly gvk?: string
  readonly epoch?: number
  readonly completeThrough?: string
  readonly tracksPods?: boolean
}

const encode = ({ gvk = podLivesKind, tracksPods = true, ...frame }: Frame): Buffer => {
  const slab = Buffer.alloc(64 * 1024)
  const builder = new ObservationsBuilder(gvk, { tracksPods })
  builder.begin(slab, frame.epoch ?? 0)
  const object = Buffer.from("{}")
  const isTaken = [
    ...(frame.objects ?? []).map((each) => builder.addObject(each)),
    ...Array.from({ length: frame.events ?? 0 }, (_, index) =>
      builder.append(frameEvent({ objectNumber: 1, timeMicros: START + index, version: index + 1, bytes: object })),
    ),
    ...(frame.lives ?? []).map((life) => builder.addPodLife(life)),
    builder.completeThrough(frame.completeThrough ?? ""),
  ]
  if (isTaken.includes(false)) throw new Error("the sample does not fit into its frame")
  return slab.subarray(0, builder.finish())
}

const life = (pod: number, start: number, end?: number, more: Partial<PodLife> = {}): PodLife => ({
  pod,
  time: START + start,
  start,
  end,
  gone: false,
  ...more,
})
const named = (pod: number, uid = `uid-${pod}`) => ({
  identity: { uid, namespace: "shop", name: `pod-${pod}`, specHash: 2n ** 64n - BigInt(pod) },
})

/** A writer for tests of one sender. */
const opened = (directory: string, options: ArchiveWriterOptions = {}) => {
  const writer = ArchiveWriter.open(directory, options)
  const sender = "watcher"
  const incarnation = writer.nextIncarnation(sender)
  let number = 0
  return {
    writer,
    commit: (...frames: ReadonlyArray<Frame>) => {
      for (const frame of frames) writer.append(sender, incarnation, ++number, encode(frame))
      return writer.commit()
    },
    [Symbol.dispose]: () => writer.close(),
  }
}

const livesIn = (directory: string, cut = Number.MAX_SAFE_INTEGER) => {
  const reader = ArchiveReader.open(directory)
  try {
    return [...reader.podLives({ cut })]
  } finally {
    reader.close()
  }
}

describe("pod lifecycles", () => {
  test("are read as of their last record before the cut, in the order in which pods were first seen", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory)
    archive.commit({
      lives: [life(1, 100, undefined, { ...named(1), ownerReferences }), life(2, 90, undefined, named(2))],
    })
    archive.commit({ lives: [life(2, 90, 95), life(1, 100, 110, { gone: true })] })
    const [first, second] = livesIn(directory)
    expect(first).toEqual({
      uid: "uid-1",
      namespace: "shop",
      name: "pod-1",
      ownerReferences: [owner],
      specHash: 2n ** 64n - 1n,
      start: 100,
      end: 110,
      firstSequence: 1,
    })
    expect(second).toMatchObject({ uid: "uid-2", ownerReferences: [], start: 90, end: 95, firstSequence: 2 })
    expect(livesIn(directory, 3).map(({ end }) => end)).toEqual([undefined, 95])
    expect(livesIn(directory, 2).map(({ end }) => end)).toEqual([undefined, undefined])
    expect(livesIn(directory, 1).map(({ uid }) => uid)).toEqual(["uid-1"])
    expect(livesIn(directory, 0)).toEqual([])
  })

  test("count for the cut, as gaps do, but not as events", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory)
    const object = { number: 1, uid: "o", namespace: "", name: "o" }
    const lives = [life(1, 100, undefined, named(1)), life(1, 100, 101)]
    expect(archive.commit({ gvk: podKind, objects: [object], events: 2, lives })).toMatchObject({ events: 2, cut: 4 })
    expect(archive.commit({ lives: [life(1, 100)] })).toMatchObject({ events: 0, cut: 5 })
    archive.writer.close()
    const reader = ArchiveReader.open(directory)
    expect([reader.cut(), reader.summary().events, [...reader.events()].length]).toEqual([5, 2, 2])
    reader.close()
    // Even if only a lifecycle was recorded last.
    using successor = opened(directory)
    expect(successor.writer.cut()).toBe(5)
  })

  test("include an adoption from its record on, and not in a cut before", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory)
    archive.commit({ lives: [life(1, 100, undefined, named(1))] })
    archive.commit(
      { lives: [life(1, 100, undefined, { ...named(1), ownerReferences })] },
      { lives: [life(1, 100, 120)] },
    )
    expect(livesIn(directory, 1)[0]?.ownerReferences).toEqual([])
    expect(livesIn(directory, 2)[0]?.ownerReferences).toEqual([owner])
    expect(livesIn(directory)[0]).toMatchObject({ ownerReferences: [owner], end: 120 })
  })

  test("a UID of a pod that a restored cluster brought back is read once", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory)
    archive.commit(
      { lives: [life(1, 100, 110, { ...named(1, "u"), gone: true })] },
      { lives: [life(2, 100, undefined, named(2, "u"))] },
    )
    expect(livesIn(directory)).toMatchObject([{ uid: "u", end: undefined }])
    expect(livesIn(directory, 1)).toMatchObject([{ uid: "u", end: 110 }])
  })

  test("are all read if they take more than one page", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory)
    const lives = Array.from({ length: 300 }, (_, index) => life(index + 1, index, undefined, named(index + 1)))
    archive.commit({ lives })
    expect(livesIn(directory).map(({ start }) => start)).toEqual(lives.map(({ start }) => start))
  })

  test("of a pod that was never introduced are rejected with the frame, and nothing of it is taken", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory)
    expect(() => archive.commit({ lives: [life(1, 5, undefined, named(1)), life(2, 5)] })).toThrow(MalformedFrameError)
    archive.writer.commit()
    expect(livesIn(directory)).toEqual([])
  })

  test("of existing pods are sent to the next watcher, with the next number", () => {
    const directory = temporaryDirectory()
    {
      using archive = opened(directory)
      archive.commit({
        lives: [
          life(1, 100, undefined, { ...named(1), ownerReferences }),
          life(2, 90, undefined, named(2)),
          life(3, 80, undefined, named(3)),
          life(2, 90, 95),
          life(3, 80, 85, { gone: true }),
        ],
      })
    }
    using successor = opened(directory)
    expect([...successor.writer.livingPods()].flat()).toEqual([
      { number: 1, uid: "uid-1", namespace: "shop", start: 100, end: undefined, owned: true },
      { number: 2, uid: "uid-2", namespace: "shop", start: 90, end: 95, owned: false },
    ])
    expect(successor.writer.nextPodNumber).toBe(4)
    successor.writer.append("watcher", 2, 1, encode({ lives: [life(2, 90)] }))
    expect(() => successor.writer.livingPods()).toThrow(/commit/)
  })

  test("equal those of a plain model, for any records and any cut", () => {
    const anyLives = fc.array(
      fc.record({
        pod: fc.integer({ min: 1, max: 4 }),
        start: fc.nat(100),
        lasts: fc.option(fc.nat(9), { nil: undefined }),
        commits: fc.boolean(),
      }),
      { maxLength: 25 },
    )
    fc.assert(
      fc.property(anyLives, fc.nat(30), (steps, cut) => {
        const directory = temporaryDirectory()
        using archive = opened(directory)
        const model = new Map<number, { uid: string; start: number; end: number | undefined; firstSequence: number }>()
        const met = new Map<number, number>()
        steps.forEach(({ pod, start, lasts, commits }, index) => {
          const number = met.get(pod) ?? met.size + 1
          const isNew = !met.has(pod)
          met.set(pod, number)
          const end = lasts === undefined ? undefined : start + lasts
          archive.writer.append(
            "watcher",
            1,
            index + 1,
            encode({ lives: [life(number, start, end, isNew ? named(number) : {})] }),
          )
          if (commits) archive.writer.commit()
          if (index + 1 > cut) return
          const firstSequence = model.get(number)?.firstSequence ?? index + 1
          model.set(number, { uid: `uid-${number}`, start, end, firstSequence })
        })
        archive.writer.commit()
        const found = livesIn(directory, cut).map(({ uid, start, end, firstSequence }) => ({
          uid,
          start,
          end,
          firstSequence,
        }))
        expect(found).toEqual([...model.values()])
      }),
      { numRuns: rounds(80) },
    )
  })
})

describe("the completeness of lifecycles", () => {
  const stateOf = ({ writer }: { readonly writer: ArchiveWriter }) => {
    const { completeThrough, epoch } = writer.kindState(podLivesKind)
    return `${epoch}:${completeThrough}`
  }

  test("advances with the pods whose watcher follows them, and not with others", () => {
    using archive = opened(temporaryDirectory())
    archive.commit({ gvk: podKind, tracksPods: false, completeThrough: "10" })
    expect(stateOf(archive)).toBe("0:")
    archive.commit(
      { gvk: podKind, completeThrough: "20" },
      { gvk: "v1.ConfigMap", tracksPods: false, completeThrough: "30" },
    )
    expect(stateOf(archive)).toBe("0:20")
    archive.commit({ gvk: podKind, tracksPods: false, completeThrough: "40" })
    expect(stateOf(archive)).toBe("0:20")
    expect(archive.writer.kindState(podKind).completeThrough).toBe("40")
  })

  test("does not change while a watcher that was behind still lists", () => {
    using archive = opened(temporaryDirectory())
    archive.commit({ gvk: podKind, completeThrough: "20" }, { gvk: podKind, tracksPods: false, completeThrough: "40" })
    archive.commit({ gvk: podKind, lives: [life(1, 5, undefined, named(1))] })
    expect(stateOf(archive)).toBe("0:20")
    archive.commit({ gvk: podKind, completeThrough: "50" })
    expect(stateOf(archive)).toBe("0:50")
  })

  test("is reset with the history of the pods", () => {
    using archive = opened(temporaryDirectory())
    archive.commit({ gvk: podKind, completeThrough: "20" }, { gvk: podKind, epoch: 1 })
    expect(stateOf(archive)).toBe("1:")
  })

  test("is advanced by a watcher that does nothing else", () => {
    using archive = opened(temporaryDirectory())
    archive.commit({ completeThrough: "20", lives: [life(1, 5, undefined, named(1))] })
    expect(stateOf(archive)).toBe("0:20")
    expect(archive.writer.kindState(podLivesKind).lastEventTime).toBe(START + 5)
  })
})

describe("owners", () => {
  const object = (number: number, more: object = {}): NewObject => ({
    number,
    uid: `o-${number}`,
    namespace: "shop",
    name: `o${number}`,
    ...more,
  })
  const answer = (uid: string, source: "learnt" | "gone", references = ""): AnsweredOwner => ({
    uid,
    gvk: "apps/v1.ReplicaSet",
    namespace: "shop",
    name: "rs",
    ownerReferences: references,
    state: source,
  })

  test("of recorded objects and pods are known, and are returned to callers that look further", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory)
    const { namedOwners } = archive.commit(
      { gvk: "apps/v1.ReplicaSet", tracksPods: false, objects: [object(1, { ownerReferences }), object(2)] },
      { lives: [life(1, 5, undefined, { ...named(1), ownerReferences })] },
    )
    expect(namedOwners).toEqual([{ uid: "rs-uid", gvk: "apps/v1.ReplicaSet", namespace: "shop", name: "rs" }])
    expect(archive.writer.hasOpenOwners).toBe(true)
    expect(ownersIn(directory, "o-1")).toEqual({
      gvk: "apps/v1.ReplicaSet",
      namespace: "shop",
      name: "o1",
      ownerReferences: [owner],
      source: "recorded",
    })
    expect(ownersIn(directory, "uid-1", "v1.Pod")).toMatchObject({ name: "pod-1", ownerReferences: [owner] })
    // Known to have no owners is not the same as unknown.
    expect(ownersIn(directory, "o-2")).toMatchObject({ source: "recorded", ownerReferences: [] })
    expect([ownersIn(directory, "o-3"), ownersIn(directory, "rs-uid")]).toEqual([undefined, undefined])
    expect(archive.writer.commit().namedOwners).toEqual([])
    // A new object that names it causes another look-up: it may have been adopted meanwhile.
    const again = archive.commit({ gvk: "v1.Pod", tracksPods: false, objects: [object(1, { ownerReferences })] })
    expect(again.namedOwners).toHaveLength(1)
  })

  test("of kinds that are recorded whole are never looked up", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory, { recordedKinds: ["apps/v1.ReplicaSet"] })
    const { namedOwners } = archive.commit({ gvk: podKind, objects: [object(1, { ownerReferences })] })
    expect([namedOwners, archive.writer.hasOpenOwners]).toEqual([[], false])
    expect(ownersIn(directory, "o-1", podKind)).toMatchObject({ ownerReferences: [owner] })
  })

  test("change when an object is adopted or released later", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory)
    archive.commit(
      { gvk: "v1.Pod", objects: [object(1)] },
      { gvk: "v1.Pod", objects: [object(1, { ownerReferences })] },
    )
    expect(ownersIn(directory, "o-1", podKind)?.ownerReferences).toEqual([owner])
    archive.commit({ gvk: "v1.Pod", objects: [object(1)] })
    expect(ownersIn(directory, "o-1", podKind)).toMatchObject({ ownerReferences: [], source: "recorded" })
  })

  test("that were learnt never replace recorded ones, and a gone owner replaces nothing", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory)
    const incarnation = archive.writer.nextIncarnation("resolver")
    let number = 0
    const answered = (...answers: ReadonlyArray<AnsweredOwner>) =>
      archive.writer.appendOwners("resolver", incarnation, ++number, answers, 100)
    const references = JSON.stringify([{ ...owner, uid: "deployment" }])
    archive.commit({ gvk: "apps/v1.ReplicaSet", tracksPods: false, objects: [object(1, { ownerReferences })] })
    expect(answered(answer("o-1", "learnt", references), answer("l", "learnt", references), answer("g", "gone"))).toBe(
      "appended",
    )
    const { acknowledgements, namedOwners } = archive.writer.commit()
    expect(acknowledgements).toEqual([{ sender: "resolver", incarnation, number: 1 }])
    // The owners of a looked-up owner are open with the same commit, and the resolver knows of them.
    expect(namedOwners).toEqual([])
    expect(openIn(directory)).toEqual(["deployment", "rs-uid"])
    expect(ownersIn(directory, "o-1")).toMatchObject({ source: "recorded", ownerReferences: [owner] })
    expect(ownersIn(directory, "l")).toMatchObject({ source: "learnt", ownerReferences: [{ uid: "deployment" }] })
    expect(ownersIn(directory, "g")).toMatchObject({ source: "gone", ownerReferences: [] })
    answered(answer("l", "gone"), answer("g", "learnt", references))
    archive.writer.commit()
    expect([ownersIn(directory, "l")?.source, ownersIn(directory, "g")?.source]).toEqual(["learnt", "learnt"])
  })

  test("are distinguished by kind: a reference under one that the server does not have says nothing about the object", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory)
    const incarnation = archive.writer.nextIncarnation("resolver")
    const old = { ...answer("u", "gone"), gvk: "apps/v1beta1.ReplicaSet" }
    archive.writer.appendOwners(
      "resolver",
      incarnation,
      1,
      [old, answer("u", "learnt", `[${JSON.stringify(owner)}]`)],
      100,
    )
    archive.commit({ gvk: "apps/v1.ReplicaSet", tracksPods: false, objects: [object(1, { ownerReferences })] })
    expect(ownersIn(directory, "u", "apps/v1beta1.ReplicaSet")).toMatchObject({ source: "gone" })
    expect(ownersIn(directory, "u")).toMatchObject({ source: "learnt", ownerReferences: [owner] })
    // A recorded object is the same in every version of its kind.
    expect(ownersIn(directory, "o-1", "apps/v1beta1.ReplicaSet")).toMatchObject({ gvk: "apps/v1.ReplicaSet" })
    expect(ownersIn(directory, "o-1", "v1.ReplicaSet")).toBeUndefined()
  })

  test("with names that no object can have are never looked up, and large texts are not cached", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory)
    const named = (uid: string, name: string) => Buffer.from(JSON.stringify([{ ...owner, uid, name }]))
    const { namedOwners } = archive.commit(
      { gvk: podKind, objects: [object(1, { ownerReferences: named("long", "x".repeat(20_000)) })] },
      { gvk: podKind, objects: [object(2, { ownerReferences: named("short", "rs") })] },
    )
    expect(namedOwners.map(({ uid }) => uid)).toEqual(["short"])
    expect(ownersIn(directory, "o-1", podKind)?.ownerReferences).toHaveLength(1)
  })

  test("that are recorded after all are no longer looked up", () => {
    const directory = temporaryDirectory()
    using archive = opened(directory)
    const incarnation = archive.writer.nextIncarnation("resolver")
    archive.commit({ gvk: podKind, objects: [object(1, { ownerReferences })] })
    expect(openIn(directory)).toEqual(["rs-uid"])
    const recorded = { uid: "rs-uid", gvk: "apps/v1.ReplicaSet", namespace: "shop", name: "rs", ownerReferences: "" }
    archive.writer.appendOwners("resolver", incarnation, 1, [{ ...recorded, state: "recorded" }], 100)
    archive.commit({ gvk: podKind, objects: [object(2, { ownerReferences })] })
    expect(openIn(directory)).toEqual([])
    expect(ownersIn(directory, "rs-uid")).toBeUndefined()
  })

  test("that are answered twice are stored once, and a dead resolver's answers are fenced", () => {
    using archive = opened(temporaryDirectory())
    const first = archive.writer.nextIncarnation("resolver")
    const answered = (incarnation: number, number: number) =>
      archive.writer.appendOwners("resolver", incarnation, number, [answer("l", "learnt")], 100)
    expect([answered(first, 1), answered(first, 1)]).toEqual(["appended", "duplicate"])
    archive.writer.nextIncarnation("resolver")
    expect(answered(first, 2)).toBe("fenced")
  })
})

const ownersIn = (directory: string, uid: string, gvk = "apps/v1.ReplicaSet") => {
  const reader = ArchiveReader.open(directory)
  try {
    const dot = gvk.lastIndexOf(".")
    return reader.ownersOf({ apiVersion: gvk.slice(0, dot), kind: gvk.slice(dot + 1), uid })
  } finally {
    reader.close()
  }
}

/** UIDs of the owners that are to be looked up. */
const openIn = (directory: string) => {
  const database = new DatabaseSync(join(directory, DATABASE_FILE), { readOnly: true })
  const open = database.prepare("SELECT uid FROM owner WHERE state = 'open' ORDER BY uid").all()
  database.close()
  return open.map(({ uid }) => uid)
}
