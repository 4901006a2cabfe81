/**
 * The changes of all objects of a trace, each as a hash and a time: what has to be kept of a trace of any size to compare it. Memory: 24 bytes for each change, and the name of each object.
 *
 * An event after which an object is what it was before is no change: it changed only what is not compared.
 */

import { hash } from "node:crypto"
import { statementText } from "../../timeline/index.ts"
import type { ObjectEvent } from "../event.ts"
import { eventKinds, eventStatement } from "../event-statement.ts"
import {
  exactJsonIn,
  formatExactJson,
  IntegralFloat,
  isJsonList,
  isJsonObject,
  type JsonValue,
  MAX_DEPTH,
  withProperty,
} from "../json/exact-json.ts"
import { sortedKeys } from "../json/key-order.ts"
import { isDeeper } from "../json/members.ts"
import { replayObject } from "../sanitising/replay-object.ts"

/**
 * What of an object is compared. `replayed`: what a replay would create; of references to owners nothing, because the names of owners are generated in each cluster. `all`: every
 * field.
 */
export type ComparedFields = "replayed" | "all"

const noOwner = (): boolean => false

/**
 * Keys in order and numbers as their values, so that equal objects have equal texts. Bytes that are no object count as null; an object that is nested too deeply to be
 * looked into as its text.
 */
export const comparedObject = (gvk: string, bytes: Uint8Array, fields: ComparedFields): JsonValue => {
  const object = exactJsonIn(bytes)
  if (!isJsonObject(object)) return null
  if (isDeeper(object, MAX_DEPTH)) return Buffer.from(bytes).toString("utf8")
  return inOrder(fields === "all" ? object : replayObject(gvk, object, noOwner))
}

const inOrder = (value: JsonValue): JsonValue => {
  if (value instanceof IntegralFloat) return value.value
  if (isJsonList(value)) return value.map(inOrder)
  if (!isJsonObject(value)) return value
  let ordered: Record<string, JsonValue> = {}
  for (const key of sortedKeys(value)) ordered = withProperty(ordered, key, inOrder(value[key] ?? null))
  return ordered
}

/** Stands for an object that is gone; no state has it. */
export const gone = 0

/**
 * A number for a state, at least 1 and below 2^52. That two of a million different states of one object share one has a chance of one in ten thousand; it would hide a
 * difference.
 */
const hashOf = (compared: JsonValue): number => {
  const bytes = hash("sha256", formatExactJson(compared), "buffer")
  return 1 + ((bytes.readUIntBE(0, 6) * 16 + ((bytes[6] ?? 0) >> 4)) % (2 ** 52 - 1))
}

/** A column of 64-bit floats: times, places, and hashes of 52 bits. */
export class GrowingColumn {
  #values = new Float64Array(1024)
  #length = 0

  get length(): number {
    return this.#length
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Float64Array(2 * this.#length)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[this.#length++] = value
  }

  /** @throws RangeError where nothing was appended */
  at(index: number): number {
    if (index < 0 || index >= this.#length) throw new RangeError(`there is no row ${index} of ${this.#length}`)
    return this.#values[index] as number
  }

  set(index: number, value: number): void {
    if (index < 0 || index >= this.#length) throw new RangeError(`there is no row ${index} of ${this.#length}`)
    this.#values[index] = value
  }

  /** The values in ascending order, a copy. */
  sorted(): Float64Array {
    return this.#values.slice(0, this.#length).sort()
  }
}

/** An object by what two clusters have in common. */
export interface ComparedName {
  readonly gvk: string
  /** Empty: cluster-scoped. */
  readonly namespace: string
  readonly name: string
  /** Of a Kubernetes Event: what it said last. */
  readonly says?: string
}

/** Numbers for the objects of both traces: from 0, in the order in which they are first seen. */
export class ObjectNumbers {
  readonly #numbers = new Map<string, number>()
  readonly #names: ComparedName[] = []

  get count(): number {
    return this.#names.length
  }

  of({ gvk, namespace, name }: ComparedName): number {
    // Lengths, because names in a trace may contain any character.
    const key = `${gvk.length} ${namespace.length} ${gvk}${namespace}${name}`
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    this.#numbers.set(key, this.#names.length)
    return this.#names.push({ gvk, namespace, name }) - 1
  }

  /** Notes what a Kubernetes Event says. */
  says(number: number, says: string): void {
    this.#names[number] = { ...this.nameOf(number), says }
  }

  /** @throws RangeError for a number that was not given */
  nameOf(number: number): ComparedName {
    const name = this.#names[number]
    if (name === undefined) throw new RangeError(`there is no object ${number}`)
    return name
  }
}

const never = -1

/** Takes the events of one trace in order. */
export class ChangeLog {
  readonly #numbers: ObjectNumbers
  readonly #fields: ComparedFields
  readonly #objects = new GrowingColumn()
  readonly #times = new GrowingColumn()
  readonly #hashes = new GrowingColumn()
  /** By object: the last hash, and the place among all events of the one that had it. */
  readonly #lastHashes = new GrowingColumn()
  readonly #lastEvents = new GrowingColumn()
  #events = 0
  #present = 0

  constructor(numbers: ObjectNumbers, fields: ComparedFields) {
    this.#numbers = numbers
    this.#fields = fields
  }

  take(event: ObjectEvent): void {
    const { gvk, action, object, time } = event
    const place = this.#events++
    const number = this.#numbers.of(event)
    while (this.#lastHashes.length <= number) {
      this.#lastHashes.push(never)
      this.#lastEvents.push(never)
    }
    const hash = action === "applied" ? hashOf(comparedObject(gvk, object, this.#fields)) : gone
    const before = this.#lastHashes.at(number)
    if (hash === before) return
    if (action === "applied") this.#noteStatement(number, event)
    if (before === never) this.#present++
    this.#lastHashes.set(number, hash)
    this.#lastEvents.set(number, place)
    this.#objects.push(number)
    this.#times.push(time)
    this.#hashes.push(hash)
  }

  /** The name of an Event says nothing. */
  #noteStatement(number: number, { gvk, object }: ObjectEvent): void {
    if (!eventKinds.includes(gvk)) return
    const parsed = exactJsonIn(object)
    const statement = eventStatement(gvk, isJsonObject(parsed) ? parsed : undefined)
    if (statement !== undefined) this.#numbers.says(number, statementText(statement))
  }

  /** Events that were taken. */
  get events(): number {
    return this.#events
  }

  /** Changes: events after which an object is different. */
  get changes(): number {
    return this.#objects.length
  }

  /** Objects that the trace has, also deleted ones. */
  get objects(): number {
    return this.#present
  }

  /** Whether the trace has any event of the object. */
  has(number: number): boolean {
    return number < this.#lastHashes.length && this.#lastHashes.at(number) !== never
  }

  /** The hash of the object at the end; {@link gone} if it is deleted. Only of an object that the trace has. */
  lastHash(number: number): number {
    return this.#lastHashes.at(number)
  }

  /** The place of the event with the last state, among all events of the trace. */
  lastEvent(number: number): number {
    return this.#lastEvents.at(number)
  }

  /** µs since the Unix epoch. */
  time(change: number): number {
    return this.#times.at(change)
  }

  hash(change: number): number {
    return this.#hashes.at(change)
  }

  /** The changes of each object, in order. */
  byObject(): ChangesByObject {
    const starts = new Uint32Array(this.#numbers.count + 1)
    for (let change = 0; change < this.changes; change++) {
      const after = this.#objects.at(change) + 1
      starts[after] = (starts[after] ?? 0) + 1
    }
    for (let number = 1; number < starts.length; number++)
      starts[number] = (starts[number] ?? 0) + (starts[number - 1] ?? 0)
    const next = starts.slice()
    const changes = new Uint32Array(this.changes)
    for (let change = 0; change < this.changes; change++) {
      const number = this.#objects.at(change)
      const place = next[number] ?? 0
      changes[place] = change
      next[number] = place + 1
    }
    return { of: (number) => changes.subarray(starts[number], starts[number + 1]) }
  }
}

interface ChangesByObject {
  /** Numbers of changes. */
  readonly of: (object: number) => Uint32Array
}
