/** The differences between two comparable transcripts, and which of them are known. */

import { isObject, type Json } from "../exact-json.ts"
import type { ComparableStep } from "./comparable.ts"
import { matchesPointer, memberPointer } from "./pointer.ts"

export interface Difference {
  readonly script: string
  readonly step: string
  /** Into the step's answer: `/status`, `/contentType`, `/warnings/0`, `/body/…`, `/events/0/…`. */
  readonly pointer: string
  /** `undefined` if absent. */
  readonly real: Json | undefined
  readonly sandbox: Json | undefined
}

/** A difference that stays, and why. */
export interface KnownDifference {
  /** A script's name, or `*`. */
  readonly script: string
  /** A step's name, or `*`. */
  readonly step: string
  /** With `*` for one member and `**` for everything below. */
  readonly pointer: string
  readonly reason: string
  /** It depends on the speed of the real server's controllers, so a run without it proves nothing. Default: it always occurs. */
  readonly sometimes?: boolean
}

const marked = /<(?:uid|version|end) ([^>]+)>/g

/** A one-to-one map of UIDs, versions and ends of names of one server to those of the other. */
class Correspondence {
  readonly #sandboxOf = new Map<string, string>()
  readonly #realOf = new Map<string, string>()

  /** Whether two texts are equal except for marked parts that correspond. New pairs correspond from here on. */
  agree(real: string, sandbox: string): boolean {
    if (real.replace(marked, "<>") !== sandbox.replace(marked, "<>")) return false
    const others = sandbox.match(marked) ?? []
    return (real.match(marked) ?? []).every((part, index) => this.#pair(part, others[index] ?? ""))
  }

  /** A member's name of the sandbox as the real server has it. */
  translated(key: string): string {
    return key.replace(marked, (part) => this.#realOf.get(part) ?? part)
  }

  #pair(real: string, sandbox: string): boolean {
    const known = this.#sandboxOf.get(real)
    if (known !== undefined || this.#realOf.has(sandbox)) return known === sandbox
    this.#sandboxOf.set(real, sandbox)
    this.#realOf.set(sandbox, real)
    return true
  }
}

/** Empty if both responses are equal. If the status differs, only that is reported: the bodies follow from it. */
export const differencesOf = (
  script: string,
  real: readonly ComparableStep[],
  sandbox: readonly ComparableStep[],
): readonly Difference[] => {
  const names = new Correspondence()
  return real.flatMap(({ step, value }, index) => {
    const other = sandbox[index]?.value ?? null
    const found: Difference[] = []
    const report = (pointer: string, left: Json | undefined, right: Json | undefined): void => {
      found.push({ script, step, pointer, real: left, sandbox: right })
    }
    if (isObject(value) && isObject(other) && value.status !== other.status) report("/status", value, other)
    else collect(value, other, "", report, names)
    return found
  })
}

type Report = (pointer: string, real: Json | undefined, sandbox: Json | undefined) => void

const collect = (
  real: Json | undefined,
  sandbox: Json | undefined,
  pointer: string,
  report: Report,
  names: Correspondence,
): void => {
  if (Array.isArray(real) && Array.isArray(sandbox)) {
    const length = Math.max(real.length, sandbox.length)
    for (let index = 0; index < length; index++)
      collect(real[index] as Json, sandbox[index] as Json, `${pointer}/${index}`, report, names)
  } else if (isObject(real) && isObject(sandbox)) {
    const others = new Map(Object.entries(sandbox).map(([key, value]) => [names.translated(key), value]))
    for (const key of new Set([...Object.keys(real), ...others.keys()]))
      collect(real[key], others.get(key), memberPointer(pointer, key), report, names)
  } else if (typeof real === "string" && typeof sandbox === "string") {
    if (!names.agree(real, sandbox)) report(pointer, real, sandbox)
  } else if (real !== sandbox) report(pointer, real, sandbox)
}

export const isKnown = (difference: Difference, known: KnownDifference): boolean =>
  (known.script === "*" || known.script === difference.script) &&
  (known.step === "*" || known.step === difference.step) &&
  matchesPointer(known.pointer, difference.pointer)

/** One line of a report. */
export const describeDifference = ({ script, step, pointer, real, sandbox }: Difference): string =>
  `${script} / ${step} ${pointer}\n    real:    ${shown(real)}\n    sandbox: ${shown(sandbox)}`

const shown = (value: Json | undefined): string => (JSON.stringify(value) ?? "nothing").slice(0, 1200)
