/**
 * Pictures compared. Letters and lines are drawn a little differently by every version of a browser, so a picture is the same as its reference if nearly all of its
 * pixels are nearly the same; what was moved, recoloured or lost is many pixels.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { inflateSync } from "node:zlib"

interface Picture {
  readonly width: number
  readonly height: number
  /** Four bytes a pixel. */
  readonly pixels: Uint8Array
}

const paeth = (left: number, above: number, corner: number): number => {
  const [p, q, r] = [Math.abs(above - corner), Math.abs(left - corner), Math.abs(left + above - 2 * corner)]
  return p <= q && p <= r ? left : q <= r ? above : corner
}

/** A PNG of eight bits a channel, with or without transparency and not interlaced, as browsers write them. @throws Error for others */
export const decodePng = (bytes: Buffer): Picture => {
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
  const [depth, colour, , , interlaced] = bytes.subarray(24, 29)
  const channels = colour === 6 ? 4 : colour === 2 ? 3 : 0
  if (depth !== 8 || channels === 0 || interlaced !== 0) throw new Error("the picture is of another form")
  const data: Buffer[] = []
  for (let at = 8; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at)
    if (bytes.toString("latin1", at + 4, at + 8) === "IDAT") data.push(bytes.subarray(at + 8, at + 8 + length))
    at += length + 12
  }
  const raw = inflateSync(Buffer.concat(data))
  const stride = width * channels
  const rows = new Uint8Array(stride * height)
  for (let y = 0; y < height; y++) {
    const [filter, from, to] = [raw[y * (stride + 1)] ?? 0, y * (stride + 1) + 1, y * stride]
    for (let x = 0; x < stride; x++) {
      const left = x < channels ? 0 : (rows[to + x - channels] ?? 0)
      const above = y === 0 ? 0 : (rows[to + x - stride] ?? 0)
      const corner = x < channels || y === 0 ? 0 : (rows[to + x - stride - channels] ?? 0)
      const added = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter] ?? 0
      rows[to + x] = (raw[from + x] ?? 0) + added
    }
  }
  const pixels = new Uint8Array(width * height * 4).fill(255)
  for (let pixel = 0; pixel < width * height; pixel++)
    for (let channel = 0; channel < channels; channel++)
      pixels[pixel * 4 + channel] = rows[pixel * channels + channel] ?? 0
  return { width, height, pixels }
}

/** By how much a channel may differ in a pixel that is the same: what smoothed edges of letters differ by. */
const tolerance = 60
/** How many pixels may differ by more, as a part of those that the reference has of another colour than its ground: an empty screen is not like a full one. */
const allowedPart = 0.08

/** How a picture differs from another one, in words; `undefined`: it does not. */
export const differenceOf = (one: Buffer, other: Buffer): string | undefined => {
  const [a, b] = [decodePng(one), decodePng(other)]
  if (a.width !== b.width || a.height !== b.height)
    return `it is ${a.width} × ${a.height} and not ${b.width} × ${b.height}`
  const ground = groundOf(b)
  let [different, drawn] = [0, 0]
  for (let pixel = 0; pixel < a.pixels.length; pixel += 4) {
    let most = 0
    for (let channel = 0; channel < 4; channel++)
      most = Math.max(most, Math.abs((a.pixels[pixel + channel] ?? 0) - (b.pixels[pixel + channel] ?? 0)))
    if (most > tolerance) different++
    if (colourAt(b, pixel) !== ground) drawn++
  }
  const part = different / Math.max(1, drawn)
  return part <= allowedPart ? undefined : `${different} of ${drawn} drawn pixels are different`
}

const colourAt = ({ pixels }: Picture, pixel: number): number =>
  ((pixels[pixel] ?? 0) << 16) | ((pixels[pixel + 1] ?? 0) << 8) | (pixels[pixel + 2] ?? 0)

/** The commonest colour. */
const groundOf = (picture: Picture): number => {
  const counts = new Map<number, number>()
  for (let pixel = 0; pixel < picture.pixels.length; pixel += 4) {
    const colour = colourAt(picture, pixel)
    counts.set(colour, (counts.get(colour) ?? 0) + 1)
  }
  return [...counts].reduce((most, each) => (each[1] > most[1] ? each : most), [0, 0] as const)[0]
}

/** Compares with the picture of that name in test/browser/references; with `KUBEREEL_UPDATE=1` replaces that. The picture itself is kept beside a run that fails. */
export const compared = (name: string, picture: Buffer): string | undefined => {
  const reference = new URL(`./references/${name}.png`, import.meta.url)
  if (process.env.KUBEREEL_UPDATE === "1") writeFileSync(reference, picture)
  if (!existsSync(reference)) return "there is no reference; make it with KUBEREEL_UPDATE=1"
  const difference = differenceOf(picture, readFileSync(reference))
  const seen = process.env.KUBEREEL_PICTURES
  if (difference !== undefined && seen !== undefined) writeFileSync(`${seen}/${name}.png`, picture)
  return difference === undefined ? undefined : `${name}: ${difference}`
}
