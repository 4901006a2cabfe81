/**
 * Objects of the benchmarks' cluster, rendered once and then only renumbered, so that the generator spends its time in the
 * kernel and not in JSON.
 *
 * A template is the text of an object with places of fixed width for its index, its version, its latest change (an
 * environment variable of the container, so that every change is one of `spec`) and its latest heartbeat (a condition's
 * message, so that a heartbeat is one of `status` alone). The texts are bench-objects.ts.
 */
/** Digits of a version; 12 suffice for 10^12 events and keep every line of a kind equally long. */
export const versionDigits = 12
/** Smallest version: the first with that many digits. */
export const firstVersion = 100_000_000_000
/** Version of every list. Objects have lower ones; event n of the generator has this plus n. */
export const listVersion = firstVersion + 1_000_000

/** Digits of an object's index in its name and in its UID. */
export const nameDigits = 6
export const uidDigits = 12

/** Runs of these characters stand for digits until they are overwritten; nothing else in an object contains them. */
export const placeholders = { index: "@", version: "#", change: "~", heartbeat: "^" } as const
/** Likewise for the time of the last change of the content. */
export const timePlaceholder = "`".repeat(20)
/** The time of all objects that have not changed yet. */
export const firstMoment = "2026-11-21T09:38:03Z"

type Field = keyof typeof placeholders

interface Place {
  readonly offset: number
  readonly width: number
}

/** Bytes with places to be numbered. */
export class ObjectTemplate {
  readonly bytes: Buffer
  readonly #places: Readonly<Record<Field, ReadonlyArray<Place>>>
  readonly #times: ReadonlyArray<number>
  #second = 0

  constructor(text: string) {
    this.bytes = Buffer.from(text.replaceAll(timePlaceholder, firstMoment))
    this.#times = [...text.matchAll(new RegExp(timePlaceholder, "g"))].map(({ index }) => index)
    this.#places = {
      index: placesOf(text, placeholders.index),
      version: placesOf(text, placeholders.version),
      change: placesOf(text, placeholders.change),
      heartbeat: placesOf(text, placeholders.heartbeat),
    }
  }

  /** Writes the numbers into the template's copy at `offset` of `target`; the default is the template itself. */
  number(field: Field, value: number, target: Buffer = this.bytes, offset = 0): void {
    for (const place of this.#places[field]) writeDigits(target, offset + place.offset, place.width, value)
  }

  /** Writes the time of a change into the template, s since the Unix epoch. */
  stamp(second: number): void {
    if (second === this.#second) return
    this.#second = second
    const text = new Date(second * 1000).toISOString().replace(".000", "")
    for (const offset of this.#times) this.bytes.write(text, offset, "latin1")
  }

  /** Copies the template to `offset` of `target` with all its numbers; answers the offset behind it. */
  copyTo(target: Buffer, offset: number, index: number, version: number): number {
    this.bytes.copy(target, offset)
    this.number("index", index, target, offset)
    this.number("version", version, target, offset)
    this.number("change", version, target, offset)
    this.number("heartbeat", version, target, offset)
    return offset + this.bytes.length
  }
}

const placesOf = (text: string, character: string): ReadonlyArray<Place> =>
  [...text.matchAll(new RegExp(`\\${character}+`, "g"))].map(({ index, 0: run }) => ({
    offset: index,
    width: run.length,
  }))

/** Right-aligned decimal digits. In two halves, because divisions of small integers are much cheaper. */
const writeDigits = (bytes: Buffer, offset: number, width: number, value: number): void => {
  let high = Math.floor(value / 1_000_000)
  let low = value - high * 1_000_000
  for (let at = offset + width - 1; at >= offset; at--) {
    const isLow = at >= offset + width - 6
    const rest = isLow ? low : high
    const next = (rest / 10) | 0
    bytes[at] = 48 + rest - next * 10
    if (isLow) low = next
    else high = next
  }
}
