/**
 * JSON patch (RFC 6902) as the Kubernetes API server applies it, which deviates from the RFC: `replace` of an absent
 * member adds it, negative indices count from the end, and `copy` of an absent member copies null.
 *
 * Written here because the server's responses depend on these, and because existing libraries share values between
 * places or write through `__proto__`. Parts that no operation changes are shared with the document; arguments are
 * not changed.
 */

import { unescapedToken } from "../../../kube/index.ts"
import { memberOf, setMember } from "../../../own-member.ts"
import { PatchError } from "../patch-failure.ts"
import {
  isEqualJson,
  isJsonArray,
  isJsonObject,
  type JsonObjectDraft,
  type JsonValue,
  jsonTypeOf,
} from "./json-value.ts"

/** The server's limits: operations of a patch, and bytes of JSON that all its `copy` operations may add. */
const MAX_OPERATIONS = 10_000
const MAX_COPIED_BYTES = 3 * 1024 * 1024

/**
 * The document after all operations.
 *
 * @throws PatchError 400 for anything but a list of operations, 413 for more than 10,000, 422 for an operation that the document does
 * not allow, a failed `test` among them
 */
export const applyJsonPatch = (document: JsonValue, operations: unknown): JsonValue => {
  const decoded = decodeOperations(operations as JsonValue)
  if (decoded.length > MAX_OPERATIONS) {
    const problem = `a JSON patch may have at most ${MAX_OPERATIONS} operations, not ${decoded.length}`
    throw new PatchError({ code: 413, problem })
  }
  const patched = new PatchedDocument(document)
  for (const operation of decoded) patched.apply(operation)
  return patched.root
}

interface Operation {
  readonly op: string | undefined
  readonly path: string | undefined
  readonly from: string | undefined
  readonly value: JsonValue | undefined
}

const decodeOperations = (operations: JsonValue): ReadonlyArray<Operation> => {
  if (operations === null) return []
  if (!isJsonArray(operations)) throw wrongType("the patch", "a list", operations)
  return operations.map((operation) => {
    if (operation !== null && !isJsonObject(operation)) throw wrongType("an operation", "an object", operation)
    const member = (field: string): JsonValue | undefined =>
      operation === null ? undefined : memberOf(operation, field)
    const text = (field: string): string | undefined => {
      const value = member(field) ?? undefined
      if (value !== undefined && typeof value !== "string") throw wrongType(field, "a string", value)
      return value
    }
    return { op: text("op"), path: text("path"), from: text("from"), value: member("value") }
  })
}

const wrongType = (what: string, expected: string, value: JsonValue): PatchError =>
  new PatchError({ code: 400, problem: `${what} must be ${expected}, not ${jsonTypeOf(value)}` })

/** Clients learn only that something is wrong with an operation. */
const refuse = (problem: string): never => {
  throw new PatchError({ code: 422, problem })
}

type Container = JsonValue[] | JsonObjectDraft

/** A container that may be changed, and a member or an index of it. */
interface Place {
  readonly container: Container
  readonly key: string
}

const isContainer = (value: JsonValue | undefined): value is Container => typeof value === "object" && value !== null

/**
 * A document while a patch changes it. Containers are copied on their first change and changed in place from then on, so ten
 * thousand additions to one list do not copy it ten thousand times.
 */
class PatchedDocument {
  root: JsonValue
  #copiedBytes = 0
  readonly #own = new WeakSet<object>()

  constructor(document: JsonValue) {
    this.root = document
  }

  /** Throws PatchError 422. */
  apply({ op = "", path, from, value = null }: Operation): void {
    switch (op) {
      case "add":
        return addAt(this.#place(path), value)
      case "remove":
        return removeAt(this.#place(path))
      case "replace": {
        if (path !== "") return setAt(this.#existing(path), value)
        // For anything but an object or a list the server does nothing and reports nothing.
        if (isContainer(value)) this.root = value
        return
      }
      case "test": {
        const found = path === "" ? this.root : valueAt(this.#existing(path))
        return isEqualJson(found ?? null, value) ? undefined : refuse(`test ${path}: the value is another one`)
      }
      case "move": {
        const place = this.#existing(from)
        const moved = valueAt(place) ?? null
        removeAt(place)
        return addAt(this.#place(path), moved)
      }
      case "copy":
        return this.#copy(valueAt(this.#existing(from)) ?? null, path)
      default:
        return refuse(`unknown operation ${JSON.stringify(op)}`)
    }
  }

  #copy(value: JsonValue, path: string | undefined): void {
    const text = JSON.stringify(value)
    this.#copiedBytes += Buffer.byteLength(text)
    if (this.#copiedBytes > MAX_COPIED_BYTES) refuse(`all copies together exceed ${MAX_COPIED_BYTES} bytes`)
    addAt(this.#place(path), JSON.parse(text))
  }

  /** Where a pointer leads. What precedes its first slash is ignored. */
  #place(pointer: string | undefined): Place {
    const [, ...steps] = (pointer ?? refuse("an operation without a path")).split("/").map(unescapedToken)
    const key = steps.pop() ?? refuse(`${pointer} is no place`)
    let container = this.#changeable(this.root)
    this.root = container
    for (const step of steps) {
      const place = { container, key: step }
      const found = valueAt(place)
      const child = this.#changeable(found)
      if (child !== found) setAt(place, child)
      container = child
    }
    return { container, key }
  }

  /** Of a list, an item that there is; of an object, any member. */
  #existing(pointer: string | undefined): Place {
    const place = this.#place(pointer)
    valueAt(place)
    return place
  }

  #changeable(value: JsonValue | undefined): Container {
    if (!isContainer(value)) return refuse("there is no such place")
    if (this.#own.has(value)) return value
    const copy = Array.isArray(value) ? [...value] : { ...value }
    this.#own.add(copy)
    return copy
  }
}

/** Negative indices count from the end. */
const indexOf = (key: string, length: number): number => {
  const index = /^[+-]?\d+$/.test(key) ? Number(key) : length
  if (index >= length || index < -length) return refuse(`the list has no item ${JSON.stringify(key)}`)
  return index < 0 ? index + length : index
}

const valueAt = ({ container, key }: Place): JsonValue | undefined =>
  Array.isArray(container) ? container[indexOf(key, container.length)] : memberOf(container, key)

const setAt = ({ container, key }: Place, value: JsonValue): void => {
  if (Array.isArray(container)) container[indexOf(key, container.length)] = value
  else setMember(container, key, value)
}

const addAt = (place: Place, value: JsonValue): void => {
  const { container, key } = place
  if (!Array.isArray(container)) setAt(place, value)
  else if (key === "-") container.push(value)
  else container.splice(indexOf(key, container.length + 1), 0, value)
}

const removeAt = ({ container, key }: Place): void => {
  if (Array.isArray(container)) container.splice(indexOf(key, container.length), 1)
  else if (Object.hasOwn(container, key)) delete container[key]
  else refuse("there is no such place")
}
