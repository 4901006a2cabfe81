/**
 * The body of a list, written in pieces of about 64 KiB as the client reads: 100,000 Pods are never one string. A short
 * list is one piece with a Content-Length, as the real server answers it.
 */

import type { ServerResponse } from "node:http"
import { compact, type JsonFormat } from "../answers/json-spacing.ts"
import type { Form, ListMetadata } from "../forms/form.ts"
import { objectFrame } from "../forms/object-form.ts"
import type { Exchange } from "../http/exchange.ts"
import type { Resource } from "../kinds/resources.ts"
import { type Change, listItem } from "../watch/change.ts"
import { encodeContinue } from "./continue-token.ts"

export interface ListAnswer {
  readonly type: "list"
  readonly revision: bigint
  readonly changes: ReadonlyArray<Change>
  /** Start of the next page; absent on the last. */
  readonly next?: string
  readonly remaining?: number
}

const pieceBytes = 64 * 1024

export const sendList = async (
  exchange: Exchange,
  resource: Resource,
  answer: ListAnswer,
  format: JsonFormat,
  form?: Form,
): Promise<void> => {
  const pieces = piecesOf(resource, answer, form)
  const first = pieces.next().value ?? comma
  let piece = pieces.next().value
  if (piece === undefined || format !== compact || exchange.isYaml) {
    exchange.text(Buffer.concat([first, ...(piece === undefined ? [] : [piece]), ...pieces]).toString("utf8"))
    return
  }
  const response = exchange.begin()
  response.write(first)
  for (; piece !== undefined && exchange.open; piece = pieces.next().value)
    if (!response.write(piece)) await drained(response)
  if (exchange.open) response.end()
}

/** Resolves when more can be written, or when there is nobody left to write to. */
const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done).off("close", done)
      resolve()
    }
    response.on("drain", done).on("close", done)
  })

function* piecesOf(resource: Resource, answer: ListAnswer, form: Form | undefined): Generator<Buffer, undefined> {
  const { before, after } = form === undefined ? listFrame(resource, answer) : form.frame(metadataOf(answer))
  let gathered: Buffer[] = [Buffer.from(before)]
  let bytes = 0
  for (const [index, change] of answer.changes.entries()) {
    if (index > 0) gathered.push(comma)
    const item = form === undefined ? listItem(change, resource) : [Buffer.from(form.item(change))]
    for (const part of item) {
      gathered.push(part)
      bytes += part.length
    }
    if (bytes >= pieceBytes) {
      yield Buffer.concat(gathered)
      gathered = []
      bytes = 0
    }
  }
  yield Buffer.concat([...gathered, Buffer.from(after)])
}

const comma = Buffer.from(",")

/** What stands around the items of a list of objects. */
export const listFrame = (
  resource: Resource,
  answer: ListAnswer,
): { readonly before: string; readonly after: string } => objectFrame(resource, metadataOf(answer))

const metadataOf = ({ revision, next, remaining }: ListAnswer): ListMetadata => ({
  resourceVersion: revision,
  ...(next === undefined ? {} : { continueToken: encodeContinue({ revision, start: next }) }),
  ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
})
