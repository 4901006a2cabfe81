/**
 * A document while a JSON patch changes it, and the six operations. Containers are copied when they are first changed
 * and changed in place from then on, so ten thousand additions to one list cost no ten thousand copies of it.
 */

import {
  isEqualJson,
  isJsonArray,
  type JsonObject,
  type JsonObjectDraft,
  type JsonValue,
  memberOf,
  setMember,
} from "./json-value.ts"

export interface JsonPatchOperation {
  readonly op?: string | undefined
  readonly path?: string | undefined
  readonly from?: string | undefined
  readonly value?: JsonValue | undefined
}

/** What is wrong with an operation, in the words of the server's library; its clients never see them. */
export type PatchProblem = string

/** Bytes of JSON that all `copy` operations of a patch may add (the server's JSONPatchMaxCopyBytes). */
export const MAX_COPIED_BYTES = 3 * 1024 * 1024

type Container = JsonValue[] | JsonObjectDraft

interface Place {
  readonly container: Container
  readonly key: string
}

export class PatchedDocument {
  root: JsonValue
  copiedBytes = 0
  readonly #own = new WeakSet<object>()

  constructor(document: JsonValue) {
    this.root = document
  }

  /**
   * The container that a pointer leads into, ready to be changed, and the last step; `undefined` if a step is missing.
   */
  place(pointer: string): Place | undefined {
    const steps = pointer.split("/")
    if (steps.length < 2) return undefined
    const root = this.#changeable(this.root)
    if (root === undefined) return undefined
    this.root = root
    let container = root
    // What stands before the first slash is not looked at.
    for (let index = 1; index < steps.length - 1; index++) {
      const key = unescaped(steps[index] as string)
      const found = valueAt(container, key)
      if ("problem" in found) return undefined
      const child = this.#changeable(found.value)
      if (child === undefined) return undefined
      if (child !== found.value) setAt(container, key, child)
      container = child
    }
    return { container, key: unescaped(steps[steps.length - 1] as string) }
  }

  #changeable(value: JsonValue | undefined): Container | undefined {
    if (typeof value !== "object" || value === null) return undefined
    if (this.#own.has(value)) return value as Container
    const copy: Container = isJsonArray(value) ? [...value] : { ...(value as JsonObject) }
    this.#own.add(copy)
    return copy
  }
}

export const applyOperation = (document: PatchedDocument, operation: JsonPatchOperation): PatchProblem | undefined => {
  const { op = "unknown", path, value = null } = operation
  switch (op) {
    case "add":
      return path === undefined ? "add operation failed to decode path: missing value" : add(document, path, value)
    case "remove":
      return path === undefined ? "remove operation failed to decode path: missing value" : remove(document, path)
    case "replace":
      return path === undefined ? undecoded("replace", "path") : replace(document, path, value)
    case "move":
      return move(document, operation)
    case "test":
      return path === undefined ? undecoded("test", "path") : test(document, path, value)
    case "copy":
      return copy(document, operation)
    default:
      return `Unexpected kind: ${op}`
  }
}

const undecoded = (op: string, field: "path" | "from"): PatchProblem =>
  field === "path"
    ? `${op} operation failed to decode path: operation missing path field: missing value`
    : `${op} operation failed to decode from: operation, missing from field: missing value`

const add = (document: PatchedDocument, path: string, value: JsonValue): PatchProblem | undefined => {
  const place = document.place(path)
  if (place === undefined)
    return `add operation does not apply: doc is missing path: ${JSON.stringify(path)}: missing value`
  const problem = addAt(place.container, place.key, value)
  return problem === undefined ? undefined : `error in add for path: '${path}': ${problem}`
}

const remove = (document: PatchedDocument, path: string): PatchProblem | undefined => {
  const place = document.place(path)
  if (place === undefined) {
    return `remove operation does not apply: doc is missing path: ${JSON.stringify(path)}: missing value`
  }
  const problem = removeAt(place.container, place.key)
  return problem === undefined ? undefined : `error in remove for path: '${path}': ${problem}`
}

const replace = (document: PatchedDocument, path: string, value: JsonValue): PatchProblem | undefined => {
  if (path === "") {
    // Of anything but an object or a list the server says nothing and does nothing.
    if (typeof value === "object" && value !== null) document.root = value
    return undefined
  }
  const place = document.place(path)
  if (place === undefined) return `replace operation does not apply: doc is missing path: ${path}: missing value`
  if ("problem" in valueAt(place.container, place.key)) {
    return `replace operation does not apply: doc is missing key: ${path}: missing value`
  }
  setAt(place.container, place.key, value)
  return undefined
}

const move = (document: PatchedDocument, { from, path }: JsonPatchOperation): PatchProblem | undefined => {
  if (from === undefined) return undecoded("move", "from")
  const source = document.place(from)
  if (source === undefined) return `move operation does not apply: doc is missing from path: ${from}: missing value`
  const found = valueAt(source.container, source.key)
  const problem = "problem" in found ? found.problem : removeAt(source.container, source.key)
  if (problem !== undefined) return `error in move for path: '${source.key}': ${problem}`
  if (path === undefined) return undecoded("move", "path")
  const place = document.place(path)
  if (place === undefined)
    return `move operation does not apply: doc is missing destination path: ${path}: missing value`
  const refused = addAt(place.container, place.key, "value" in found ? (found.value ?? null) : null)
  return refused === undefined ? undefined : `error in move for path: '${path}': ${refused}`
}

const test = (document: PatchedDocument, path: string, value: JsonValue): PatchProblem | undefined => {
  const failed = `testing value ${path} failed: test failed`
  if (path === "") return isEqualJson(document.root, value) ? undefined : failed
  const place = document.place(path)
  if (place === undefined) return `test operation does not apply: is missing path: ${path}: missing value`
  const found = valueAt(place.container, place.key)
  if ("problem" in found) return `error in test for path: '${path}': ${found.problem}`
  return isEqualJson(found.value ?? null, value) ? undefined : failed
}

const copy = (document: PatchedDocument, { from, path }: JsonPatchOperation): PatchProblem | undefined => {
  if (from === undefined) return undecoded("copy", "from")
  const source = document.place(from)
  if (source === undefined) return `copy operation does not apply: doc is missing from path: ${from}: missing value`
  const found = valueAt(source.container, source.key)
  if ("problem" in found) return `error in copy for from: '${from}': ${found.problem}`
  if (path === undefined) return "copy operation failed to decode path: missing value"
  const place = document.place(path)
  if (place === undefined)
    return `copy operation does not apply: doc is missing destination path: ${path}: missing value`
  const text = JSON.stringify(found.value ?? null)
  document.copiedBytes += Buffer.byteLength(text)
  if (document.copiedBytes > MAX_COPIED_BYTES) {
    return `Unable to complete the copy, the accumulated size increase of copy is ${document.copiedBytes}, exceeding the limit ${MAX_COPIED_BYTES}`
  }
  const problem = addAt(place.container, place.key, JSON.parse(text) as JsonValue)
  return problem === undefined ? undefined : `error while adding value during copy: ${problem}`
}

/** An absent member of an object is no problem, an index outside a list is. */
const valueAt = (
  container: Container,
  key: string,
): { readonly value: JsonValue | undefined } | { readonly problem: string } => {
  if (!Array.isArray(container)) return { value: memberOf(container, key) }
  const index = indexOf(key, container.length)
  return typeof index === "string" ? { problem: index } : { value: container[index] }
}

const setAt = (container: Container, key: string, value: JsonValue): void => {
  if (!Array.isArray(container)) setMember(container, key, value)
  else {
    const index = indexOf(key, container.length)
    if (typeof index === "number") container[index] = value
  }
}

const addAt = (container: Container, key: string, value: JsonValue): PatchProblem | undefined => {
  if (!Array.isArray(container)) {
    setMember(container, key, value)
    return undefined
  }
  if (key === "-") {
    container.push(value)
    return undefined
  }
  const index = indexOf(key, container.length + 1)
  if (typeof index === "string") {
    return INTEGER.test(key) ? index : `value was not a proper array index: '${key}': ${index}`
  }
  container.splice(index, 0, value)
  return undefined
}

const removeAt = (container: Container, key: string): PatchProblem | undefined => {
  if (!Array.isArray(container)) {
    if (!Object.hasOwn(container, key)) return `Unable to remove nonexistent key: ${key}: missing value`
    delete container[key]
    return undefined
  }
  const index = indexOf(key, container.length)
  if (typeof index === "string") return index
  container.splice(index, 1)
  return undefined
}

const INTEGER = /^[+-]?\d+$/

/** A problem instead of an index that is none or outside; negative ones count from the end. */
const indexOf = (key: string, length: number): number | PatchProblem => {
  if (!INTEGER.test(key)) return `strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`
  const index = Number(key)
  if (index >= length || index < -length) return `Unable to access invalid index: ${index}: invalid index referenced`
  return index < 0 ? index + length : index
}

const unescaped = (step: string): string =>
  step.includes("~") ? step.replace(/~[01]/g, (match) => (match === "~1" ? "/" : "~")) : step
