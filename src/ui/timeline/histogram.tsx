/** Changes over time, as bars; a stretch of it is chosen with the pointer. */

import { useLayoutEffect, useRef, useState } from "preact/hooks"
import type { PageState } from "../state/state.ts"
import type { Input } from "../state/updates.ts"

interface HistogramProps {
  readonly state: Pick<PageState, "histogram" | "window" | "width">
  readonly send: (input: Input) => void
  readonly scheme: string
}

/** CSS pixels. */
const height = 44

export const HistogramBars = ({ state, send, scheme }: HistogramProps) => {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [brush, setBrush] = useState<{ readonly start: number; readonly end: number }>()
  const { histogram, window: span, width } = state
  useLayoutEffect(() => {
    const element = canvas.current
    const context = element?.getContext("2d")
    if (element === null || context === null || context === undefined) return
    const scale = window.devicePixelRatio || 1
    ;[element.width, element.height] = [Math.round(width * scale), height * scale]
    context.scale(scale, scale)
    if (histogram === undefined) return
    const { counts } = histogram
    const most = counts.reduce((one, other) => Math.max(one, other), 0)
    if (most === 0) return
    context.fillStyle = getComputedStyle(element).getPropertyValue("--bar")
    const bar = width / counts.length
    counts.forEach((count, index) => {
      if (count === 0) return
      // A square root, so that single changes are seen beside bursts.
      const tall = Math.max(1, Math.sqrt(count / most) * (height - 4))
      context.fillRect(index * bar, height - tall, Math.max(1, bar - 0.5), tall)
    })
  }, [histogram, width, scheme])
  // Bars of another window are moved and stretched to where they belong in this one until its own are read.
  const { span: counted } = histogram ?? { span }
  const length = span.to - span.from
  const place = `translateX(${((counted.from - span.from) / length) * width}px) scaleX(${(counted.to - counted.from) / length})`

  const placeOf = (event: PointerEvent): number => event.clientX - (canvas.current?.getBoundingClientRect().left ?? 0)
  const total = histogram?.counts.reduce((sum, count) => sum + count, 0) ?? 0
  const onEnd = (): void => {
    if (brush !== undefined && Math.abs(brush.end - brush.start) > 4) {
      const [left, right] = [Math.min(brush.start, brush.end), Math.max(brush.start, brush.end)]
      const timeOf = (x: number): number => span.from + (x / width) * (span.to - span.from)
      send({ type: "window", span: { from: timeOf(left), to: timeOf(right) } })
    }
    setBrush(undefined)
  }
  return (
    <div
      class="histogram"
      role="img"
      aria-label={`${total} changes in the window`}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId)
        setBrush({ start: placeOf(event), end: placeOf(event) })
      }}
      onPointerMove={(event) => brush !== undefined && setBrush({ ...brush, end: placeOf(event) })}
      onPointerUp={onEnd}
      onPointerCancel={() => setBrush(undefined)}
      onWheel={(event) => {
        event.preventDefault()
        send({ type: "zoomed", factor: Math.exp(event.deltaY / 400), at: (event.offsetX ?? 0) / width })
      }}
    >
      <canvas ref={canvas} style={{ width: `${width}px`, height: `${height}px`, transform: place }} />
      {brush !== undefined && (
        <div
          class="brush"
          style={{ left: `${Math.min(brush.start, brush.end)}px`, width: `${Math.abs(brush.end - brush.start)}px` }}
        />
      )}
    </div>
  )
}
