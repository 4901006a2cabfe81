/**
 * How one kind differs from the others, as data and small functions; generic-rules.ts turns it into {@link KindRules}.
 * All members are optional: a kind without any gets only the rules of every object.
 */

import type { Errors } from "../../apiserver/answers/field-error.ts"
import type { DefaultTable } from "./default-table.ts"
import type { Fields, MutableObject } from "./kind-rules.ts"
import type { NameFormat } from "./values/object-metadata.ts"

/** Adds the errors of an object. */
export type Check = (object: MutableObject, errors: Errors) => void

/** Adds the errors of a change. */
export type CheckChange = (object: MutableObject, old: MutableObject, errors: Errors) => void

export interface Kind {
  /** The format of names. Default: a DNS-1123 subdomain. */
  readonly name?: NameFormat
  readonly defaults?: DefaultTable
  /**
   * The status that a created object starts with; the client's is dropped, and plain updates keep the old one. Absent:
   * the kind has no status, or accepts it like any other member.
   */
  readonly newStatus?: (object: MutableObject) => Fields
  /** A plain update keeps the old status although a create takes the client's (Nodes). */
  readonly keepsStatus?: boolean
  /** Counters of the status that Go writes with `omitempty`: a zero is not stored. */
  readonly statusOmits?: ReadonlyArray<string>
  /** Members whose change counts as a new generation; absent for kinds that have none. `metadata.x` is allowed. */
  readonly generation?: ReadonlyArray<string>
  /** Members of `metadata` that a write to the status cannot change. */
  readonly statusKeeps?: ReadonlyArray<string>
  readonly prepareCreate?: (object: MutableObject) => void
  readonly prepareUpdate?: (object: MutableObject, old: MutableObject) => void
  /** Changes an update after field ownership has been recorded. */
  readonly settleUpdate?: (object: MutableObject, old: MutableObject) => void
  /** The same for a write to the status. */
  readonly settleStatus?: (object: MutableObject, old: MutableObject) => void
  /** See `readBack` of kind-rules.ts. */
  readonly readBack?: (object: MutableObject) => boolean
  readonly prepareStatus?: (object: MutableObject, old: MutableObject) => void
  /** For creates and plain updates. */
  readonly check?: Check
  readonly checkNew?: Check
  readonly checkChange?: CheckChange
  readonly checkStatus?: CheckChange
  /** Whether an update may omit the resourceVersion. Default true. */
  readonly unconditionalUpdate?: boolean
}
