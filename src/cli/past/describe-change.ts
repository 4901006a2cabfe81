/** One change of one object in lines that people read: when, what, to which object, who, and each field before and after. */
import { formatLocalTime } from "../../local-time.ts"
import { visible } from "../../text/index.ts"
import { type EventStatement, statementText } from "../../timeline/index.ts"
import { formatExactJson, isJsonObject, type JsonObject, type JsonValue } from "../../trace/index.ts"
import { formatCount } from "../terminal/quantities.ts"

/** characters of a value that are shown. */
const longestValue = 120

export const isJsonList = (value: JsonValue | undefined): value is ReadonlyArray<JsonValue> => Array.isArray(value)

/** Objects in a list of an answer. */
export const objectsIn = (value: JsonValue | undefined): ReadonlyArray<JsonObject> =>
  isJsonList(value) ? value.filter(isJsonObject) : []

/** `apps/v1.Deployment shop/web`. */
export const objectName = ({ gvk, namespace, name }: JsonObject): string =>
  `${gvk} ${namespace === "" ? "" : `${namespace}/`}${name}`

/** The programs that wrote a change, apart by what they wrote: the empty name is the object itself, others are subresources. `undefined`: nothing is known. */
export const writersOf = ({ managers }: JsonObject): ReadonlyMap<string, ReadonlyArray<string>> | undefined => {
  if (managers === undefined) return undefined
  const writers = new Map<string, ReadonlyArray<string>>()
  const ordered = [...objectsIn(managers)].sort(
    (one, other) => Number(one.subresource !== "") - Number(other.subresource !== ""),
  )
  for (const { manager, subresource } of ordered) {
    const others = writers.get(String(subresource)) ?? []
    writers.set(String(subresource), [...new Set([...others, String(manager)])])
  }
  return writers
}

/**
 * The user of an audit log, by whose request the object changed: `alice`, `admin as alice`, or `alice (by time)`.
 * `undefined`: not known.
 */
const userOf = ({ author }: JsonObject): string | undefined => {
  if (!isJsonObject(author)) return undefined
  const { user, impersonated, isInferred } = author
  const name = impersonated === undefined ? String(user) : `${user} as ${impersonated}`
  return isInferred === true ? `${name} (by time)` : name
}

/** `  by kubectl-edit; status by kubelet; scale by kubectl; user alice`. `  by ?`: neither the object nor an audit log says. */
export const writersText = (change: JsonObject): string => {
  if (isUnknown(change)) return "  by ?"
  const user = userOf(change)
  const programs = programsText(change)
  if (user === undefined) return programs
  return programs === "" ? `  by user ${user}` : `${programs}; user ${user}`
}

const programsText = (change: JsonObject): string => {
  const each = [...(writersOf(change) ?? [])].map(
    ([part, names]) => `${part === "" ? "" : `${part} `}by ${names.join(", ")}`,
  )
  return each.length === 0 ? "" : `  ${each.join("; ")}`
}

/** A change without managedFields is of a recording that leaves them out: then no line has a writer. */
const isUnknown = ({ type, managers, author }: JsonObject): boolean =>
  author === undefined && isUntraced(type, managers)

const isUntraced = (type: JsonValue | undefined, managers: JsonValue | undefined): boolean =>
  type === "deleted" || type === "vanished" || (type === "changed" && Array.isArray(managers) && managers.length === 0)

/** Counts the changes of which neither their objects nor an audit log says who made them. */
export class UnknownWriters {
  #deletions = 0
  #changes = 0

  add(change: JsonObject): void {
    if (!isUnknown(change)) return
    if (change.type === "changed") this.#changes++
    else this.#deletions++
  }

  /** What is not known, why, and what does; `undefined`: everything is known. */
  get note(): string | undefined {
    const about = [
      ...(this.#deletions > 0 ? [`who deleted ${formatCount(this.#deletions, "object")}`] : []),
      ...(this.#changes > 0 ? [`who made ${formatCount(this.#changes, "change")}`] : []),
    ]
    if (about.length === 0) return undefined
    return (
      `by ?: ${about.join(" and ")} is not known: deletions, evictions, bindings and removed fields leave no trace in metadata.managedFields. ` +
      "The audit log of the API server says it: docs/guides/audit-logs.md#who-did-it"
    )
  }
}

/** The fields that differ, a line each: `  spec.replicas: 2 → 3`. */
export const differenceLines = ({ differences, hasMoreDifferences }: JsonObject): ReadonlyArray<string> => [
  ...objectsIn(differences).map((each) => {
    const [before, after] = [shown(each, "before"), shown(each, "after")]
    if (before === undefined) return `  + ${each.path}: ${after}`
    return after === undefined ? `  - ${each.path}: ${before}` : `    ${each.path}: ${before} → ${after}`
  }),
  ...(hasMoreDifferences === true ? ["    … and more"] : []),
]

const shown = (difference: JsonObject, name: "before" | "after"): string | undefined => {
  const value = difference[name]
  if (value === undefined) return undefined
  const text = formatExactJson(value)
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text
}

/** What a Kubernetes Event says; `undefined`: it is no Event. */
export const statementOf = ({ event }: JsonObject): EventStatement | undefined => {
  if (!isJsonObject(event)) return undefined
  const text = (name: keyof EventStatement): string => String(event[name])
  return {
    ...{ type: text("type"), reason: text("reason"), message: text("message") },
    ...{ about: text("about"), source: text("source") },
  }
}

/** The lines below the head of a change: what an Event says, and the fields that differ. */
export const detailLines = (change: JsonObject): ReadonlyArray<string> => {
  const said = statementOf(change)
  return [...(said === undefined ? [] : [`    ${statementText(said)}`]), ...differenceLines(change)]
}

/** What became of an object, for people. */
const changeWord = (type: string): string => (type === "appeared" ? "first seen" : type)

/** The lines of a change, without line breaks. */
export const changeLines = (change: JsonObject, nowMs: number): ReadonlyArray<string> => {
  const { type, time, received } = change
  const about = received === undefined ? "" : "about "
  const head = `${about}${formatLocalTime(Number(time) / 1000, nowMs)}  ${changeWord(String(type)).padEnd(10)}  ${objectName(change)}${writersText(change)}`
  return [head, ...detailLines(change)].map(visible)
}
