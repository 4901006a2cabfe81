/** The drawn part of the time line: tiles of the visible rows, redrawn at most once a frame. */

import { useEffect, useLayoutEffect, useRef } from "preact/hooks"
import type { Row } from "../state/rows.ts"
import type { PageState } from "../state/state.ts"
import { resample } from "../state/tile-strip.ts"
import { type PaintTable, paintRow, paintTable } from "./paint.ts"
import { paletteOf } from "./palette.ts"

interface TileCanvasProps {
  readonly state: Pick<PageState, "window" | "tiles" | "width">
  readonly rows: ReadonlyArray<Row>
  /** CSS pixels. */
  readonly rowHeight: number
  readonly height: number
  /** Changes when the colours do. */
  readonly scheme: string
}

export const TileCanvas = ({ state, rows, rowHeight, height, scheme }: TileCanvasProps) => {
  const canvas = useRef<HTMLCanvasElement>(null)
  const table = useRef<{ readonly key: string; readonly table: PaintTable }>(undefined)
  const frame = useRef(0)
  const latest = useRef({ state, rows })
  latest.current = { state, rows }

  const paint = (): void => {
    frame.current = 0
    const element = canvas.current
    const context = element?.getContext("2d")
    if (element === null || context === null || context === undefined) return
    const scale = window.devicePixelRatio || 1
    const [width, pixelRow] = [Math.round(latest.current.state.width * scale), Math.round(rowHeight * scale)]
    const tall = Math.max(1, Math.round(height * scale))
    if (element.width !== width || element.height !== tall) [element.width, element.height] = [width, tall]
    const key = `${scheme} ${pixelRow}`
    if (table.current?.key !== key) table.current = { key, table: paintTable(paletteOf(element), pixelRow) }
    const image = context.createImageData(width, tall)
    const pixels = new Uint32Array(image.data.buffer)
    const columns = new Uint8Array(latest.current.state.width)
    latest.current.rows.forEach((row, index) => {
      const tile = latest.current.state.tiles.get(row.key)
      const isDrawn = row.lane !== undefined && row.lane.type === "object"
      if (tile !== undefined) resample(tile, latest.current.state.window, columns)
      else columns.fill(isDrawn ? 255 : 0)
      if (table.current !== undefined)
        paintRow(table.current.table, columns, { pixels, width, top: index * pixelRow, scale })
    })
    context.putImageData(image, 0, 0)
  }

  // The rows are new with each state, so this runs after each.
  useLayoutEffect(() => {
    if (frame.current === 0) frame.current = requestAnimationFrame(paint)
  })
  useEffect(() => () => cancelAnimationFrame(frame.current), [])
  return <canvas ref={canvas} class="tiles" style={{ width: `${state.width}px`, height: `${height}px` }} />
}
