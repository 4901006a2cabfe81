/** One page of an answer: the items after those of earlier pages, at most so many and of so many bytes, and how many follow. */
import { formatExactJson, type JsonValue } from "../../trace/json/exact-json.ts"
import { shortened } from "./shortened.ts"

/** bytes of the items of a page, as JSON. */
export const pageBytes = 64 * 1024

/** bytes of one item among others; one that was asked for by itself may take the page. */
export const itemBytes = 16 * 1024

/** Items after the page that are counted, before the rest of an answer is left unread. */
export const countedFurther = 50_000

interface PageLimits {
  /** Items of earlier pages. */
  readonly skip: number
  readonly limit: number
}

/** Takes the items of an answer in order. Memory: one page. */
export class AnswerPage {
  readonly #skip: number
  readonly #limit: number
  readonly #items: string[] = []
  #bytes = 0
  #offered = 0
  #further = 0
  #hasShortened = false

  constructor({ skip, limit }: PageLimits) {
    this.#skip = skip
    this.#limit = limit
  }

  /**
   * Offers the next item, which is only made if it is in the page. `mostBytes`: beyond which it is shortened. Returns whether further items are wanted, be it to be
   * counted.
   */
  offer(make: () => JsonValue, mostBytes = itemBytes): boolean {
    if (this.#offered++ < this.#skip) return true
    if (this.#further > 0 || this.#items.length >= this.#limit) return this.#isFurther()
    const whole = make()
    const item = shortened(whole, mostBytes)
    const text = formatExactJson(item)
    const bytes = Buffer.byteLength(text) + 1
    if (this.#items.length > 0 && this.#bytes + bytes > pageBytes) return this.#isFurther()
    this.#hasShortened ||= item !== whole
    this.#items.push(text)
    this.#bytes += bytes
    return true
  }

  #isFurther(): boolean {
    return ++this.#further < countedFurther
  }

  /** Items that all pages before this one and this one have: where the next one begins. */
  get end(): number {
    return this.#skip + this.#items.length
  }

  /** How many items follow that were offered. */
  get further(): number {
    return this.#further
  }

  /** Whether parts of items are left out. */
  get hasShortened(): boolean {
    return this.#hasShortened
  }

  get limit(): number {
    return this.#limit
  }

  get count(): number {
    return this.#items.length
  }

  /** The items as a JSON array. */
  json(): string {
    return `[${this.#items.join(",")}]`
  }
}
