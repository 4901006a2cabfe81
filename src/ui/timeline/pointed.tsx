/** What is under the pointer: the moment, how the row is then, and why something of it is missing. It follows the pointer by itself, so that moving it draws nothing else. */

import { useEffect, useRef, useState } from "preact/hooks"
import type { Lack } from "../../timeline/index.ts"

import type { Row } from "../state/rows.ts"
import type { PageState } from "../state/state.ts"
import { visible } from "../text/shown-text.ts"
import { momentText, type Zone } from "./axis.ts"
import { toneText } from "./tone-text.ts"

interface PointedProps {
  readonly state: Pick<PageState, "window" | "width" | "tiles" | "lacks">
  readonly rows: ReadonlyArray<Row>
  readonly rowHeight: number
  readonly zone: Zone
}

/** Why something is missing of a row at a moment. */
export const lacksOf = (lacks: ReadonlyArray<Lack>, { lane }: Row, time: number): ReadonlyArray<string> => {
  if (lane?.type !== "object") return []
  const { gvk, namespace } = lane.object
  const concerned = lacks.filter(
    (each) =>
      each.gvk === gvk &&
      (each.namespace === "" || each.namespace === namespace) &&
      each.from <= time &&
      time <= each.to,
  )
  return [...new Set(concerned.map(({ type, why }) => `${type === "late" ? "received late" : type}: ${visible(why)}`))]
}

export const Pointed = ({ state, rows, rowHeight, zone }: PointedProps) => {
  const element = useRef<HTMLDivElement>(null)
  const [place, setPlace] = useState<{ readonly x: number; readonly y: number }>()
  useEffect(() => {
    const lane = element.current?.parentElement
    if (lane == null) return
    const onMove = (event: PointerEvent): void => {
      const { left, top } = lane.getBoundingClientRect()
      setPlace(
        event.pointerType === "mouse" && event.buttons === 0
          ? { x: event.clientX - left, y: event.clientY - top }
          : undefined,
      )
    }
    const onLeave = (): void => setPlace(undefined)
    lane.addEventListener("pointermove", onMove)
    lane.addEventListener("pointerleave", onLeave)
    return () => {
      lane.removeEventListener("pointermove", onMove)
      lane.removeEventListener("pointerleave", onLeave)
    }
  }, [])
  const row = place && rows[Math.floor(place.y / rowHeight)]
  const { from, to } = state.window
  const time = from + ((place?.x ?? 0) / state.width) * (to - from)
  const tile = row && state.tiles.get(row.key)
  const texts =
    row === undefined ? [] : [toneText(tile, time), ...lacksOf(state.lacks, row, time)].filter((each) => each !== "")
  return (
    <div ref={element} class="pointed" aria-hidden="true">
      {place !== undefined && (
        <>
          <i style={{ left: `${place.x}px` }} />
          <div
            class={place.x > state.width / 2 ? "note before" : "note"}
            style={{ left: `${place.x}px`, top: `${(Math.floor(place.y / rowHeight) + 1) * rowHeight}px` }}
          >
            <b>{momentText(zone, time, to - from < 100_000).slice(11)}</b>
            {texts.map((text) => (
              <span key={text}>{text}</span>
            ))}
          </div>
        </>
      )}
    </div>
  )
}
