/**
 * Which programs wrote an object between two of its states, by `metadata.managedFields`, as src/trace/json/field-managers.ts says it; that module explains why
 * an entry that only lost fields does not count. A second write of a manager within one second is not seen here.
 */

import type { Manager } from "../source/source.ts"
import { isMembers } from "./difference.ts"

type Members = Readonly<Record<string, unknown>>

/** Names that the API server makes up. */
const placeholders: ReadonlySet<string> = new Set(["ancient-changes", "before-first-apply"])

/** The managers that wrote, most recent first. Without a state before: all that have an entry. */
export const managersBetween = (before: Members | undefined, after: Members): ReadonlyArray<Manager> => {
  const [earlier, later] = [entriesOf(before), entriesOf(after)]
  if (later === undefined || (before !== undefined && earlier === undefined)) return []
  const known = new Map((earlier ?? []).map((entry) => [nameOf(entry), entry]))
  const moment = (entry: Members): string => text(entry.time) || "~"
  return later
    .filter((entry) => {
      if (placeholders.has(text(entry.manager))) return false
      const former = known.get(nameOf(entry))
      if (before === undefined || former === undefined || text(former.time) < text(entry.time)) return true
      return hasGained(fieldsOf(former), fieldsOf(entry))
    })
    .sort((one, other) => (moment(one) < moment(other) ? 1 : moment(one) > moment(other) ? -1 : 0))
    .map(({ manager, operation, subresource }) => ({
      ...{ manager: text(manager), operation: text(operation), subresource: text(subresource) },
    }))
}

const entriesOf = (object: Members | undefined): ReadonlyArray<Members> | undefined => {
  const metadata = object?.metadata
  const entries = isMembers(metadata) ? metadata.managedFields : undefined
  return Array.isArray(entries) ? entries.filter(isMembers) : undefined
}

const text = (value: unknown): string => (typeof value === "string" ? value : "")

const nameOf = ({ manager, operation, subresource, apiVersion }: Members): string =>
  JSON.stringify([manager, operation, subresource, operation === "Apply" ? "" : apiVersion].map(text))

const fieldsOf = ({ fieldsV1 }: Members): Members => (isMembers(fieldsV1) ? fieldsV1 : {})

/** Whether a place in fieldsV1 is a field of the entry itself; otherwise only fields inside it are. */
const isField = (fields: Members): boolean => Object.hasOwn(fields, ".") || Object.keys(fields).length === 0

const hasGained = (former: Members, fields: Members): boolean =>
  Object.entries(fields).some(([key, inner]) => {
    if (key === "." || !isMembers(inner)) return false
    const before = Object.hasOwn(former, key) ? former[key] : undefined
    if (!isMembers(before)) return true
    return (isField(inner) && !isField(before)) || hasGained(before, inner)
  })
