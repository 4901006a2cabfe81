/**
 * Tiles as pixels. A table has the colour of each value at each height and phase, so that a pixel is one look-up: forty rows of 1,600 columns take some ms
 * in software, however many changes they stand for. States differ in shape as well as in colour.
 */

import { marks, tones } from "../../timeline/index.ts"

/** Colours as `0xAABBGGRR`, the order of bytes in image data. */
export interface Palette {
  readonly plain: number
  readonly good: number
  readonly waiting: number
  readonly bad: number
  readonly over: number
  readonly changed: number
  readonly hatch: number
  readonly late: number
}

/** By (value · height + y) · 8 + phase. */
export interface PaintTable {
  readonly height: number
  readonly colours: Uint32Array
  /** By value · height + y: 1 if the line looks like the one above it. Most of a row does, and copying a line is five times as fast as looking it up. */
  readonly repeats: Uint8Array
}

const phases = 8

/** What is not known yet: the value that a tile's column never has, because its tone would be none. */
const loading = 255

/** `height`: of a row, in pixels of the device. */
export const paintTable = (palette: Palette, height: number): PaintTable => {
  const colours = new Uint32Array((loading + 1) * height * phases)
  for (let value = 0; value <= loading; value++)
    for (let y = 0; y < height; y++)
      for (let phase = 0; phase < phases; phase++)
        colours[(value * height + y) * phases + phase] = colourOf(palette, value, y / height, phase)
  const repeats = new Uint8Array((loading + 1) * height)
  for (let line = 0; line < repeats.length; line++) {
    const [first = 0, ...others] = colours.subarray(line * phases, (line + 1) * phases)
    const isPlain = others.every((each) => each === first)
    repeats[line] =
      line % height > 0 && isPlain && colours[line * phases - phases] === first && colours[line * phases - 1] === first
        ? 1
        : 0
  }
  return { height, colours, repeats }
}

/** Shares of a row's height between which a tone is drawn. */
const bands: Readonly<Record<number, readonly [top: number, bottom: number]>> = {
  [tones.plain]: [0.44, 0.56],
  [tones.good]: [0.3, 0.7],
  [tones.waiting]: [0.3, 0.7],
  [tones.bad]: [0.16, 0.84],
  [tones.over]: [0.56, 0.7],
}

const colourOf = (palette: Palette, value: number, y: number, phase: number): number => {
  if (value === loading) return y >= 0.46 && y < 0.54 && phase < 2 ? palette.hatch : 0
  const tone = value & 7
  if ((value & marks.late) !== 0 && y >= 0.9 && phase % 4 < 2) return palette.late
  const isAbove = tone !== tones.bad && y >= 0.04 && y < 0.2
  if ((value & marks.wasBad) !== 0 && isAbove) return palette.bad
  if ((value & marks.unseen) !== 0 && isAbove && phase % 4 < 2) return palette.hatch
  const inHatch = (value & marks.gap) !== 0 || tone === tones.unknown
  if (inHatch && y >= 0.1 && y < 0.9 && phase < 2) return palette.hatch
  if (tone === tones.absent || tone === tones.unknown) return 0
  // Of the eight values of three bits, one is no tone.
  const [top, bottom] = bands[tone] ?? [0, 0]
  if ((value & marks.changed) !== 0 && y >= top - 0.1 && y < bottom + 0.1) return palette.changed
  if (y < top || y >= bottom) return 0
  switch (tone) {
    case tones.good:
      return palette.good
    case tones.waiting:
      // Stripes: on its way.
      return phase % 4 < 2 || y < top + 0.08 || y >= bottom - 0.08 ? palette.waiting : 0
    case tones.bad:
      return palette.bad
    case tones.over:
      return palette.over
    default:
      return palette.plain
  }
}

/**
 * Draws one row into pixels. `columns`: a byte for each column, 255 for what is not known; each is `scale` pixels wide.
 */
export const paintRow = (
  { height, colours, repeats }: PaintTable,
  columns: Uint8Array,
  into: { readonly pixels: Uint32Array; readonly width: number; readonly top: number; readonly scale: number },
): void => {
  const { pixels, width, top, scale } = into
  const places = new Uint32Array(width)
  const values = new Set(columns)
  for (let x = 0; x < width; x++) {
    const value = columns[scale === 1 ? x : Math.floor(x / scale)] ?? loading
    places[x] = value * height * phases
  }
  for (let y = 0; y < height; y++) {
    const line = (top + y) * width
    if (line >= pixels.length) return
    let isRepeated = true
    for (const value of values) isRepeated &&= repeats[value * height + y] === 1
    if (isRepeated) pixels.copyWithin(line, line - width, line)
    else for (let x = 0; x < width; x++) pixels[line + x] = colours[(places[x] ?? 0) + y * phases + ((x + y) & 7)] ?? 0
  }
}
