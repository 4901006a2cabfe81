/** What a rule of `reel validate` is; rules.ts has them. */
import type { JsonObject } from "../trace/index.ts"

/** `error`: a replay refuses the object, or its pods never run. `warning`: the replay works, but differs from what was recorded. */
type Severity = "error" | "warning"

/** The identity of what a finding is about. `namespace` is empty for what has none. */
export interface Subject {
  readonly gvk: string
  readonly namespace: string
  readonly name: string
}

/** One recorded state of one object. */
export interface TracedObject extends Subject {
  readonly object: JsonObject
  /** Extended JSON pointers to its pod templates; the empty string is the object itself. */
  readonly templatePaths: ReadonlyArray<string>
  /** Prefix of the replay's namespaces, without the hyphen; empty: none. */
  readonly namespacePrefix: string
}

/** Something that the trace must have, at the time of the state that needs it or later. */
export interface Target {
  /** Kind without version, `Secret` or `apps/Deployment`: a name means the same object in every version. */
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** Whether an object of that name in no namespace will do. Default: false. */
  readonly orClusterScoped?: boolean
  /** Whether an object that appears in a later event counts only if it was created before the state. Default: false. */
  readonly isOlder?: boolean
}

/** Where a reference is, as field paths in which `[*]` is every element of a list. */
export interface Place {
  /** The part of the object that a fix removes, or whose members it removes; empty: the whole object. */
  readonly element: string
  /** The field below it with the name. */
  readonly by: string
}

/** One thing that a state needs. */
export interface Need extends Place {
  /** Without a target the need itself is the finding: no trace could satisfy it. */
  readonly target?: Target | undefined
  /** What is named, for people: `Secret`, and its name; both may be empty. */
  readonly kind: string
  readonly name: string
  /** Default: the object. */
  readonly about?: Subject
}

/** A part of a `remove` command of the transform language: conditions besides those on the identity, and the path to remove. */
export interface Removal {
  readonly where?: string
  readonly path: string
}

/** How to repair what a rule finds. */
export interface Fix {
  /** What it removes, for people; continues "removes". */
  readonly removes: string
  /** The object without what is missing; the object itself if nothing is. `isMissing` is asked with the kind and name of a {@link Need}. */
  readonly apply: (traced: TracedObject, isMissing: (kind: string, name: string) => boolean) => JsonObject
  /** The same in the transform language. `literal` is the name as a string of that language. */
  readonly removals: (place: Place, literal: string) => ReadonlyArray<Removal>
}

/** One rule. */
export interface Rule {
  /** `E0001`; the number is unique, the letter says the severity. Codes up to 5 mean what they mean in SimKube. */
  readonly code: string
  /** `service_account_missing` */
  readonly name: string
  readonly severity: Severity
  /** It is about what was left in objects that were sanitised for a replay, and finds nothing in traces of a recorder that have everything. Default: false. */
  readonly isOfSanitised?: boolean
  /**
   * It skips references to kinds that a recorder's unsanitised trace does not have: `reel replay` lets the controller of a recorded ancestor make
   * such an object, or writes it without the reference. Default: false.
   */
  readonly isOfRecordedKinds?: boolean
  /** One sentence: what it finds. */
  readonly summary: string
  /** Paragraphs: why it matters, what is exempt, and what to do. */
  readonly explanation: ReadonlyArray<string>
  readonly needs: (traced: TracedObject) => Iterable<Need>
  /** What the object brings besides itself. Default: nothing. */
  readonly provides?: (traced: TracedObject) => Iterable<Target>
  /** Absent: only people can decide. */
  readonly fix?: Fix
}
