/** The names that a CustomResourceDefinition gets: those that no other definition of its group has (the naming controller). */

import { child, text, texts } from "../../rules/fields.ts"
import type { Fields } from "../../rules/kind-rules.ts"

export interface NameConflict {
  readonly reason: string
  readonly message: string
}

interface AcceptedNames {
  /** `status.acceptedNames`. */
  readonly accepted: Fields
  /** The last of several, as the real server reports it. */
  readonly conflict: NameConflict | undefined
}

export const nameConflict = (reason: string, name: string): NameConflict => ({
  reason,
  message: `"${name}" is already in use`,
})

/** `others` are the specs of the definitions already served. */
export const acceptedNames = (spec: Fields | undefined, others: ReadonlyArray<Fields | undefined>): AcceptedNames => {
  const wanted = child(spec, "names") ?? {}
  const rivals = others.filter((other) => text(other, "group") === text(spec, "group"))
  const names = rivals.map((rival) => child(rival, "names"))
  const resources = new Set(
    names.flatMap((taken) => [text(taken, "plural"), text(taken, "singular"), ...texts(taken, "shortNames")]),
  )
  const kinds = new Set(names.flatMap((taken) => [text(taken, "kind"), text(taken, "listKind")]))
  const accepted: Fields = { ...wanted }
  let conflict: NameConflict | undefined
  const settle = (key: string, taken: ReadonlySet<string>, reason: string): void => {
    const name = text(wanted, key)
    if (name === "" || !taken.has(name)) return
    conflict = nameConflict(reason, name)
    accepted[key] = key === "kind" || key === "plural" ? "" : undefined
  }
  settle("plural", resources, "PluralConflict")
  settle("singular", resources, "SingularConflict")
  const short = texts(wanted, "shortNames").find((name) => resources.has(name))
  if (short !== undefined) {
    conflict = nameConflict("ShortNamesConflict", short)
    accepted.shortNames = undefined
  }
  settle("kind", kinds, "KindConflict")
  settle("listKind", kinds, "ListKindConflict")
  return { accepted, conflict }
}
