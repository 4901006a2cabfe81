/**
 * A document while a JSON patch changes it, and the six operations. Containers are copied on their first change and
 * changed in place from then on, so ten thousand additions to one list do not copy it ten thousand times.
 */

import { unescapedToken } from "../../../kube/json-pointer.ts"
import { memberOf, setMember } from "../../../own-member.ts"
import { isEqualJson, isJsonArray, type JsonObject, type JsonObjectDraft, type JsonValue } from "./json-value.ts"

export interface JsonPatchOperation {
  readonly op?: string | undefined
  readonly path?: string | undefined
  readonly from?: string | undefined
  readonly value?: JsonValue | undefined
}

/** What is wrong with an operation; clients learn only that something is. */
export type PatchProblem = string

/** Bytes of JSON that all `copy` operations of a patch may add (the server's JSONPatchMaxCopyBytes). */
const MAX_COPIED_BYTES = 3 * 1024 * 1024

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
   * The container that a pointer leads into, ready to be changed, and the pointer's last step; `undefined` if a step is missing.
   */
  place(pointer: string): Place | undefined {
    const steps = pointer.split("/")
    if (steps.length < 2) return undefined
    const root = this.#changeable(this.root)
    if (root === undefined) return undefined
    this.root = root
    let container = root
    // What precedes the first slash is ignored.
    for (let index = 1; index < steps.length - 1; index++) {
      const key = unescapedToken(steps[index] as string)
      const found = valueAt(container, key)
      if ("problem" in found) return undefined
      const child = this.#changeable(found.value)
      if (child === undefined) return undefined
      if (child !== found.value) setAt(container, key, child)
      container = child
    }
    return { container, key: unescapedToken(steps[steps.length - 1] as string) }
  }

  /** The value at a pointer; a problem if a step or an index is missing. */
  value(pointer: string): Found {
    const place = this.place(pointer)
    return place === undefined ? { problem: missing } : valueAt(place.container, place.key)
  }

  #changeable(value: JsonValue | undefined): Container | undefined {
    if (typeof value !== "object" || value === null) return undefined
    if (this.#own.has(value)) return value as Container
    const copy: Container = isJsonArray(value) ? [...value] : { ...(value as JsonObject) }
    this.#own.add(copy)
    return copy
  }
}

/** Applies an operation, or returns why the document does not allow it. */
export const applyOperation = (document: PatchedDocument, operation: JsonPatchOperation): PatchProblem | undefined => {
  const { op = "", path, from, value = null } = operation
  const isKnown = op === "add" || op === "remove" || op === "replace" || op === "move" || op === "test" || op === "copy"
  if (!isKnown) return `unknown operation ${JSON.stringify(op)}`
  if (op === "move" || op === "copy")
    return from === undefined ? `${op} without from` : transfer(document, op, from, path)
  if (path === undefined) return `${op} without path`
  const problem = steps[op](document, path, value)
  return problem === undefined ? undefined : `${op} ${path}: ${problem}`
}

const missing = "there is no such place"

const add = (document: PatchedDocument, path: string, value: JsonValue): PatchProblem | undefined => {
  const place = document.place(path)
  return place === undefined ? missing : addAt(place.container, place.key, value)
}

const steps = {
  add,
  remove: (document: PatchedDocument, path: string): PatchProblem | undefined => {
    const place = document.place(path)
    return place === undefined ? missing : removeAt(place.container, place.key)
  },
  replace: (document: PatchedDocument, path: string, value: JsonValue): PatchProblem | undefined => {
    if (path === "") {
      // For anything but an object or a list the server does nothing and reports nothing.
      if (typeof value === "object" && value !== null) document.root = value
      return undefined
    }
    const place = document.place(path)
    if (place === undefined || "problem" in valueAt(place.container, place.key)) return missing
    setAt(place.container, place.key, value)
    return undefined
  },
  test: (document: PatchedDocument, path: string, value: JsonValue): PatchProblem | undefined => {
    const found = path === "" ? { value: document.root } : document.value(path)
    if ("problem" in found) return found.problem
    return isEqualJson(found.value ?? null, value) ? undefined : "the value is another one"
  },
}

const transfer = (
  document: PatchedDocument,
  op: "move" | "copy",
  from: string,
  path: string | undefined,
): PatchProblem | undefined => {
  const found = document.value(from)
  const problem = "problem" in found ? found.problem : op === "move" ? steps.remove(document, from) : undefined
  if (problem !== undefined) return `${op} from ${from}: ${problem}`
  if (path === undefined) return `${op} without path`
  const value = "value" in found ? (found.value ?? null) : null
  const refused = op === "move" ? add(document, path, value) : addCopy(document, path, value)
  return refused === undefined ? undefined : `${op} ${path}: ${refused}`
}

const addCopy = (document: PatchedDocument, path: string, value: JsonValue): PatchProblem | undefined => {
  const text = JSON.stringify(value)
  document.copiedBytes += Buffer.byteLength(text)
  if (document.copiedBytes > MAX_COPIED_BYTES) return `all copies together exceed ${MAX_COPIED_BYTES} bytes`
  return add(document, path, JSON.parse(text) as JsonValue)
}

type Found = { readonly value: JsonValue | undefined } | { readonly problem: PatchProblem }

/** An absent member of an object is not a problem, an index outside a list is. */
const valueAt = (container: Container, key: string): Found => {
  if (!Array.isArray(container)) return { value: memberOf(container, key) }
  const index = indexOf(key, container.length)
  return index === undefined ? { problem: noIndex(key) } : { value: container[index] }
}

const noIndex = (key: string): PatchProblem => `the list has no item ${JSON.stringify(key)}`

const setAt = (container: Container, key: string, value: JsonValue): void => {
  if (!Array.isArray(container)) setMember(container, key, value)
  else {
    const index = indexOf(key, container.length)
    if (index !== undefined) container[index] = value
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
  if (index === undefined) return noIndex(key)
  container.splice(index, 0, value)
  return undefined
}

const removeAt = (container: Container, key: string): PatchProblem | undefined => {
  if (!Array.isArray(container)) {
    if (!Object.hasOwn(container, key)) return missing
    delete container[key]
    return undefined
  }
  const index = indexOf(key, container.length)
  if (index === undefined) return noIndex(key)
  container.splice(index, 1)
  return undefined
}

const INTEGER = /^[+-]?\d+$/

/** `undefined` if it is not an index or is out of range; negative indices count from the end. */
const indexOf = (key: string, length: number): number | undefined => {
  const index = INTEGER.test(key) ? Number(key) : length
  if (index >= length || index < -length) return undefined
  return index < 0 ? index + length : index
}
