/**
 * The body of a list, written in pieces of about 64 KiB as the client reads: 100,000 Pods are never one string. A short
 * list is one piece with a Content-Length, as from the real server.
 */

import type { ServerResponse } from "node:http"
import type { Eventually } from "../answers/eventually.ts"
import { type Form, type ListMetadata, objectFrame } from "../forms/form.ts"
import type { Exchange } from "../http/exchange.ts"
import { type Change, listItem } from "../kinds/change.ts"
import { compact, type JsonFormat } from "../kinds/json-spacing.ts"
import type { Resource } from "../kinds/resources.ts"
import { encodeContinue } from "./list-options.ts"

export interface ListAnswer {
  readonly type: "list"
  readonly revision: bigint
  /**
   * A lazy iterable keeps memory bounded: the next states are read when the client has taken the previous ones, and
   * none once the client is gone. An error ends the response in the middle.
   */
  readonly changes: Iterable<Change> | AsyncIterable<Change>
  /** Start of the next page; absent on the last. */
  readonly next?: string
  readonly remaining?: number
  /** By which it was filtered; absent: it has all shards. */
  readonly shardSelector?: string
}

const pieceBytes = 64 * 1024

/**
 * Sends the list. Returns a promise if that takes longer than this turn; it resolves when the list is sent or the
 * client is gone.
 */
export const sendList = (
  exchange: Exchange,
  resource: Resource,
  answer: ListAnswer,
  format: JsonFormat,
  form?: Form,
): Eventually<void> => {
  const body = new ListBody(exchange, resource, answer, format, form)
  const { changes } = answer
  if (Symbol.asyncIterator in changes) return sendAsTheyCome(body, changes)
  return sendAll(body, changes[Symbol.iterator]())
}

const sendAll = (body: ListBody, changes: Iterator<Change>): Eventually<void> => {
  for (let next = changes.next(); next.done !== true; next = changes.next()) {
    const drained = body.add(next.value)
    if (drained !== undefined) return drained.then(() => (body.isWanted ? sendAll(body, changes) : undefined))
  }
  body.end()
}

const sendAsTheyCome = async (body: ListBody, changes: AsyncIterable<Change>): Promise<void> => {
  for await (const change of changes) {
    // Leaving the loop closes the source, which may hold files open.
    if (!body.isWanted) return
    await body.add(change)
  }
  body.end()
}

class ListBody {
  readonly #exchange: Exchange
  readonly #resource: Resource
  readonly #form: Form | undefined
  readonly #after: string
  /** YAML and re-spaced JSON are made from the whole text. */
  readonly #isWhole: boolean
  #pieces: Buffer[]
  #bytes = 0
  #isFirst = true
  #response: ServerResponse | undefined

  constructor(exchange: Exchange, resource: Resource, answer: ListAnswer, format: JsonFormat, form: Form | undefined) {
    const { before, after } = form === undefined ? listFrame(resource, answer) : form.frame(metadataOf(answer))
    this.#exchange = exchange
    this.#resource = resource
    this.#form = form
    this.#pieces = [Buffer.from(before)]
    this.#after = after
    this.#isWhole = format !== compact || exchange.isYaml
  }

  /** Whether the client is still connected. */
  get isWanted(): boolean {
    return this.#exchange.open
  }

  /** Resolves when more may be added; `undefined` if more may be added at once. */
  add(change: Change): Promise<void> | undefined {
    if (!this.#isFirst) this.#pieces.push(comma)
    this.#isFirst = false
    const item = this.#form === undefined ? listItem(change, this.#resource) : [Buffer.from(this.#form.item(change))]
    for (const part of item) {
      this.#pieces.push(part)
      this.#bytes += part.length
    }
    return this.#bytes < pieceBytes || this.#isWhole ? undefined : this.#flush()
  }

  end(): void {
    this.#pieces.push(Buffer.from(this.#after))
    if (this.#response === undefined) this.#exchange.text(Buffer.concat(this.#pieces).toString("utf8"))
    else if (this.isWanted) this.#response.end(Buffer.concat(this.#pieces))
  }

  #flush(): Promise<void> | undefined {
    if (!this.isWanted) return undefined
    this.#response ??= this.#exchange.begin()
    const bytes = Buffer.concat(this.#pieces)
    this.#pieces = []
    this.#bytes = 0
    return this.#response.write(bytes) ? undefined : drained(this.#response)
  }
}

/** Resolves when more can be written, or when the client is gone. */
const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done).off("close", done)
      resolve()
    }
    response.on("drain", done).on("close", done)
  })

const comma = Buffer.from(",")

/** The text around the items of a list of objects. */
const listFrame = (resource: Resource, answer: ListAnswer): { readonly before: string; readonly after: string } =>
  objectFrame(resource, metadataOf(answer))

const metadataOf = ({ revision, next, remaining, shardSelector }: ListAnswer): ListMetadata => ({
  resourceVersion: revision,
  ...(next === undefined ? {} : { continueToken: encodeContinue({ revision, start: next }) }),
  ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
  ...(shardSelector === undefined ? {} : { shardSelector }),
})
