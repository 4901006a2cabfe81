/** The drawn part of the time line: tiles of the visible rows, painted at most once a frame, and moved as they are while the window is dragged. */

import { useEffect, useLayoutEffect, useRef } from "preact/hooks"
import type { Span } from "../source/source.ts"
import type { Row } from "../state/rows.ts"
import type { DrawnTile, PageState } from "../state/state.ts"
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

/** What is on the canvas. */
interface Painted extends Pick<TileCanvasProps, "rows" | "height" | "scheme"> {
  readonly window: Span
  readonly tiles: PageState["tiles"]
  readonly width: number
  readonly scale: number
  /** Whether a tile has more than the window shows, which a move would have to show. */
  readonly hasMore: boolean
}

const hasMoreThan = ({ from, to }: Span, tile: DrawnTile): boolean =>
  tile.from < from - tile.micros || tile.from + tile.columns.length * tile.micros > to + tile.micros

const compared = ["rows", "height", "scheme", "tiles", "width", "scale"] as const

/** By how many CSS pixels what was painted has to be moved; `undefined`: it has to be painted again. */
const shiftOf = (painted: Painted | undefined, wanted: Omit<Painted, "hasMore">): number | undefined => {
  const isSame = compared.every((name) => painted?.[name] === wanted[name])
  if (painted === undefined || !isSame) return undefined
  const { from, to } = painted.window
  if (Math.abs(wanted.window.to - wanted.window.from - (to - from)) > 1) return undefined
  const shift = ((from - wanted.window.from) / (to - from)) * painted.width
  return shift !== 0 && painted.hasMore ? undefined : shift
}

export const TileCanvas = ({ state, rows, rowHeight, height, scheme }: TileCanvasProps) => {
  const canvas = useRef<HTMLCanvasElement>(null)
  const table = useRef<{ readonly key: string; readonly table: PaintTable }>(undefined)
  const frame = useRef(0)
  const painted = useRef<Painted>(undefined)
  const latest = useRef({ state, rows, height, scheme })
  latest.current = { state, rows, height, scheme }

  const paint = (): void => {
    frame.current = 0
    const element = canvas.current
    const context = element?.getContext("2d")
    if (element === null || context === null || context === undefined) return
    const scale = window.devicePixelRatio || 1
    const { state: shown, ...rest } = latest.current
    const wanted = { ...rest, window: shown.window, tiles: shown.tiles, width: shown.width, scale }
    const shift = shiftOf(painted.current, wanted)
    element.style.transform = shift === undefined || shift === 0 ? "" : `translateX(${shift}px)`
    if (shift !== undefined) return
    const [width, pixelRow] = [Math.round(shown.width * scale), Math.round(rowHeight * scale)]
    const tall = Math.max(1, Math.round(rest.height * scale))
    let hasMore = false
    if (element.width !== width || element.height !== tall) [element.width, element.height] = [width, tall]
    const key = `${rest.scheme} ${pixelRow}`
    if (table.current?.key !== key) table.current = { key, table: paintTable(paletteOf(element), pixelRow) }
    const image = context.createImageData(width, tall)
    const pixels = new Uint32Array(image.data.buffer)
    const columns = new Uint8Array(shown.width)
    rest.rows.forEach((row, index) => {
      const tile = shown.tiles.get(row.key)
      if (tile !== undefined) resample(tile, shown.window, columns)
      else columns.fill(row.lane?.type === "object" ? 255 : 0)
      hasMore ||= tile !== undefined && hasMoreThan(shown.window, tile)
      if (table.current !== undefined)
        paintRow(table.current.table, columns, { pixels, width, top: index * pixelRow, scale })
    })
    context.putImageData(image, 0, 0)
    painted.current = { ...wanted, hasMore }
  }

  // The rows are new with each state, so this runs after each.
  useLayoutEffect(() => {
    if (frame.current === 0) frame.current = requestAnimationFrame(paint)
  })
  useEffect(() => () => cancelAnimationFrame(frame.current), [])
  return <canvas ref={canvas} class="tiles" style={{ width: `${state.width}px`, height: `${height}px` }} />
}
