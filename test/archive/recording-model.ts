/** The expected content of an archive as plain lists: the reference for the property tests. */

import type { GapEvent } from "../../src/trace/event.ts"
import { nameOf, type PlainEvent, type SampleFrame } from "./sample-frames.ts"

interface ModelEvent extends PlainEvent {
  readonly number: number
}

const byTime = (left: { time: number; sequence: number }, right: { time: number; sequence: number }): number =>
  left.time - right.time || left.sequence - right.sequence

/** Takes frames in order and answers every query the slow way. */
export class RecordingModel {
  readonly #events: Array<ModelEvent> = []
  readonly #gaps: Array<GapEvent> = []
  readonly #lastTimes = new Map<string, number>()
  #sequence = 0

  get sequence(): number {
    return this.#sequence
  }

  append(frame: SampleFrame): void {
    for (const { action, number, time, version, object } of frame.events ?? []) {
      const latest = Math.max(time, this.#lastTimes.get(frame.gvk) ?? 0)
      this.#lastTimes.set(frame.gvk, latest)
      this.#events.push({
        type: "object",
        sequence: ++this.#sequence,
        time: latest,
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

  events(selection: { cut: number; fromTime: number; untilTime: number; kinds: ReadonlyArray<string> }) {
    const { cut, fromTime, untilTime, kinds } = selection
    const isWanted = ({ sequence, gvk }: { sequence: number; gvk: string }) => sequence <= cut && kinds.includes(gvk)
    const events = this.#events.filter((event) => event.time >= fromTime && event.time < untilTime && isWanted(event))
    const gaps = this.#gaps.filter((gap) => gap.toTime >= fromTime && gap.fromTime < untilTime && isWanted(gap))
    return [...events.map(({ number: _, ...event }) => event), ...gaps].sort(byTime)
  }

  /** Last event of each object before a moment, of those alive, in sequence order kind by kind. */
  snapshot(selection: { cut: number; time: number; kinds: ReadonlyArray<string> }) {
    return selection.kinds
      .flatMap((gvk) => this.alive(gvk, selection.cut, selection.time))
      .map(({ number: _, ...e }) => e)
  }

  /** The same of one kind, with object numbers. */
  alive(gvk: string, cut: number, time = Number.MAX_SAFE_INTEGER): ReadonlyArray<ModelEvent> {
    const last = new Map<number, ModelEvent>()
    for (const event of this.#events) {
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
    if (found === undefined) return undefined
    const { number: _, ...rest } = found
    return rest
  }
}
