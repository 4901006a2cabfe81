/** Any history, exported and read back, gives the state at every moment that a naive model in memory gives. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { expect, test } from "vitest"
import type { ExportJob } from "../../../src/actors/exporter/exporter-interface.ts"
import { openExport } from "../../../src/actors/exporter/open-export.ts"
import { ArchiveWriter } from "../../../src/archive/index.ts"
import { NdjsonReader, SimkubeTraceReader } from "../../../src/trace/index.ts"
import { ObservationsBuilder } from "../../../src/wire/index.ts"
import { rounds } from "../../harness/effort.ts"
import { frameEvent } from "../../wire/frame-events.ts"
import { exportJob } from "./export-job.ts"

const kinds = ["apps/v1.Deployment", "apps/v1.StatefulSet"] as const
const start = 1_763_700_000_000_000
const second = 1_000_000
const codes = { applied: 1, deleted: 2, vanished: 3 } as const

/** One event of an object of a kind, some time after the previous one. */
interface Step {
  readonly kind: 0 | 1
  readonly slot: number
  readonly action: keyof typeof codes
  /** µs. */
  readonly after: number
  readonly isHidden: boolean
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(0 as const, 1 as const),
  slot: fc.integer({ min: 0, max: 2 }),
  action: fc.constantFrom(
    "applied" as const,
    "applied" as const,
    "applied" as const,
    "deleted" as const,
    "vanished" as const,
  ),
  after: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 1_700_000 })),
  isHidden: fc.boolean(),
})

/** The history, with everything needed to write it down and to know the state at any moment. */
interface Change {
  readonly kind: 0 | 1
  readonly key: string
  readonly number: number
  readonly action: keyof typeof codes
  readonly time: number
  /** Distinguishes this state of the object from all others. */
  readonly content: number
  readonly isHidden: boolean
  readonly isNew: boolean
}

/** Valid steps: only live objects are deleted, and a reused name is another object. */
const history = (steps: ReadonlyArray<Step>): ReadonlyArray<Change> => {
  const alive = new Map<string, number>()
  const next: [number, number] = [1, 1]
  let time = start
  return steps.flatMap(({ kind, slot, action, after, isHidden }, content) => {
    time += after
    const key = `${kinds[kind]} shop/n${slot}`
    const living = alive.get(key)
    if (living === undefined && action !== "applied") return []
    const number = living ?? next[kind]++
    if (action === "applied") alive.set(key, number)
    else alive.delete(key)
    return [{ kind, key, number, action, time, content, isHidden, isNew: living === undefined }]
  })
}

const write = (directory: string, changes: ReadonlyArray<Change>): number => {
  // Small blocks and frequent checkpoints, so that a short history has many of them.
  const writer = ArchiveWriter.open(directory, { limits: { blockBytes: 1500, blocksPerCheckpoint: 3 } })
  const memory = Buffer.alloc(8192)
  for (const [index, { kind, key, number, action, time, content, isHidden, isNew }] of changes.entries()) {
    const builder = new ObservationsBuilder(kinds[kind])
    const name = key.slice(key.indexOf("/n") + 1)
    const metadata = { name, namespace: "shop", labels: { app: isHidden ? "hidden" : "web" } }
    const object = action === "vanished" ? "" : JSON.stringify({ metadata, spec: { content } })
    builder.begin(memory, 0)
    if (isNew) builder.addObject({ number, uid: `${kind}-${number}`, namespace: "shop", name })
    const bytes = Buffer.from(object)
    const event = { action: codes[action], objectNumber: number, timeMicros: time, version: index + 1, bytes }
    expect(builder.append(frameEvent({ ...event, fingerprintLow: content }))).toBe(true)
    writer.append(`watcher ${kind}`, 1, index + 1, memory.subarray(0, builder.finish()))
    if (index % 5 === 4) writer.commit()
  }
  const { cut } = writer.commit()
  writer.close()
  return cut
}

type State = ReadonlyMap<string, number>

/** The objects alive just before a moment that the filter shows, each with its content. */
const stateBefore = (changes: ReadonlyArray<Change>, moment: number, hides: boolean): State => {
  const alive = new Map<string, number>()
  for (const { key, action, time, content, isHidden } of changes) {
    if (time >= moment) continue
    if (action === "applied" && !(hides && isHidden)) alive.set(key, content)
    else alive.delete(key)
  }
  return alive
}

const exported = async (directory: string, job: ExportJob): Promise<Buffer> => {
  const pieces: Array<Uint8Array> = []
  for await (const piece of openExport({ directory }, job).pieces) pieces.push(Uint8Array.from(piece))
  return Buffer.concat(pieces)
}

interface Read {
  readonly moment: number
  readonly state: State
}

/** States after each line of an NDJSON trace, that at the window's start first. */
const statesOfNdjson = (trace: Uint8Array, fromTime: number): ReadonlyArray<Read> => {
  const reader = new NdjsonReader()
  const alive = new Map<string, number>()
  const states: Array<Read> = []
  let isInWindow = false
  for (const item of [...reader.push(trace), ...reader.end()]) {
    if (item.type !== "event" || item.event.type !== "object") continue
    const { event } = item
    if (!item.isSnapshot && !isInWindow) {
      states.push({ moment: fromTime, state: new Map(alive) })
      isInWindow = true
    }
    const key = `${event.gvk} ${event.namespace}/${event.name}`
    if (event.action === "applied") alive.set(key, JSON.parse(Buffer.from(event.object).toString()).spec.content)
    else alive.delete(key)
    if (isInWindow) states.push({ moment: event.time + 1, state: new Map(alive) })
  }
  if (!isInWindow) states.push({ moment: fromTime, state: new Map(alive) })
  // Of several changes in one µs the last is the state after it.
  return states.filter(({ moment }, index) => states[index + 1]?.moment !== moment)
}

/** States at the end of each second of a trace in SimKube's format. */
const statesOfSimkube = (trace: Uint8Array): ReadonlyArray<Read> => {
  const reader = new SimkubeTraceReader()
  const alive = new Map<string, number>()
  const states: Array<Read> = []
  const keyOf = (object: object): string => {
    const { apiVersion, kind, metadata } = object as { apiVersion: string; kind: string; metadata: { name: string } }
    return `${apiVersion}.${kind} shop/${metadata.name}`
  }
  let seconds = 0
  for (const item of [...reader.push(trace), ...reader.end()]) {
    if (item.type === "event") {
      if (seconds !== 0 && item.seconds !== seconds)
        states.push({ moment: (seconds + 1) * second, state: new Map(alive) })
      seconds = item.seconds
    } else if (item.type === "applied") {
      alive.set(keyOf(item.object), (item.object as unknown as { spec: { content: number } }).spec.content)
    } else if (item.type === "deleted") expect(alive.delete(keyOf(item.object))).toBe(true)
  }
  return [...states, { moment: (seconds + 1) * second, state: new Map(alive) }]
}

const sorted = (state: State): ReadonlyArray<readonly [string, number]> => [...state].sort()

test("a history read back from NDJSON and from SimKube's format gives the state at every moment", async () => {
  const window = fc.tuple(fc.integer({ min: 0, max: 20_000_000 }), fc.integer({ min: 0, max: 40_000_000 }))
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), window, fc.boolean(), async (steps, [from, length], hides) => {
      const directory = mkdtempSync(join(tmpdir(), "kubereel-history-"))
      try {
        const changes = history(steps)
        const fromTime = start + from
        const untilTime = fromTime + length
        const filters = { excluded_namespaces: [], excluded_labels: hides ? ["app=hidden"] : [] }
        const job = exportJob(kinds, { cut: write(directory, changes), fromTime, untilTime, filters })
        for (const { moment, state } of statesOfNdjson(await exported(directory, job), fromTime)) {
          expect(sorted(state)).toEqual(sorted(stateBefore(changes, moment, hides)))
        }
        for (const { moment, state } of statesOfSimkube(await exported(directory, { ...job, format: "simkube" }))) {
          const until = Math.min(moment, untilTime)
          expect(sorted(state)).toEqual(sorted(stateBefore(changes, until, hides)))
        }
      } finally {
        rmSync(directory, { recursive: true, force: true })
      }
    }),
    { numRuns: rounds(120) },
  )
})
