/** The expected content of an archive as plain lists: the reference for the property tests. */

import type { EventTimes, GapEvent, LateChanges } from "../../src/trace/index.ts"
import { nameOf, type PlainEvent, type SampleFrame } from "./sample-frames.ts"

interface ModelEvent extends PlainEvent {
  readonly number: number
  /** When it was received, also if that is when it happened. */
  readonly receipt: number
}

/** The times of a window; by default when events happened. */
interface Times {
  readonly times?: EventTimes
}

const byTime = (left: { time: number; sequence: number }, right: { time: number; sequence: number }): number =>
  left.time - right.time || left.sequence - right.sequence

/** Takes frames in order and answers every query the slow way. */
export class RecordingModel {
  readonly #events: Array<ModelEvent> = []
  readonly #gaps: Array<GapEvent> = []
  readonly #late = new Map<string, LateChanges & { readonly sequence: number }>()
  readonly #lastTimes = new Map<string, number>()
  readonly #lastReceipts = new Map<string, number>()
  #sequence = 0

  get sequence(): number {
    return this.#sequence
  }

  append(frame: SampleFrame): void {
    for (const { notBefore, cause, ...range } of frame.lateRanges ?? []) {
      const key = JSON.stringify([frame.gvk, range.namespace, notBefore, cause])
      const before = this.#late.get(key) ?? { ...range, events: 0, sequence: this.#sequence + 1 }
      this.#late.set(key, {
        ...{ gvk: frame.gvk, namespace: range.namespace, notBefore, cause, sequence: before.sequence },
        notAfter: Math.max(before.notAfter, range.notAfter),
        receivedFrom: Math.min(before.receivedFrom, range.receivedFrom),
        receivedTo: Math.max(before.receivedTo, range.receivedTo),
        events: before.events + range.events,
      })
    }
    for (const { action, number, time, received = time, version, object } of frame.events ?? []) {
      const latest = Math.max(time, this.#lastTimes.get(frame.gvk) ?? 0)
      const receipt = Math.max(received, this.#lastReceipts.get(frame.gvk) ?? 0, latest)
      this.#lastTimes.set(frame.gvk, latest)
      this.#lastReceipts.set(frame.gvk, receipt)
      this.#events.push({
        type: "object",
        sequence: ++this.#sequence,
        time: latest,
        ...(received > time && { received: receipt }),
        receipt,
        gvk: frame.gvk,
        action,
        ...nameOf(frame.gvk, number),
        resourceVersion: version.toString(),
        object,
        number,
      })
    }
    for (const gap of frame.gaps ?? []) {
      this.#gaps.push({ type: "gap", sequence: ++this.#sequence, time: gap.toTime, gvk: frame.gvk, ...gap })
    }
  }

  events(selection: { cut: number; fromTime: number; untilTime: number; kinds: ReadonlyArray<string> } & Times) {
    const { cut, fromTime, untilTime, kinds, times } = selection
    const isWanted = ({ sequence, gvk }: { sequence: number; gvk: string }) => sequence <= cut && kinds.includes(gvk)
    const events = this.#events
      .map((event) => inTimes(event, times))
      .filter((event) => event.time >= fromTime && event.time < untilTime && isWanted(event))
    const gaps = this.#gaps.filter((gap) => gap.toTime >= fromTime && gap.fromTime < untilTime && isWanted(gap))
    return [...events.map(shown), ...gaps].sort(byTime)
  }

  /** Late ranges that concern a window, in the order in which their changes may have happened. */
  late(selection: { cut: number; fromTime: number; untilTime: number; kinds: ReadonlyArray<string> } & Times) {
    const { cut, fromTime, untilTime, kinds, times } = selection
    const endOf = ({ notAfter, receivedTo }: LateChanges): number =>
      times === "received" ? receivedTo : Math.min(notAfter, receivedTo)
    return [...this.#late.values()]
      .filter((range) => range.sequence <= cut && kinds.includes(range.gvk))
      .filter((range) => range.notBefore < untilTime && endOf(range) >= fromTime)
      .map(({ sequence: _, ...range }) => range)
  }

  /** Last event of each object before a moment, of those alive, in sequence order kind by kind. */
  snapshot(selection: { cut: number; time: number; kinds: ReadonlyArray<string> } & Times) {
    return selection.kinds.flatMap((gvk) => this.alive(gvk, selection.cut, selection.time, selection.times)).map(shown)
  }

  /** The same of one kind, with object numbers. */
  alive(gvk: string, cut: number, time = Number.MAX_SAFE_INTEGER, times?: EventTimes): ReadonlyArray<ModelEvent> {
    const last = new Map<number, ModelEvent>()
    for (const event of this.#events.map((each) => inTimes(each, times))) {
      if (event.gvk === gvk && event.sequence <= cut && event.time < time) last.set(event.number, event)
    }
    return [...last.values()].filter(({ action }) => action === "applied").sort((a, b) => a.sequence - b.sequence)
  }

  /** The object's last event with bytes before another event. */
  lastStateBefore(sequence: number) {
    const event = this.#events.find((each) => each.sequence === sequence)
    const found = this.#events.findLast(
      (each) =>
        each.sequence < sequence &&
        each.gvk === event?.gvk &&
        each.number === event.number &&
        each.action !== "vanished",
    )
    return found && shown(found)
  }
}

/** The event as a window in these times has it. */
const inTimes = (event: ModelEvent, times: EventTimes | undefined): ModelEvent => {
  if (times !== "received") return event
  const { received: _, ...rest } = event
  return { ...rest, time: event.receipt }
}

const shown = ({ number: _, receipt: __, ...event }: ModelEvent): PlainEvent => event
