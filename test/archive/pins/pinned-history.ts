/** A recording with a bit of everything, a window in the middle of it, and all that can be asked about that. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setImmediate as turn } from "node:timers/promises"
import type { ExportJob } from "../../../src/actors/exporter/exporter-interface.ts"
import { openExport } from "../../../src/actors/exporter/open-export.ts"
import { Answering } from "../../../src/actors/reader/answering.ts"
import type { Question } from "../../../src/actors/reader/question.ts"
import { ArchiveReader } from "../../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { KnownIntact } from "../../../src/archive/damage/known-intact.ts"
import { readCoverage } from "../../../src/archive/reading/recorded-coverage.ts"
import { discoveryKey, withDiscovered } from "../../../src/archive/rows/discovery.ts"
import { exportJob } from "../../actors/exporter/export-job.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { encodeFrame, START } from "../sample-frames.ts"
import { recordSample, sampleKinds } from "../sample-recording.ts"

export const second = 1_000_000
export const at = (seconds: number): number => START + seconds * second
export const seconds = 240
export const lateKind = "example.com/v1.Late"

/** The window that is pinned: it has a gap, late changes, births of pods and many changes. */
export const window = { from: at(60), until: at(130) }

/** What {@link recordHistory} has left in its directory: it takes a quarter of a second of CPU. */
let recorded: ReadonlyArray<readonly [name: string, content: Buffer]> | undefined

/** A directory of its own with the recording, whose writer has ended. */
export const recordedHistory = (): string => {
  const directory = temporaryDirectory()
  if (recorded === undefined) {
    recordHistory(directory)
    // Beside them there is the empty folder of leases.
    recorded = readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => [name, readFileSync(join(directory, name))])
  } else for (const [name, content] of recorded) writeFileSync(join(directory, name), content)
  return directory
}

const recordHistory = (directory: string): void => {
  const writer = recordSample(directory, seconds)
  writer.metadata.set(
    discoveryKey,
    withDiscovered(undefined, {
      ...{ gvk: "v1.Pod", plural: "pods", singular: "pod", shortNames: [], categories: [], namespaced: true },
    }),
  )
  // Received at the end, and happened in the window.
  writer.append(
    ...["watcher/late", 1, 1],
    encodeFrame({
      ...{ gvk: lateKind, newObjects: [1, 2], completeThrough: "7" },
      events: [64, 65, 66].map((happened, index) => ({
        ...{ action: "applied" as const, number: 1 + (index % 2), version: 1 + index, object: `{"at":${happened}}` },
        ...{ time: at(happened), received: at(seconds - 1) },
      })),
      lateRanges: [
        {
          ...{
            notBefore: at(63),
            notAfter: at(67),
            receivedFrom: at(seconds - 1),
            receivedTo: at(seconds - 1),
            events: 3,
          },
          ...{ cause: "disconnected", namespace: "" },
        },
      ],
    }),
  )
  writer.commit()
  const author = { groups: ["g"], userAgent: "test", sourceIPs: ["10.0.0.1"], verb: "update" }
  writer.addAuthors(
    Array.from({ length: seconds - 10 }, (_, index) => ({
      ...{ group: "", resource: "pods", object: `uid-v1.Pod-${1 + (index % 9)}`, effect: "wrote" as const },
      ...{ version: String(100 + index), isCertain: true, auditID: "" },
      ...{ received: at(index) - 5000, completed: at(index), author: { ...author, user: `user-${index % 4}` } },
    })),
    { from: START, to: at(seconds) },
  )
  writer.close()
}

/** Opens it for writing; small strides, and a clock that the test sets. */
export const openHistory = (directory: string, clock: { micros: number }, reserveBytes = 4096): ArchiveWriter =>
  ArchiveWriter.open(directory, {
    now: () => clock.micros,
    limits: {
      ...{ blockBytes: 12_000, blocksPerCheckpoint: 4 },
      retention: { stride: { blocks: 3, events: 100, rows: 20 }, collectAfter: 10, reserveBytes },
    },
  })

/** Everything that retention can do now; other work, such as a flush, goes on between its steps. */
export const retain = async ({ retention }: ArchiveWriter, limit = Number.POSITIVE_INFINITY): Promise<number> => {
  let steps = 0
  while (steps < limit && retention.step(() => true)) {
    steps++
    await turn()
  }
  return steps
}

/** Where two texts differ, with what is around it; `undefined`: they do not. */
export const differenceOf = (one: string, other = "nothing"): string | undefined => {
  if (one === other) return undefined
  let index = 0
  while (one[index] === other[index]) index++
  const part = (text: string): string => text.slice(Math.max(0, index - 200), index + 100)
  return `at ${index} of ${one.length} and ${other.length}: ${part(one)} <> ${part(other)}`
}

export const exported = async (directory: string, format: ExportJob["format"], more: Partial<ExportJob> = {}) => {
  const reader = ArchiveReader.open(directory)
  const cut = reader.cut()
  reader.close()
  const tracked = { podSpecTemplatePaths: ["/spec/template"], trackLifecycle: true }
  const { pieces } = openExport(
    { directory, spoolDirectory: temporaryDirectory() },
    exportJob([], {
      ...{ format, cut, fromTime: window.from, untilTime: window.until, knownUntil: window.until },
      ...{
        recordedKinds: [...sampleKinds],
        trackedObjects: { "apps/v1.ReplicaSet": tracked, "v1.Pod": {}, "v1.ConfigMap": {}, [lateKind]: {} },
      },
      requested: {
        nowMicros: at(seconds),
        parts: [...sampleKinds, lateKind].map((gvk) => ({
          ...{ gvk, namespace: "", state: "watching", detail: "", hasAppeared: false },
        })),
      },
      ...more,
    }),
  )
  const all: Array<Uint8Array> = []
  for await (const piece of pieces) all.push(Uint8Array.from(piece))
  return Buffer.concat(all).toString("latin1")
}

/** A directory, and what was found intact in it by the questions before. */
interface Asked {
  readonly directory: string
  readonly intact: KnownIntact
}

const answer = async ({ directory, intact }: Asked, question: Omit<Question, "known">): Promise<string> => {
  const pieces: Buffer[] = []
  let error: string | undefined
  const answering = new Answering(directory, intact)
  answering.start(
    { ...question, known: [...sampleKinds, lateKind].map((gvk) => ({ gvk, until: window.until })) },
    {
      writable: async () => true,
      send: (piece: Uint8Array) => void pieces.push(Buffer.from(piece)),
      end: (reason = "") => {
        error = reason
      },
    },
  )
  while (error === undefined) await turn()
  answering.stop()
  return `${Buffer.concat(pieces)}${error}`
}

/** The tree of lanes, a line each. */
const lanesBelow = async (asked: Asked, range: { from: number; to: number }, parent?: string): Promise<string> => {
  const found = await answer(asked, {
    about: "lanes",
    ...range,
    limit: 100,
    ...(parent !== undefined && { parent }),
  })
  let all = found
  for (const line of found.trim().split("\n")) {
    const { id, type } = JSON.parse(line) as { readonly id?: string; readonly type?: string }
    if (type !== "end" && id !== undefined) all += await lanesBelow(asked, range, id)
  }
  return all
}

/** All that is asked of the window, by what it is about. */
export const answers = async (directory: string): Promise<Readonly<Record<string, string>>> => {
  const asked = { directory, intact: new KnownIntact() }
  const range = { from: window.from, to: window.until - 1 }
  const lanes = await lanesBelow(asked, range)
  const coverage = readCoverage(directory, { fromTime: window.from, untilTime: window.until })
  const kinds = [...sampleKinds, lateKind]
  const states = kinds.flatMap((kind) =>
    [window.from, at(71), at(95), window.until - 1].map(
      async (to) =>
        [`${kind} at ${to - START}`, await answer(asked, { about: "objects", from: to, to, kinds: [kind] })] as const,
    ),
  )
  return {
    ...Object.fromEntries(await Promise.all(states)),
    changes: await answer(asked, { about: "changes", ...range, withObjects: true }),
    "changes with differences": await answer(asked, { about: "changes", ...range }),
    "history of a pod": await answer(asked, {
      ...{ about: "changes", ...range, kinds: ["v1.Pod"], namespace: "shop", name: "pod-3" },
      ...{ withObjects: true, withOwners: true, withOwned: true },
    }),
    differences: await answer(asked, { about: "differences", ...range }),
    lanes,
    tiles: await answer(asked, {
      ...{ about: "tiles", ...range, width: 50, withParts: true },
      lanes: [1, 2, 3, 4].flatMap((kind) => Array.from({ length: 9 }, (_, index) => `${kind}.${index + 1}`)),
    }),
    histogram: await answer(asked, { about: "histogram", ...range, width: 30 }),
    findings: await answer(asked, { about: "findings", ...range }),
    coverage: JSON.stringify(
      coverage.kinds.map(({ gvk, events, gaps, late, completeTime }) => ({
        ...{ gvk, events, gaps: gaps.map(({ sequence: _, ...gap }) => gap), late },
        isComplete: completeTime >= window.until,
      })),
    ),
    redacted: JSON.stringify([coverage.redacted, coverage.authors]),
  }
}
