/** The time line: axis, histogram, and below them the tree of rows as a grid with the canvas beside it. Only the rows in sight exist. */

import { useLayoutEffect, useMemo, useRef } from "preact/hooks"
import type { Span } from "../source/source.ts"
import { canOpen, type Row, rowCount, rowsFrom } from "../state/rows.ts"
import type { PageState } from "../state/state.ts"
import type { Input } from "../state/updates.ts"
import { visible } from "../text/shown-text.ts"
import { momentText, ticksOf, type Zone } from "./axis.ts"
import { HistogramBars } from "./histogram.tsx"
import { LeftOutNote } from "./left-out-note.tsx"
import { NoRows } from "./no-rows.tsx"
import { PinsBand } from "./pins-band.tsx"
import { lacksOf, Pointed } from "./pointed.tsx"
import { RowLabel } from "./row-label.tsx"
import { TileCanvas } from "./tile-canvas.tsx"

/** CSS pixels. */
const rowHeight = 24

interface TimeLineProps {
  readonly state: PageState
  readonly send: (input: Input) => void
  readonly zone: Zone
  readonly scheme: string
}

const percent = ({ from, to }: Span, time: number): number => ((time - from) / (to - from)) * 100

const Axis = ({ state, zone }: Pick<TimeLineProps, "state" | "zone">) => (
  <div class="axis" aria-hidden="true">
    {ticksOf(state.window, state.width, zone).map(({ time, label, isMain }) => (
      <span key={time} class={isMain ? "tick main" : "tick"} style={{ left: `${percent(state.window, time)}%` }}>
        {label}
      </span>
    ))}
  </div>
)

const Cursors = ({ state, zone }: Pick<TimeLineProps, "state" | "zone">) => {
  const { cursor, other, window: span } = state
  const line = (time: number | undefined, name: string) =>
    time !== undefined &&
    time >= span.from &&
    time <= span.to && (
      <div class={`cursor ${name}`} style={{ left: `${percent(span, time)}%` }}>
        <span>{momentText(zone, time, span.to - span.from < 100_000).slice(11)}</span>
      </div>
    )
  return (
    <div class="cursors" aria-hidden="true">
      {line(cursor, "main")}
      {line(other, "other")}
    </div>
  )
}

/** Where something of the window is missing, whatever the kind: a strip below the axis, with the reason. */
const Lacks = ({ state, send }: Pick<TimeLineProps, "state" | "send">) => (
  <div class="lacks">
    {state.lacks.slice(0, 100).map(({ type, gvk, namespace, from, to, why }) => {
      const [left, right] = [from, to].map((time) => Math.max(0, Math.min(100, percent(state.window, time))))
      if (left === undefined || right === undefined || left >= right) return undefined
      const text = `${type === "late" ? "received late" : type}: ${visible(gvk)}${namespace === "" ? "" : ` in ${visible(namespace)}`}: ${visible(why)}`
      return (
        <button
          type="button"
          key={`${gvk} ${namespace} ${from} ${type}`}
          class={`lack ${type}`}
          aria-label={text}
          title={text}
          onClick={() => send({ type: "window", span: { from: from - (to - from), to: to + (to - from) } })}
          style={{ left: `${left}%`, width: `${right - left}%` }}
        />
      )
    })}
  </div>
)

/** Moves and chooses with the pointer: a drag moves the window, a click sets the cursor. */
const usePointer = (state: PageState, send: (input: Input) => void) => {
  const drag = useRef<{ readonly x: number; readonly span: Span; isMoved: boolean }>(undefined)
  const timeAt = (event: PointerEvent, target: HTMLElement): number => {
    const { left } = target.getBoundingClientRect()
    return state.window.from + ((event.clientX - left) / state.width) * (state.window.to - state.window.from)
  }
  return {
    onPointerDown: (event: PointerEvent & { readonly currentTarget: HTMLElement }) => {
      if (event.button !== 0) return
      event.currentTarget.setPointerCapture(event.pointerId)
      drag.current = { x: event.clientX, span: state.window, isMoved: false }
    },
    onPointerMove: (event: PointerEvent) => {
      const { current } = drag
      if (current === undefined) return
      const by = current.x - event.clientX
      if (Math.abs(by) > 4) current.isMoved = true
      if (!current.isMoved) return
      const { from, to } = current.span
      const micros = (by / state.width) * (to - from)
      send({ type: "window", span: { from: from + micros, to: to + micros } })
    },
    onPointerUp: (event: PointerEvent & { readonly currentTarget: HTMLElement }) => {
      const { current } = drag
      drag.current = undefined
      if (current === undefined || current.isMoved) return
      const { top } = event.currentTarget.getBoundingClientRect()
      const row = state.top + Math.floor((event.clientY - top) / rowHeight)
      send({ type: "pressed", row, time: timeAt(event, event.currentTarget), isOther: event.shiftKey })
    },
    onPointerCancel: () => {
      drag.current = undefined
    },
  }
}

export const TimeLine = ({ state, send, zone, scheme }: TimeLineProps) => {
  const scroller = useRef<HTMLDivElement>(null)
  const lane = useRef<HTMLDivElement>(null)
  const { lists, open, parts, top } = state
  const total = useMemo(() => rowCount(state), [lists, open, parts])
  const rows = useMemo(() => rowsFrom(state, top, state.rows + 1), [lists, open, parts, top, state.rows])
  const pointer = usePointer(state, send)

  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return
    const measure = (): void =>
      send({
        ...{ type: "resized", rows: Math.floor(element.clientHeight / rowHeight) },
        width: lane.current?.clientWidth ?? element.clientWidth,
      })
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    if (lane.current !== null) observer.observe(lane.current)
    return () => observer.disconnect()
  }, [])
  useLayoutEffect(() => {
    const element = scroller.current
    if (element !== null && Math.floor(element.scrollTop / rowHeight) !== state.top)
      element.scrollTop = state.top * rowHeight
  }, [state.top])

  const onWheel = (event: WheelEvent): void => {
    const isZoom = event.ctrlKey || event.metaKey || event.altKey
    if (!isZoom && !event.shiftKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return
    event.preventDefault()
    const { left } = (lane.current ?? document.body).getBoundingClientRect()
    if (isZoom) send({ type: "zoomed", factor: Math.exp(event.deltaY / 300), at: (event.clientX - left) / state.width })
    else send({ type: "panned", by: (event.deltaX || event.deltaY) / state.width })
  }
  const time = state.cursor ?? state.settled.to
  const at = rows.findIndex(({ key }) => key === state.row)
  // While the window is dragged, there is a new state for each frame, and the labels are the same.
  const labels = useMemo(
    () =>
      rows.map((row, index) => (
        <GridRow
          key={row.key}
          {...{ row, state, send, time, number: top + index }}
          isEntrance={at < 0 ? index === 0 : index === at}
        />
      )),
    [rows, time, at, top, state.tiles, state.lacks, state.selection, state.row, state.isTyping],
  )
  return (
    <section class="time-line" aria-label="Time line">
      <div class="head">
        <div class="corner">
          {`${total.toLocaleString("en")} rows`}
          <LeftOutNote state={state} />
        </div>
        <div class="over">
          <PinsBand state={state} send={send} zone={zone} />
          <HistogramBars state={state} send={send} scheme={scheme} />
          <Lacks state={state} send={send} />
          <Axis state={state} zone={zone} />
        </div>
      </div>
      <div
        class="body"
        ref={scroller}
        onScroll={(event) => send({ type: "scrolled", top: event.currentTarget.scrollTop / rowHeight })}
        onWheel={onWheel}
      >
        {total === 0 && <NoRows {...{ state, send }} />}
        <div class="tall" style={{ height: `${total * rowHeight}px` }}>
          <div class="sticky">
            <div class="rows" role="treegrid" aria-label="Objects" aria-rowcount={total} aria-colcount={1}>
              {labels}
            </div>
            <div class="lane" ref={lane} {...pointer}>
              <div class="ruled" style={{ height: `${rows.length * rowHeight}px` }}>
                {at >= 0 && <div class="band" style={{ top: `${at * rowHeight}px` }} />}
              </div>
              <TileCanvas
                state={state}
                rows={rows}
                rowHeight={rowHeight}
                height={(state.rows + 1) * rowHeight}
                scheme={scheme}
              />
              <Cursors state={state} zone={zone} />
              <Pointed {...{ state, rows, rowHeight, zone }} />
            </div>
          </div>
        </div>
      </div>
    </section>
  )
}

interface GridRowProps extends Pick<TimeLineProps, "state" | "send"> {
  readonly row: Row
  readonly number: number
  readonly time: number
  /** Whether Tab comes to it. */
  readonly isEntrance: boolean
}

const GridRow = ({ row, state, send, time, number, isEntrance }: GridRowProps) => {
  const element = useRef<HTMLDivElement>(null)
  const isCurrent = row.key === state.row
  useLayoutEffect(() => {
    const { activeElement } = document
    const isOurs = activeElement === document.body || activeElement?.closest(".rows") !== null
    if (isCurrent && isOurs && !state.isTyping) element.current?.focus({ preventScroll: true })
  }, [isCurrent])
  return (
    <div
      ref={element}
      class={`row ${isCurrent ? "current" : ""} ${row.lane?.id === state.selection?.lane && row.part === undefined && row.lane !== undefined ? "chosen" : ""}`}
      role="row"
      aria-level={row.level}
      aria-setsize={row.siblings}
      aria-posinset={row.place + 1}
      aria-rowindex={number + 1}
      aria-selected={isCurrent}
      {...(canOpen(row) && { "aria-expanded": row.isOpen })}
      tabIndex={isEntrance ? 0 : -1}
      onClick={() => send({ type: "pressed", row: number })}
    >
      <span role="gridcell">
        <RowLabel
          row={row}
          tile={state.tiles.get(row.key)}
          time={time}
          lacks={lacksOf(state.lacks, row, time)}
          onToggle={() => send({ type: "toggled", row: number })}
        />
      </span>
    </div>
  )
}
