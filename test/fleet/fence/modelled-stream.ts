/**
 * Recorders, their directories, an object store and a compaction, one step at a time: a model in which every answer may be lost, every creation delayed,
 * every process killed and every directory copied or put back, between any two steps. Only the fence is the real one.
 */
import { expect } from "vitest"
import { fromTheBeginning } from "../../../src/archive/index.ts"
import {
  afterEvent,
  commandOf,
  type FenceCommand,
  type FenceEvent,
  type FenceState,
  isOpening,
  openFence,
} from "../../../src/fleet/fence/fence.ts"
import { newTenure, type Shipment, startOf, type Tenure } from "../../../src/fleet/fence/tenure.ts"

interface Segment extends Shipment {
  readonly previous: string
  readonly events: ReadonlyArray<string>
}

/** What survives a kill. */
interface Directory {
  readonly log: ReadonlyArray<string>
  readonly tenure: Tenure
}

/** How a command goes: `ok`; without effect; with its effect and without an answer; a creation that takes effect later, or never. */
export type Outcome = "ok" | "fails" | "answer-lost" | "delayed"

const streamId = "stream"

class ModelledWriter {
  log: Array<string>
  tenure: Tenure
  fence: FenceState
  /** Of this life. */
  #built: Segment | undefined
  answer: FenceEvent | undefined
  /** The stream as it was when the directory was restored, whose next number is to be created; `undefined`: the directory has a recording. */
  restoring: ReadonlyArray<Segment> | undefined
  readonly #snapshots: Array<Directory> = []

  constructor({ log, tenure }: Directory) {
    this.log = [...log]
    this.tenure = tenure
    this.fence = openFence(tenure)
  }

  get isFenced(): boolean {
    return this.fence.step.tag === "fenced"
  }

  get directory(): Directory {
    return { log: [...this.log], tenure: this.tenure }
  }

  kill(): void {
    this.fence = openFence(this.tenure)
    this.#built = undefined
    this.answer = undefined
  }

  snapshot(): void {
    if (this.restoring === undefined) this.#snapshots.push(this.directory)
  }

  /** The directory as it was at a snapshot, in a new life. */
  putBack(): void {
    const before = this.#snapshots.at(-1)
    if (before !== undefined) this.replaceBy(before)
  }

  replaceBy({ log, tenure }: Directory, restoring?: ReadonlyArray<Segment>): void {
    this.log = [...log]
    this.tenure = tenure
    this.restoring = restoring
    this.kill()
  }

  deliver(): void {
    if (this.answer !== undefined) this.fence = afterEvent(this.fence, this.answer)
    this.answer = undefined
  }

  /** Whether the thread with the built bytes is lost, and the rest of the process not. */
  loseBytes(): void {
    this.#built = undefined
  }

  perform(stream: ModelledStream, outcome: Outcome, events: number): void {
    if (this.answer !== undefined || outcome === "fails") return
    const answer = this.#answerOf(commandOf(this.fence), stream, outcome, events)
    if (outcome !== "answer-lost") this.answer = answer
  }

  #answerOf(command: FenceCommand, stream: ModelledStream, outcome: Outcome, events: number): FenceEvent | undefined {
    switch (command.tag) {
      case "look":
        return { tag: "found", link: stream.objects.get(command.number) }
      case "build":
        this.#built = this.#build(stream, command.tenure, events)
        return { tag: "built", intent: this.#built }
      case "keep":
        this.tenure = command.tenure
        return { tag: "kept" }
      case "create": {
        const built = this.#built
        if (built?.sha256 !== command.intent.sha256) return { tag: "lost" }
        if (outcome === "delayed") {
          stream.delayed.push(built)
          return undefined
        }
        return { tag: stream.create(built) ? "created" : "exists" }
      }
      case "confirm":
        return { tag: "compacted", through: stream.compactedThrough }
      case "rest":
        return { tag: "due" }
      case "end":
        return undefined
    }
  }

  #build(stream: ModelledStream, tenure: Tenure, most: number): Segment | undefined {
    const { shipped: after, owner, epoch } = tenure
    const from = after?.position.sequence ?? 0
    const events = this.log.slice(from, from + most)
    if (events.length === 0 && after?.isWhole !== false && !isOpening(tenure)) return undefined
    const throughSequence = from + events.length
    const isWhole = throughSequence === this.log.length
    return {
      ...{ number: (after?.number ?? 0) + 1, epoch, owner, sha256: `sha ${stream.unique()}`, isWhole },
      ...{
        position: { ...fromTheBeginning, sequence: throughSequence },
        heldAfter: isWhole ? throughSequence : (after?.heldAfter ?? 0),
      },
      ...{ previous: after?.sha256 ?? "", events },
    }
  }
}

/** What the segments say together: parts that no whole segment of their epoch ends count for nothing, unless `until` may still end them. */
const wholeEvents = (segments: ReadonlyArray<Segment>, until?: Shipment): ReadonlyArray<string> => {
  const whole: Array<string> = []
  let parts: ReadonlyArray<Segment> = []
  for (const segment of segments) {
    parts = [...(parts[0]?.epoch === segment.epoch ? parts : []), segment]
    if (!segment.isWhole && segment.sha256 !== until?.sha256) continue
    whole.push(...parts.flatMap(({ events }) => events))
    parts = []
  }
  return whole
}

export class ModelledStream {
  readonly objects = new Map<number, Segment>()
  readonly delayed: Array<Segment> = []
  readonly writers: Array<ModelledWriter> = []
  /** What compaction has made of the first segments. */
  #compacted: ReadonlyArray<Segment> = []
  #counter = 0
  /** How often what was to be tried happened. */
  readonly seen = { fenced: 0, adopted: 0, takenOver: 0 }

  constructor() {
    this.writers.push(new ModelledWriter({ log: [], tenure: newTenure(streamId, this.#owner()) }))
  }

  unique(): number {
    return ++this.#counter
  }

  #owner(): string {
    return `owner ${this.unique()}`
  }

  get compactedThrough(): number {
    return this.#compacted.length
  }

  create(segment: Segment): boolean {
    if (this.objects.has(segment.number)) return false
    this.objects.set(segment.number, segment)
    return true
  }

  record(writer: number): void {
    const { log } = this.#writer(writer)
    log.push(`event ${this.unique()}`)
  }

  perform(writer: number, outcome: Outcome, events: number): void {
    const acting = this.#writer(writer)
    if (acting.restoring === undefined) acting.perform(this, outcome, events)
    else this.#takeOver(acting, acting.restoring, outcome)
  }

  deliver(writer: number): void {
    const acting = this.#writer(writer)
    const before = acting.fence.step.tag
    acting.deliver()
    const after = acting.fence.step.tag
    if (after === "fenced" && before !== "fenced") this.seen.fenced++
    if (before === "looking" && after === "confirming") this.seen.adopted++
  }

  kill(writer: number): void {
    this.#writer(writer).kill()
  }

  loseBytes(writer: number): void {
    this.#writer(writer).loseBytes()
  }

  snapshot(writer: number): void {
    this.#writer(writer).snapshot()
  }

  putBack(writer: number): void {
    this.#writer(writer).putBack()
  }

  /** A process with a copy of the directory, which has the same owner. */
  copy(writer: number): void {
    const { directory, restoring } = this.#writer(writer)
    if (this.writers.length < 5) this.#add(directory, restoring)
  }

  /** The store takes one of the creations that were under way. */
  arrive(which: number): void {
    const [segment] = this.delayed.splice(which % Math.max(1, this.delayed.length), 1)
    if (segment !== undefined) this.create(segment)
  }

  /** The manifest appears. The last segment stays, and the objects go later. */
  compact(through: number): void {
    const all = this.accepted()
    const until = Math.min(through, all.length - 1)
    if (until > this.compactedThrough) this.#compacted = all.slice(0, until)
  }

  removeCompacted(): void {
    for (const number of [...this.objects.keys()]) if (number <= this.compactedThrough) this.objects.delete(number)
  }

  #add(directory: Directory, restoring?: ReadonlyArray<Segment>): void {
    const added = new ModelledWriter(directory)
    added.restoring = restoring
    this.writers.push(added)
  }

  /** A recorder starts with an empty directory, beside whoever runs. */
  join(): void {
    if (this.writers.length >= 5) return
    this.#add(this.#empty())
    this.#start(this.writers.length - 1, undefined)
  }

  /** A recorder starts again with its directory. */
  restart(writer: number): void {
    const { restoring, tenure } = this.#writer(writer)
    this.#start(writer, restoring === undefined ? tenure : undefined)
  }

  #empty(): Directory {
    return { log: [], tenure: newTenure(streamId, this.#owner()) }
  }

  #start(writer: number, tenure: Tenure | undefined): void {
    const acting = this.#writer(writer)
    const accepted = this.accepted()
    const start = startOf({ id: streamId, clusterUid: "", last: accepted.at(-1) }, { clusterUid: "", tenure })
    switch (start.tag) {
      case "continue":
        return acting.kill()
      case "begin":
        return acting.replaceBy(this.#empty())
      case "restore":
        return acting.replaceBy(this.#empty(), accepted)
      case "refuse":
        throw new Error(start.reason)
    }
  }

  /** What was restored becomes a recording if the number after it can still be created; otherwise the stream is read again. */
  #takeOver(acting: ModelledWriter, restored: ReadonlyArray<Segment>, outcome: Outcome): void {
    const log = wholeEvents(restored)
    const last = restored.at(-1)
    const position = { ...fromTheBeginning, sequence: log.length }
    const shipped = last && { ...last, position, heldAfter: log.length, isWhole: true }
    const tenure = newTenure(streamId, this.#owner(), shipped)
    const opening: Segment = {
      ...{ number: (last?.number ?? 0) + 1, epoch: tenure.epoch, owner: tenure.owner, sha256: `sha ${this.unique()}` },
      ...{ isWhole: false, position, heldAfter: log.length, previous: last?.sha256 ?? "", events: [] },
    }
    if (outcome === "delayed") this.delayed.push(opening)
    const isCreated = outcome !== "delayed" && outcome !== "fails" && this.create(opening)
    const isAccepted = isCreated && this.compactedThrough < opening.number
    if (outcome !== "ok" || !isAccepted) {
      acting.restoring = this.accepted()
      return
    }
    this.seen.takenOver++
    acting.replaceBy({ log, tenure: { ...tenure, shipped: opening } })
  }

  /** The stream as a reader sees it: what the manifest says, and then the objects with greater numbers as long as there is no hole. */
  accepted(): ReadonlyArray<Segment> {
    const all = [...this.#compacted]
    for (let next = this.objects.get(all.length + 1); next !== undefined; next = this.objects.get(all.length + 1))
      all.push(next)
    return all
  }

  /** Must hold after every step. */
  check(): void {
    const accepted = this.accepted()
    const events = wholeEvents(accepted)
    expect(new Set(events).size, "an event is in two segments").toBe(events.length)
    let before: Segment | undefined
    for (const segment of accepted) {
      expect(segment.previous, "the chain is broken").toBe(before?.sha256 ?? "")
      expect(segment.epoch).toBeGreaterThanOrEqual(before?.epoch ?? 0)
      before = segment
    }
    const numbers = [...this.objects.keys()].filter((number) => number > this.compactedThrough)
    expect(numbers.length, "a hole").toBe(accepted.length - this.compactedThrough)
    for (const { tenure, log } of this.writers) {
      const { shipped } = tenure
      if (shipped === undefined) continue
      const last = accepted[shipped.number - 1]
      expect(last?.sha256, "what was shipped is not there").toBe(shipped.sha256)
      const held = log.slice(0, shipped.heldAfter)
      expect(events.slice(0, shipped.heldAfter), "what retention may remove is not in the stream").toEqual(held)
      const until = shipped.isWhole ? undefined : shipped
      const shippedEvents = wholeEvents(accepted.slice(0, shipped.number), until)
      expect(log.slice(0, shipped.position.sequence), "shipped is not what was recorded").toEqual(shippedEvents)
    }
  }

  /** Everything under way arrives, nothing fails any more, and each recorder has something to ship: all but one at most are fenced, and that one has everything in the stream. */
  settle(): void {
    while (this.delayed.length > 0) this.arrive(0)
    for (const writer of this.writers)
      while (writer.restoring !== undefined) this.#takeOver(writer, writer.restoring, "ok")
    for (const [index, writer] of this.writers.entries()) {
      this.record(index)
      for (let step = 0; step < 200 && !writer.isFenced; step++) {
        writer.perform(this, "ok", 100)
        writer.deliver()
      }
    }
    this.check()
    const recorded = wholeEvents(this.accepted())
    const going = this.writers.filter(({ isFenced }) => !isFenced)
    for (const { log } of going) expect(recorded).toEqual(log)
    expect(going.length, "two write the stream").toBeLessThanOrEqual(1)
  }

  #writer(index: number): ModelledWriter {
    const writer = this.writers[index % this.writers.length]
    if (writer === undefined) throw new RangeError("there are no writers")
    return writer
  }
}
