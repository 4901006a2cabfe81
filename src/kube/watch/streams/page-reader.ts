/** Reads one page of a list, or a whole list, item by item. */
import type { GroupVersionKind } from "../../kinds/gvk.ts"
import { isLineTooLarge, type LineBudget } from "../../scanner/line-splitter.ts"

import { ListItem, ListScanner, ListSyntaxError } from "../../scanner/list-scanner.ts"

import type { DetectRules } from "../../scanner/object/detect-rules.ts"
import { ObjectScanner } from "../../scanner/object/object-scanner.ts"
import { scanObjectSlowly, UnreadableError } from "../../scanner/slow-path.ts"
import type { StreamId } from "../protocol/protocol.ts"
import { type StreamEvents, StreamReader } from "./stream-reader.ts"

/** One page of a list, scanned as it comes in: items are reported before the response ends, with the kind and apiVersion that lists omit. */
export class PageReader extends StreamReader {
  readonly #scanner: ObjectScanner
  readonly #list: ListScanner
  readonly #completed: ListItem

  constructor(
    stream: StreamId,
    events: StreamEvents,
    gvk: GroupVersionKind,
    rules: DetectRules,
    budget?: LineBudget | undefined,
  ) {
    const scanner = new ObjectScanner(rules)
    super(stream, events, rules, scanner)
    this.#scanner = scanner
    this.observed.fromList = true
    this.#completed = new ListItem(gvk)
    this.#list = new ListScanner((bytes, start, end) => this.#item(bytes, start, end), { budget })
  }

  protected override get pending(): number {
    return 0
  }

  protected override release(): void {
    this.#list.release()
  }

  protected override body(buffer: Buffer, start: number, end: number): void {
    try {
      this.#list.push(buffer, start, end)
    } catch (cause) {
      if (!(cause instanceof ListSyntaxError || isLineTooLarge(cause))) throw cause
      this.malformed(cause.message)
    }
  }

  protected override complete(): void {
    if (!this.#list.isComplete) return this.malformed("the list ends before its closing brace")
    const { resourceVersion, continueToken } = this.#list.head
    if (resourceVersion === "") {
      return this.malformed("the list has no metadata.resourceVersion")
    }
    this.live = false
    this.events.pageComplete(this.stream, resourceVersion, continueToken === "" ? undefined : continueToken)
  }

  #item(bytes: Buffer, start: number, end: number): void {
    if (!this.live) return
    const item = this.#completed
    if (this.#scanner.scan(bytes, start, end)) {
      item.complete(bytes, start, end, this.#scanner)
      return this.#object(item.bytes, item.start, item.end)
    }
    this.events.slowLine()
    item.completeUnscanned(bytes, start, end)
    const slow = scanObjectSlowly(this.#scanner, item.bytes, item.start, item.end)
    if (slow instanceof UnreadableError) {
      return this.malformed(`item ${this.#list.items} of a list could not be read: ${slow.message}`)
    }
    this.#object(slow.bytes, slow.start, slow.end)
  }

  #object(bytes: Buffer, start: number, end: number): void {
    const problem = this.report(bytes, start, end)
    if (problem !== undefined) this.malformed(`item ${this.#list.items} of a list is ${problem}`)
  }
}
