/** Random histories of objects with labels and replicas: recorded, and beside it as a plain list, from which every question is answered the slow way. */
import fc from "fast-check"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { mergingBounds } from "../../../src/archive/retention/block-merging.ts"
import type { Action } from "../../../src/trace/index.ts"
import { encodeFrame, nameOf, type SampleFrame, START } from "../sample-frames.ts"

export const historyKinds = ["v1.Pod", "apps/v1.Deployment"]

/** One change as it was recorded. */
export interface HistoryEvent {
  readonly sequence: number
  readonly gvk: string
  readonly number: number
  readonly action: Action
  readonly time: number
  readonly object: string
  readonly uid: string
  readonly namespace: string
  readonly name: string
}

interface Step {
  readonly kind: number
  readonly number: number
  readonly action: Action
  readonly delay: number
  readonly app: string
  readonly replicas: number
  readonly commits: boolean
}

export const anyHistory: fc.Arbitrary<ReadonlyArray<Step>> = fc.array(
  fc.record({
    kind: fc.nat(historyKinds.length - 1),
    number: fc.integer({ min: 1, max: 9 }),
    action: fc.constantFrom<Action>("applied", "applied", "applied", "applied", "deleted", "vanished"),
    delay: fc.constantFrom(0, 1, 1000),
    app: fc.constantFrom("web", "db"),
    replicas: fc.nat(2),
    commits: fc.boolean(),
  }),
  { minLength: 1, maxLength: 80 },
)

/** The object that a step stores. */
export const objectOf = (gvk: string, number: number, { app, replicas }: Pick<Step, "app" | "replicas">): string => {
  const { uid, namespace, name } = nameOf(gvk, number)
  const labels = { app }
  return JSON.stringify({ metadata: { uid, namespace, name, labels }, spec: { replicas }, filler: "x".repeat(90) })
}

/**
 * Records a history in small blocks with a checkpoint every few, all kinds complete from the beginning. `kept`: the part of its time that retention leaves; default: all
 * of it.
 */
export const recordHistory = (
  directory: string,
  steps: ReadonlyArray<Step>,
  kept?: number,
): ReadonlyArray<HistoryEvent> => {
  let [time, frames] = [START, 0]
  const writer = ArchiveWriter.open(directory, {
    now: () => time,
    limits: {
      ...{ blockBytes: 1500, blocksPerCheckpoint: 3 },
      retention: { merging: { ...mergingBounds, objectBytes: 6000 } },
    },
  })
  const events: HistoryEvent[] = []
  const known = new Set<string>()
  const append = (frame: SampleFrame): void => {
    frames++
    writer.append("watcher/sample", 1, frames, encodeFrame(frame))
  }
  for (const gvk of historyKinds) append({ gvk, completeThrough: "1" })
  for (const [index, step] of steps.entries()) {
    const gvk = historyKinds[step.kind] as string
    const { number, action } = step
    time += step.delay
    const object = action === "vanished" ? "" : objectOf(gvk, number, step)
    const isNew = !known.has(`${gvk} ${number}`)
    known.add(`${gvk} ${number}`)
    append({
      gvk,
      newObjects: isNew ? [number] : [],
      events: [{ action, number, time, version: index + 2, object }],
      completeThrough: String(index + 2),
    })
    events.push({ sequence: events.length + 1, gvk, number, action, time, object, ...nameOf(gvk, number) })
    if (step.commits) writer.commit()
  }
  writer.commit()
  // Half of the histories are in merged blocks.
  if (steps.length % 2 === 0) while (writer.retention.step(() => false));
  if (kept !== undefined) {
    writer.retention.setPolicy({ forMicros: Math.max(1, Math.floor((time - START) * kept)), kinds: new Map() })
    for (let left = 1000; left > 0 && writer.retention.step(() => true); left--);
  }
  writer.close()
  return events
}

/** The last event of each object of a kind up to a moment, of those that exist then. */
export const aliveIn = (
  events: ReadonlyArray<HistoryEvent>,
  gvk: string,
  time: number,
): ReadonlyArray<HistoryEvent> => {
  const last = new Map<number, HistoryEvent>()
  for (const event of events) if (event.gvk === gvk && event.time <= time) last.set(event.number, event)
  return [...last.values()].filter(({ action }) => action === "applied")
}
