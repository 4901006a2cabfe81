/** The windows that are kept, as a band above the histogram. Each can be gone to. */

import type { PageState } from "../state/state.ts"
import type { Input } from "../state/updates.ts"
import { visible } from "../text/shown-text.ts"
import { durationText, momentText, type Zone } from "./axis.ts"

interface PinsBandProps {
  readonly state: Pick<PageState, "pins" | "window">
  readonly send: (input: Input) => void
  readonly zone: Zone
}

/** Pins of the window that are drawn. */
const mostDrawn = 200

/** Nothing if no pin is in the window, so that the time line has its room. */
export const PinsBand = ({ state: { pins = [], window: span }, send, zone }: PinsBandProps) => {
  const placeOf = (time: number): number =>
    Math.max(0, Math.min(100, ((time - span.from) / (span.to - span.from)) * 100))
  const inSight = pins.filter(({ from, until }) => from < span.to && until > span.from).slice(0, mostDrawn)
  if (inSight.length === 0) return null
  return (
    <section class="pins-band" aria-label="pinned windows above the histogram">
      {inSight.map(({ id, from, until, note }) => {
        const [left, right] = [placeOf(from), placeOf(until)]
        const text = `pinned: ${note === "" ? "" : `${visible(note, 200)}, `}${momentText(zone, from).slice(0, 19)}, ${durationText(until - from)}`
        return (
          <button
            type="button"
            key={id}
            class="pin"
            aria-label={text}
            title={text}
            style={{ left: `${left}%`, width: `${right - left}%` }}
            onClick={() => send({ type: "window", span: { from, to: until } })}
          />
        )
      })}
    </section>
  )
}
