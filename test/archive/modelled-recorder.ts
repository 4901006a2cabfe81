/** A small recorder that takes any commands, beside a model of what it records. */
import fc from "fast-check"
import { expect } from "vitest"
import { ArchiveReader } from "../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../src/archive/archive-writer.ts"
import { verifyRecording } from "../../src/archive/damage/verify-recording.ts"
import { mergingBounds } from "../../src/archive/retention/block-merging.ts"
import { keepsAll, type RetentionPolicy } from "../../src/archive/retention/policy.ts"
import { Beginnings } from "../../src/archive/rows/beginnings.ts"
import { readKinds } from "../../src/archive/rows/kind-table.ts"
import { openForReading } from "../../src/archive/tables/schema.ts"
import type { Action, GapEvent, LateChanges } from "../../src/trace/index.ts"
import type { LateRange } from "../../src/wire/index.ts"
import { asIfCrashed } from "./crashed-copy.ts"
import { RecordingModel } from "./recording-model.ts"
import { encodeFrame, fingerprintOf, gapAt, type PlainEvent, plain, type SampleEvent, START } from "./sample-frames.ts"

/** The recorded kinds. */
export const KINDS = ["v1.Pod", "apps/v1.Deployment", "example.com/v1.Training"]
/** Versions of the last kind are not integers. */
const OPAQUE = KINDS[2]

export type Command =
  | {
      readonly type: "frame"
      readonly kind: number
      readonly events: ReadonlyArray<AnyEvent>
      readonly hasGap: boolean
      /** 0 if it is live; else the part of the time since the kind's last event that had passed when its events happened. */
      readonly late: number
    }
  | { readonly type: "repeat" | "late"; readonly kind: number }
  | { readonly type: "gap"; readonly kind: number }
  | { readonly type: "commit" | "reopen" | "crash" | "compare" | "compact" }
  /** Of blocks; steps between commits. */
  | { readonly type: "merge"; readonly steps: number }
  | {
      readonly type: "retain"
      /** What is kept, as parts of the time that has passed, or of the bytes. */
      readonly part: number
      readonly limit: "time" | "bytes" | "time of a kind" | "bytes of a kind" | "time of each" | "bytes of each"
      readonly kind: number
      /** Transactions. */
      readonly steps: number
    }

interface AnyEvent {
  readonly object: number
  readonly action: Action
  readonly delay: number
  readonly size: number
}

const anyEvent: fc.Arbitrary<AnyEvent> = fc.record({
  object: fc.nat(12),
  action: fc.constantFrom("applied", "applied", "applied", "deleted", "vanished"),
  delay: fc.constantFrom(0, 0, 1, 50, 1000),
  size: fc.constantFrom(2, 40, 400, 4000),
})

const anyKind = fc.nat(KINDS.length - 1)
export const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      type: fc.constant("frame" as const),
      kind: anyKind,
      events: fc.array(anyEvent, { maxLength: 8 }),
      hasGap: fc.boolean(),
      late: fc.oneof(fc.constant(0), fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true })),
    }),
  },
  { weight: 6, arbitrary: fc.record({ type: fc.constant("commit" as const) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom("repeat" as const, "late" as const), kind: anyKind }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("gap" as const), kind: anyKind }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom("reopen", "crash", "compare") }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("merge" as const), steps: fc.constantFrom(1, 3, 1000) }) },
)

/** Those that remove what was recorded. */
export const anyRetention: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant("retain" as const),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
      limit: fc.constantFrom(
        "time" as const,
        "time" as const,
        "bytes" as const,
        "time of a kind" as const,
        "bytes of a kind" as const,
        "time of each" as const,
        "bytes of each" as const,
      ),
      kind: anyKind,
      steps: fc.constantFrom(1, 2, 5, 1000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("compact" as const) }) },
)

/** A small recorder: one sender per kind, numbers for objects, and the model beside it. */
export class ModelledRecorder {
  #directory: string
  readonly model = new RecordingModel()
  writer: ArchiveWriter
  #time = START
  #version = 100
  #seed: number
  readonly #sent = new Map<number, { incarnation: number; number: number; bytes: Buffer }>()
  readonly #numbers = new Map<string, Map<number, number>>()
  readonly #next = new Map<string, number>()
  /** When the last event of a kind happened. */
  readonly #lasts = new Map<string, number>()

  constructor(directory: string, seed: number) {
    this.#directory = directory
    this.#seed = seed
    this.writer = this.#open()
  }

  run(command: Command): void {
    switch (command.type) {
      case "frame":
        return this.#send(command.kind, command.events, command.hasGap, command.late)
      case "repeat": {
        const sent = this.#sent.get(command.kind)
        if (sent === undefined || sent.number === 0) return
        const { incarnation, number, bytes } = sent
        expect(this.writer.append(`watcher/${command.kind}`, incarnation, number, bytes)).toBe("duplicate")
        return
      }
      case "late": {
        const sent = this.#sent.get(command.kind)
        if (sent === undefined) return
        const sender = `watcher/${command.kind}`
        const incarnation = this.writer.nextIncarnation(sender)
        expect(incarnation).toBeGreaterThan(sent.incarnation)
        expect(this.writer.append(sender, sent.incarnation, sent.number + 1, sent.bytes)).toBe("fenced")
        this.#sent.set(command.kind, { incarnation, number: 0, bytes: sent.bytes })
        return
      }
      case "gap": {
        const gvk = KINDS[command.kind] as string
        const gap = gapAt(this.#time)
        this.writer.recordGap(gvk, gap)
        this.model.append({ gvk, gaps: [gap] })
        return
      }
      case "commit": {
        const { cut } = this.writer.commit()
        expect(cut).toBe(this.model.sequence)
        expect(this.writer.pendingBytes).toBe(0)
        return
      }
      case "reopen":
        this.writer.close()
        this.writer = this.#open()
        return
      case "crash": {
        this.writer.commit()
        const crashed = this.writer
        this.#directory = asIfCrashed(this.#directory)
        crashed.close()
        this.writer = this.#open()
        return
      }
      case "compare":
        return this.compare()
      case "compact": {
        this.writer.commit()
        this.writer.retention.setPolicy(keepsAll)
        for (const _ of this.writer.retention.compact());
        return
      }
      case "merge": {
        this.writer.retention.setPolicy(keepsAll)
        for (let steps = 0; steps < command.steps && this.writer.retention.step(() => true); steps++);
        return
      }
      case "retain": {
        this.writer.commit()
        this.writer.retention.setPolicy(this.#policyOf(command))
        for (let steps = 0; steps < command.steps && this.writer.retention.step(() => true); steps++);
        return
      }
    }
  }

  #policyOf({ part, limit, kind }: Command & { readonly type: "retain" }): RetentionPolicy {
    const forMicros = Math.max(1, Math.floor((this.#time - START) * part))
    const { database, free, log } = this.writer.retention.diskUse()
    const bytes = Math.floor((database - free) * part) + log
    const gvk = KINDS[kind] as string
    if (limit === "time") return { forMicros, kinds: new Map() }
    if (limit === "bytes") return { bytes, kinds: new Map() }
    const own = limit.startsWith("time") ? { forMicros } : { bytes: Math.floor(bytes / 20) }
    // The kind is the one that keeps everything.
    return limit.endsWith("each") ? { kinds: new Map([[gvk, {}]]), each: own } : { kinds: new Map([[gvk, own]]) }
  }

  /** What is not removed of each kind. */
  #beginnings(): ReadonlyMap<string, { readonly throughSequence: number; readonly removedThrough: number }> {
    const database = openForReading(this.#directory)
    try {
      const names = new Map(readKinds(database).map(({ id, gvk }) => [id, gvk]))
      return new Map(
        [...new Beginnings(database).all().values()].map(({ kind, ...row }) => [names.get(kind) as string, row]),
      )
    } finally {
      database.close()
    }
  }

  /** Every way to read the archive against the model. */
  compare(): void {
    this.writer.commit()
    const reader = ArchiveReader.open(this.#directory, { cachedBytes: 2000 })
    try {
      const span = this.#time - START + 2
      const random = () => {
        this.#seed = (Math.imul(this.#seed, 1664525) + 1013904223) >>> 0
        return this.#seed / 2 ** 32
      }
      const beginnings = this.#beginnings()
      const removedThrough = Math.max(0, ...[...beginnings.values()].map((each) => each.removedThrough))
      const removed = Math.max(0, ...[...beginnings.values()].map((each) => each.throughSequence))
      const isKept = (event: PlainEvent | GapEvent): boolean =>
        event.sequence > (beginnings.get(event.gvk)?.throughSequence ?? 0)
      expect(reader.cut()).toBe(this.model.sequence)
      for (const cut of [this.model.sequence, removed + Math.floor(random() * (this.model.sequence + 1 - removed))]) {
        const anywhere = () => START + Math.floor(random() * span)
        const kinds = KINDS.filter(() => random() < 0.7)
        // Kinds come in the order of their first appearance in the recording.
        const known = reader.kinds().map(({ gvk }) => gvk)
        const earliest = Math.max(anywhere(), removedThrough + 1)
        const [from, until] = [earliest, Math.max(earliest, anywhere())]
        for (const times of ["happened", "received"] as const) {
          const all = { cut, fromTime: 0, untilTime: Number.MAX_SAFE_INTEGER, kinds: KINDS, times }
          const window = { cut, fromTime: from, untilTime: until, kinds, times }
          const isObject = (event: PlainEvent | GapEvent): boolean => removed === 0 || event.type === "object"
          expect(Array.from(reader.events(all), plain).filter(isObject)).toEqual(
            this.model.events(all).filter((event) => isKept(event) && isObject(event)),
          )
          expect(Array.from(reader.events(window), plain)).toEqual(this.model.events(window))
          for (const time of [from, removedThrough + 1]) {
            const moment = { cut, time, kinds: known.filter((gvk) => kinds.includes(gvk)), times }
            expect(Array.from(reader.snapshotAt(moment), plain)).toEqual(this.model.snapshot(moment))
          }
          // A window that begins before everything that is kept has the state of the beginning.
          for (const gvk of known) {
            const { throughSequence = 0 } = beginnings.get(gvk) ?? {}
            const first = Array.from(reader.snapshotAt({ cut, time: 0, kinds: [gvk], times }), plain)
            expect(first).toEqual(
              this.model.snapshot({ cut: throughSequence, time: Number.MAX_SAFE_INTEGER, kinds: [gvk], times }),
            )
          }
          // A late range grows with what is received after a cut.
          if (cut < this.model.sequence) continue
          // Of a range that continues, the part that was removed is gone.
          const part = (range: LateChanges): LateChanges =>
            removed === 0 ? range : { ...range, events: 0, receivedFrom: 0 }
          expect(sorted(reader.lateRanges(window).map(part))).toEqual(sorted(this.model.late(window).map(part)))
          if (removed === 0) expect(sorted(reader.lateRanges(all))).toEqual(sorted(this.model.late(all)))
        }
      }
      for (const event of reader.events()) {
        if (event.type === "gap" || event.action === "applied") continue
        const { sequence } = event
        const before = reader.lastStateBefore(event)
        expect(before && plain(before)).toEqual(this.model.lastStateBefore(sequence))
      }
      for (const gvk of KINDS) {
        const live = [...this.writer.liveObjects(gvk)].flat()
        const expected = this.model.alive(gvk, this.model.sequence).toSorted((a, b) => a.number - b.number)
        expect(
          live.map(({ number, uid, namespace, name, version, fingerprintLow, fingerprintHigh }) => ({
            number,
            uid,
            namespace,
            name,
            version: version.toString(),
            fingerprint: [fingerprintLow, fingerprintHigh],
          })),
        ).toEqual(
          expected.map(({ number, uid, namespace, name, resourceVersion, object }) => ({
            number,
            uid,
            namespace,
            name,
            version: resourceVersion,
            fingerprint: fingerprintOf(object),
          })),
        )
        expect(this.writer.kindState(gvk).nextObjectNumber).toBe((this.#next.get(gvk) ?? 0) + 1)
      }
    } finally {
      reader.close()
    }
  }

  /** Everything is as it was written, and nothing is kept for objects that ended before the beginning. */
  verify(): void {
    this.writer.commit()
    expect(verifyRecording(this.#directory)).toMatchObject({ faults: [], damagedBlocks: [], isSound: true })
  }

  #open(): ArchiveWriter {
    return ArchiveWriter.open(this.#directory, {
      now: () => this.#time,
      limits: {
        ...{ blockBytes: 6000, blocksPerCheckpoint: 3 },
        retention: {
          ...{ stride: { blocks: 3, events: 40, rows: 6 }, collectAfter: 3, reserveBytes: 4096 },
          merging: { ...mergingBounds, objectBytes: 15_000, blocks: 4, perRound: 3 },
        },
      },
    })
  }

  #send(kind: number, wanted: ReadonlyArray<AnyEvent>, hasGap: boolean, late: number): void {
    const gvk = KINDS[kind] as string
    const numbers = this.#numbers.get(gvk) ?? new Map<number, number>()
    this.#numbers.set(gvk, numbers)
    const newObjects: Array<number> = []
    // Occasionally a frame whose clock is behind the kind's last time.
    let time = wanted.length % 5 === 4 ? this.#time - 700 : this.#time
    const events = wanted.map(({ object, action, delay, size }): SampleEvent => {
      time += delay
      this.#version++
      let number = numbers.get(object)
      if (number === undefined) {
        number = (this.#next.get(gvk) ?? 0) + 1
        this.#next.set(gvk, number)
        numbers.set(object, number)
        newObjects.push(number)
      }
      // A UID is deleted once: the next object of that place is another one.
      if (action !== "applied") numbers.delete(object)
      const version = gvk === OPAQUE ? `v${this.#version}` : this.#version
      const text = `${gvk} ${number} at ${this.#version} `
      return { action, number, time, version, object: action === "vanished" ? "" : text.padEnd(size, "x") }
    })
    this.#time = Math.max(this.#time, time)
    const last = this.#lasts.get(gvk) ?? START
    const { events: placed, lateRanges } = madeLate(events, last, late)
    this.#lasts.set(gvk, Math.max(last, placed.at(-1)?.time ?? 0))
    const frame = { gvk, events: placed, newObjects, gaps: hasGap ? [gapAt(this.#time)] : [], lateRanges }
    const bytes = encodeFrame(frame)
    const { incarnation, number } = this.#sent.get(kind) ?? { incarnation: 1, number: 0 }
    const sent = { incarnation, number: number + 1, bytes }
    expect(this.writer.append(`watcher/${kind}`, sent.incarnation, sent.number, Buffer.from(bytes))).toBe("appended")
    this.#sent.set(kind, sent)
    this.model.append(frame)
  }
}

/** The events as if they had happened between the kind's last event and their receipt, unless `part` is 0. */
const madeLate = (
  events: ReadonlyArray<SampleEvent>,
  last: number,
  part: number,
): { readonly events: ReadonlyArray<SampleEvent>; readonly lateRanges: ReadonlyArray<LateRange> } => {
  const [first, final] = [events[0], events.at(-1)]
  // A clock that is behind the kind's last event is another case.
  if (part === 0 || first === undefined || final === undefined || first.time <= last) return { events, lateRanges: [] }
  const placed = events.map((event) => ({
    ...event,
    time: last + Math.floor((event.time - last) * part),
    received: event.time,
  }))
  const range: LateRange = {
    ...{ notBefore: last, notAfter: final.time, receivedFrom: first.time, receivedTo: final.time },
    ...{ events: events.length, cause: part < 0.5 ? "stopped" : "delayed", namespace: "" },
  }
  return { events: placed, lateRanges: [range] }
}

const sorted = (ranges: ReadonlyArray<LateChanges>): ReadonlyArray<string> =>
  ranges.map((range) => JSON.stringify(Object.entries(range).sort())).sort()
