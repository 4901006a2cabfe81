/** Whoever follows a recording gets each event once, wherever it breaks off and goes on, and what an object that no longer matches has become. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { LiveChanges, type LiveQuestion } from "../../../src/archive/queries/live-changes.ts"
import { QueriedRecording } from "../../../src/archive/queries/queried-recording.ts"
import { QuestionRefused } from "../../../src/archive/queries/query-errors.ts"
import { ObservationsBuilder } from "../../../src/wire/index.ts"
import { rounds } from "../../harness/effort.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { frameEvent } from "../../wire/frame-events.ts"
import { encodeFrame, gapAt, type SampleFrame, START } from "../sample-frames.ts"
import { anyHistory, type HistoryEvent, historyKinds, recordHistory } from "./sample-history.ts"
import { changes } from "./whole-answers.ts"

interface Told {
  readonly sequence: number
  readonly type: string
  readonly isSelected: boolean
  readonly object: string
  readonly before: string | undefined
}

/** Everything up to the cut. */
const told = (live: LiveChanges, most = Number.POSITIVE_INFINITY): ReadonlyArray<Told> => {
  const items: Told[] = []
  for (const item of live.toCut()) {
    if (item === undefined || !("event" in item)) continue
    const { type, isSelected, event, before } = item
    const object = Buffer.from(event.object).toString()
    items.push({ sequence: event.sequence, type, isSelected, object, before: before && Buffer.from(before).toString() })
    if (items.length >= most) break
  }
  return items
}

/** The same from the plain list. */
const expected = (
  events: ReadonlyArray<HistoryEvent>,
  wants: (event: HistoryEvent) => boolean,
): ReadonlyArray<Told> => {
  const last = new Map<string, string>()
  return events.flatMap((event) => {
    const key = `${event.gvk} ${event.number}`
    const before = last.get(key)
    const isFirst = !last.has(key)
    if (event.object !== "" || isFirst) last.set(key, event.object)
    const type = event.action === "applied" ? (isFirst ? "appeared" : "changed") : event.action
    const { sequence, object } = event
    return wants(event)
      ? [{ sequence, type, isSelected: true, object, before: before === "" ? undefined : before }]
      : []
  })
}

const withRecording = <Result>(directory: string, use: (recording: QueriedRecording) => Result): Result => {
  const recording = QueriedRecording.open(directory)
  try {
    return use(recording)
  } finally {
    recording.close()
  }
}

test("pieces of any length, each gone on from where the last ended, are the whole", () => {
  fc.assert(
    fc.property(anyHistory, fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 20 }), (steps, lengths) => {
      const directory = temporaryDirectory()
      const events = recordHistory(directory, steps)
      const whole = expected(events, () => true)
      const pieces: Told[] = []
      let after = 0
      for (const length of [...lengths, Number.POSITIVE_INFINITY])
        withRecording(directory, (recording) => {
          const live = new LiveChanges(recording, { after, withBefore: true })
          pieces.push(...told(live, length))
          // As a client does: from the last item that it has.
          after = length === Number.POSITIVE_INFINITY ? live.position : (pieces.at(-1)?.sequence ?? 0)
        })
      expect(pieces).toEqual(whole)
      expect(after).toBe(withRecording(directory, ({ cut }) => cut))
    }),
    { numRuns: rounds(60) },
  )
})

test("with a selection by name, the others are not told", () => {
  fc.assert(
    fc.property(anyHistory, fc.integer({ min: 1, max: 9 }), (steps, number) => {
      const directory = temporaryDirectory()
      const events = recordHistory(directory, steps)
      withRecording(directory, (recording) => {
        const question: LiveQuestion = { after: 0, withBefore: false, kinds: ["v1.Pod"], name: `object-${number}` }
        const wanted = expected(events, (event) => event.gvk === "v1.Pod" && event.number === number)
        expect(told(new LiveChanges(recording, question))).toEqual(
          wanted.map((each) => ({ ...each, before: undefined })),
        )
      })
    }),
    { numRuns: rounds(60) },
  )
})

test("with a selection by label, an object that stops matching is told once, wherever one begins", () => {
  fc.assert(
    fc.property(anyHistory, fc.nat(30), (steps, start) => {
      const directory = temporaryDirectory()
      const events = recordHistory(directory, steps)
      const after = Math.min(start, events.length)
      withRecording(directory, (recording) => {
        const labels = [{ key: "app", operator: "In", values: ["web"] }] as unknown as NonNullable<
          LiveQuestion["labels"]
        >
        const matches = ({ object }: HistoryEvent): boolean => object.includes('"app":"web"')
        const items = told(new LiveChanges(recording, { after, withBefore: false, labels }))
        const byObject = Map.groupBy(events, ({ gvk, number }) => `${gvk} ${number}`)
        const sequences = new Set(items.map(({ sequence }) => sequence))
        for (const all of byObject.values())
          for (const [index, event] of all.entries()) {
            if (event.sequence <= after) continue
            const former = all.slice(0, index).findLast(({ object }) => object !== "")
            const left = former !== undefined && matches(former) && !matches(event)
            // Whatever concerns an object that matches, or did.
            if (matches(event) || left) expect(sequences).toContain(event.sequence)
            // Nothing twice about one that is known not to match.
            const known = all.slice(0, index).findLast(({ sequence }) => sequence > after)
            if (known !== undefined && known.action === "applied" && !matches(known) && !matches(event))
              expect(sequences).not.toContain(event.sequence)
          }
      })
    }),
    { numRuns: rounds(60) },
  )
})

const gvk = historyKinds[0] as string

const writerOf = (directory: string, limits = {}) => {
  let [frames, version] = [0, 1]
  const writer = ArchiveWriter.open(directory, { now: () => START + version, limits })
  const append = (frame: Omit<SampleFrame, "gvk">): void => {
    frames++
    writer.append("watcher/sample", 1, frames, encodeFrame({ gvk, ...frame }))
    writer.commit()
  }
  const change = (number: number, isNew: boolean): void => {
    version++
    const object = `{"version":${version},"filler":"${"x".repeat(300)}"}`
    append({
      newObjects: isNew ? [number] : [],
      events: [{ action: "applied", number, time: START + version, version, object }],
      completeThrough: String(version),
    })
  }
  return { writer, append, change }
}

test("what is committed while one follows comes with the next look, gaps in their place", () => {
  const directory = temporaryDirectory()
  const { writer, append, change } = writerOf(directory)
  change(1, true)
  withRecording(directory, (recording) => {
    const live = new LiveChanges(recording, { after: recording.cut, withBefore: false })
    expect([...live.toCut()]).toEqual([])
    expect(recording.hasGrown).toBe(false)
    change(2, true)
    append({ gaps: [gapAt(START + 5)] })
    change(1, false)
    expect(recording.hasGrown).toBe(true)
    recording.refresh()
    const types = Array.from(live.toCut(), (item) => (item !== undefined && "event" in item ? item.type : item?.type))
    expect(types).toEqual(["appeared", "gap", "changed"])
    expect(live.position).toBe(recording.cut)
    expect([...live.toCut()]).toEqual([])
  })
  writer.close()
})

test("what retention removed is gone, and who begins with the first event gets what is kept", () => {
  const directory = temporaryDirectory()
  const limits = { blockBytes: 4000, retention: { stride: { blocks: 100, events: 10_000, rows: 1000 } } }
  const { writer, change } = writerOf(directory, limits)
  change(1, true)
  for (let count = 0; count < 200; count++) change(1, false)
  writer.retention.setPolicy({ forMicros: 50, kinds: new Map() })
  while (writer.retention.step(() => true));
  withRecording(directory, (recording) => {
    const follow = (after: number) => new LiveChanges(recording, { after, withBefore: false })
    expect(() => follow(10)).toThrow(QuestionRefused)
    expect(() => follow(10)).toThrow(/events up to \d+ were removed by retention/)
    expect(() => follow(recording.cut + 1)).toThrow(/it is not the one that had event/)
    const kept = told(follow(0))
    expect(kept.length).toBeGreaterThan(40)
    expect(kept.length).toBeLessThan(200)
    expect(kept.at(-1)?.sequence).toBe(recording.cut)
  })
  writer.close()
})

test("an object that is adopted has changed, and has not appeared", () => {
  const directory = temporaryDirectory()
  const writer = ArchiveWriter.open(directory, { now: () => START + 10 })
  const send = (frame: number, versions: ReadonlyArray<number>, owner?: string): void => {
    const builder = new ObservationsBuilder("v1.Pod")
    const slab = Buffer.alloc(16 * 1024)
    builder.begin(slab, 0)
    const ownerReferences = Buffer.from(
      JSON.stringify([{ apiVersion: "apps/v1", kind: "ReplicaSet", name: owner, uid: owner }]),
    )
    const named = {
      number: 1,
      uid: "uid-1",
      namespace: "shop",
      name: "web",
      ...(owner !== undefined && { ownerReferences }),
    }
    if (!builder.addObject(named)) throw new Error("the frame is full")
    for (const version of versions) {
      const bytes = Buffer.from(`{"version":${version}}`)
      builder.append(frameEvent({ action: 1, objectNumber: 1, timeMicros: START + version, version, bytes }))
    }
    writer.append("watcher/sample", 1, frame, slab.subarray(0, builder.finish()))
    writer.commit()
  }
  send(1, [1])
  send(2, [2, 3], "replica-set")
  writer.close()
  withRecording(directory, (recording) => {
    const live = new LiveChanges(recording, { after: 0, withBefore: true })
    expect(told(live).map(({ type, before }) => [type, before])).toEqual([
      ["appeared", undefined],
      ["changed", '{"version":1}'],
      ["changed", '{"version":2}'],
    ])
    const since = Array.from(changes(recording, { from: START + 2, withBefore: true }), ({ type, before }) => [
      type,
      before && Buffer.from(before).toString(),
    ])
    expect(since).toEqual([
      ["changed", '{"version":1}'],
      ["changed", '{"version":2}'],
    ])
  })
})
