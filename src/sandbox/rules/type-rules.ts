/**
 * The rules of the built-in kinds by the types of their fields, applied in one walk over an object and its type: a Container has
 * the same rules in a Pod, a Deployment and a CronJob. Types are the server's Go structs as their protobuf descriptors state them,
 * so what Go omits when it is zero, writes although it is zero, or spells canonically (quantities) needs no rule at all.
 *
 * A type is compiled once, with its first object. A walk costs one look-up for each field of the object, and allocates only what
 * it fills in; a check allocates one place for each field that has rules.
 */

import { fieldErrors as problem } from "../../apiserver/index.ts"
import { type Complaints, canonicalQuantity, formatGvk, type GroupVersionKind } from "../../kube/offline.ts"
import { type FieldDescriptor, protobufDescriptors } from "../protobuf/descriptors.ts"
import { checksOf } from "./checks.ts"
import { isFields, isZero } from "./fields.ts"
import type { Fields } from "./kind-rules.ts"
import types from "./types.json" with { type: "json" }

/** A place in an object, at which a validation adds what is wrong there. Only a problem pays for the text of its path. */
export class Place {
  readonly errors: problem.Errors
  readonly #parent: Place | undefined
  readonly #step: string | number

  /** The whole object, without a parent. */
  constructor(errors: problem.Errors, parent?: Place, step: string | number = "") {
    this.errors = errors
    this.#parent = parent
    this.#step = step
  }

  /** The place of a field or of a list's item below this one; `[key]` for a map's member. */
  at(...steps: ReadonlyArray<string | number>): Place {
    return steps.reduce<Place>((place, step) => new Place(this.errors, place, step), this)
  }

  /** `spec.containers[0].name`. */
  get field(): string {
    const above = this.#parent?.field ?? ""
    if (typeof this.#step === "number") return `${above}[${this.#step}]`
    return above === "" || this.#step.startsWith("[") ? above + this.#step : `${above}.${this.#step}`
  }

  add(error: problem.FieldError): void {
    this.errors.push(error)
  }

  required(detail = ""): void {
    this.add(problem.required(this.field, detail))
  }

  invalid(value: unknown, detail: string): void {
    this.add(problem.invalid(this.field, value, detail))
  }

  /** One `Invalid` for each complaint. */
  complain(value: unknown, complaints: Complaints): void {
    for (const complaint of complaints) this.invalid(value, complaint)
  }

  immutable(value: unknown): void {
    this.add(problem.immutable(this.field, value ?? null))
  }

  forbidden(detail: string): void {
    this.add(problem.forbidden(this.field, detail))
  }

  notSupported(value: unknown, supported: ReadonlyArray<unknown>): void {
    this.add(problem.notSupported(this.field, value, supported))
  }

  duplicate(value: unknown): void {
    this.add(problem.duplicate(this.field, value))
  }

  notFound(value: unknown): void {
    this.add({ type: "NotFound", field: this.field, value, detail: "" })
  }
}

/** Adds what is wrong with the value of a field of `owner`. Absent values are checked too. */
export type Check = (value: unknown, at: Place, owner: Fields) => void

/** What types.json says of a type, in one line for each field. */
interface StatedRules {
  /** Values of fields that Go's defaulting finds unset: pointers that are nil, others that are zero. An object means a new, empty one. */
  readonly set?: Readonly<Record<string, unknown>>
  /** Words; see checks.ts. */
  readonly checks?: Readonly<Record<string, string>>
}

const statedRules: Readonly<Record<string, StatedRules>> = types

/** The rules of one type that need more than a line of types.json. */
interface TypeRules {
  /** Sets fields that depend on others, after everything below has its defaults. */
  readonly derive?: (object: Fields) => void
  /** The object whose members are checked instead by the rules of their types. */
  readonly checkedAs?: (object: Fields) => Fields
  /** The checks of fields, and of the object itself (`self`), after those of types.json. */
  readonly checks?: Readonly<Record<string, Check | ReadonlyArray<Check>>>
}

/** By name: `core/v1.Container`, `meta/v1.LabelSelector`. */
export type RulesByType = Readonly<Record<string, TypeRules>>

/** Schemas of definitions have rules of their own, and may be huge. */
const opaque: ReadonlySet<string> = new Set(["apiextensions/v1.JSONSchemaProps"])

/** `api/core/v1.Container` and `apimachinery/pkg/apis/meta/v1.LabelSelector` without what precedes the group. */
const shortName = (message: string): string => message.replace(/^(?:api|.*\/apis)\//, "")

/** Fields of inlined structs belong to the object. */
const fieldsOf = (message: string): ReadonlyArray<FieldDescriptor> =>
  (protobufDescriptors().messages.get(message) ?? []).flatMap((field) =>
    field.isInline ? fieldsOf(field.type) : [field],
  )

interface Member {
  readonly descriptor: FieldDescriptor
  readonly type: TypeWalk | undefined
}

interface Step {
  readonly key: string
  readonly checks: ReadonlyArray<Check>
  readonly type: TypeWalk | undefined
}

/** One type with its rules. */
export class TypeWalk {
  readonly members = new Map<string, Member>()
  readonly #rules: TypeRules
  readonly #checks: ReadonlyMap<string, ReadonlyArray<Check>>
  readonly #set: ReadonlyArray<readonly [key: string, value: unknown, isPointer: boolean]>
  /** What Go writes although nothing was set. */
  readonly #always: ReadonlyArray<readonly [key: string, zero: () => unknown]>
  #steps: ReadonlyArray<Step> | undefined

  constructor(message: string, all: TypeWalks) {
    const stated = statedRules[shortName(message)] ?? {}
    this.#rules = all.rules[shortName(message)] ?? {}
    this.#checks = joined(stated.checks ?? {}, this.#rules.checks ?? {})
    all.known.set(message, this)
    const fields = opaque.has(shortName(message)) ? [] : fieldsOf(message)
    for (const descriptor of fields)
      this.members.set(descriptor.name, { descriptor, type: all.ofMessage(descriptor.type) })
    this.#set = Object.entries(stated.set ?? {}).map(([key, value]) => [
      key,
      value,
      this.members.get(key)?.descriptor.isPointer === true,
    ])
    this.#always = [...this.members].flatMap(([key, member]) => {
      const zero = writtenZero(member)
      return zero === undefined ? [] : [[key, zero] as const]
    })
  }

  /** Fills in what is omitted, drops what Go omits, and spells quantities canonically; in place. */
  fill(object: Fields): void {
    for (const [key, value, isPointer] of this.#set) {
      const present = object[key]
      if (present === undefined || present === null || (!isPointer && isZero(present)))
        object[key] = typeof value === "object" ? {} : value
    }
    for (const [key, zero] of this.#always) if (object[key] === undefined || object[key] === null) object[key] = zero()
    for (const key in object) {
      const member = this.members.get(key)
      if (member !== undefined) fillMember(member, object, key)
    }
    this.#rules.derive?.(object)
  }

  /** Adds what is wrong with an object that has its defaults. */
  check(object: Fields, place: Place): void {
    this.#steps ??= this.#planned()
    const seen = this.#rules.checkedAs?.(object) ?? object
    for (const { key, checks, type } of this.#steps) {
      const value = key === "self" ? object : object[key]
      if (checks.length === 0 && (value === undefined || value === null)) continue
      const at = key === "self" ? place : new Place(place.errors, place, key)
      for (const check of checks) check(value, at, object)
      const inner = type === undefined ? undefined : seen[key]
      if (Array.isArray(inner))
        for (const [index, item] of inner.entries())
          type?.check(isFields(item) ? item : {}, new Place(at.errors, at, index))
      else if (isFields(inner)) type?.check(inner, at)
    }
  }

  #planned(): ReadonlyArray<Step> {
    const keys = new Set([...this.#checks.keys(), ...this.members.keys()])
    // Statuses have checks of their own (kind-rules.ts), for the writes that change them.
    keys.delete("status")
    return [...keys].flatMap((key) => {
      const [checks = [], type] = [this.#checks.get(key), this.members.get(key)?.type]
      const inner = type?.hasChecks(new Set()) === true ? type : undefined
      return checks.length === 0 && inner === undefined ? [] : [{ key, checks, type: inner }]
    })
  }

  /** Whether it or a type below it has checks; types may be recursive. */
  hasChecks(seen: Set<TypeWalk>): boolean {
    if (seen.has(this)) return false
    seen.add(this)
    if (this.#checks.size > 0) return true
    return [...this.members.values()].some(({ type }) => type?.hasChecks(seen) === true)
  }
}

const joined = (
  stated: Readonly<Record<string, string>>,
  more: NonNullable<TypeRules["checks"]>,
): ReadonlyMap<string, ReadonlyArray<Check>> => {
  const checks = new Map(Object.entries(stated).map(([key, words]) => [key, checksOf(words)]))
  for (const [key, added] of Object.entries(more)) checks.set(key, [...(checks.get(key) ?? []), added].flat())
  return checks
}

/** All types with the rules of one table. */
export class TypeWalks {
  readonly rules: RulesByType
  readonly known = new Map<string, TypeWalk>()

  constructor(rules: RulesByType) {
    this.rules = rules
  }

  /** `undefined` for a scalar, and for a kind that is not built in. */
  ofMessage(message: string): TypeWalk | undefined {
    const known = this.known.get(message)
    return known ?? (protobufDescriptors().messages.has(message) ? new TypeWalk(message, this) : undefined)
  }

  of(gvk: GroupVersionKind): TypeWalk | undefined {
    return this.ofMessage(protobufDescriptors().kinds.get(formatGvk(gvk)) ?? "")
  }
}

const fillMember = ({ descriptor, type }: Member, owner: Fields, key: string): void => {
  const value = owner[key]
  if (type !== undefined) {
    if (Array.isArray(value)) for (const item of value) if (isFields(item)) type.fill(item)
    if (!isFields(value)) return
    if (descriptor.shape === "single") type.fill(value)
    else if (descriptor.shape === "map") for (const item of Object.values(value)) if (isFields(item)) type.fill(item)
  } else if (descriptor.type === "quantity") {
    if (descriptor.shape === "single") owner[key] = canonicalQuantity(value)
    else if (isFields(value)) for (const name of Object.keys(value)) value[name] = canonicalQuantity(value[name])
  } else if (descriptor.omitEmpty && !descriptor.isPointer && (value === "" || value === 0 || value === false))
    if (descriptor.type !== "int-or-string") delete owner[key]
}

const zeros: Readonly<Record<string, unknown>> = {
  int: 0,
  double: 0,
  string: "",
  bool: false,
  time: null,
  "micro-time": null,
  bytes: null,
  quantity: "0",
  "int-or-string": 0,
}

/** Scalars that Go omits although they are not pointers, when they are zero. */
const omitted: ReadonlySet<string> = new Set(["int", "double", "string", "bool", "bytes"])

/** How Go writes a field that was not set; `undefined` if it does not. Structs are never omitted, and times are structs. */
const writtenZero = ({ descriptor, type }: Member): (() => unknown) | undefined => {
  const { shape, isPointer, omitEmpty, omitZero } = descriptor
  if (isPointer || shape !== "single") return omitEmpty ? undefined : () => null
  if (omitZero || (omitEmpty && omitted.has(descriptor.type))) return undefined
  if (type !== undefined) return () => ({})
  const zero = zeros[descriptor.type]
  return zero === undefined ? undefined : () => zero
}
