/** The conflicts of an apply, in the server's words: which manager owns which field. */

import { type FieldSet, forEachPath } from "../managed-fields/field-set.ts"
import { type ManagedFieldsEntry, managerIdentifier } from "../managed-fields/managed-fields-entry.ts"
import { compareText, elementText } from "../managed-fields/path-element.ts"
import { ApplyConflict } from "../patch-failure.ts"

export interface Conflict {
  readonly entry: ManagedFieldsEntry
  /** The fields that the entry's manager owns and the configuration changes. */
  readonly fields: FieldSet
}

export const applyConflict = (conflicts: ReadonlyArray<Conflict>): ApplyConflict => {
  const ordered = [...conflicts].sort((left, right) =>
    compareText(managerIdentifier(left.entry), managerIdentifier(right.entry)),
  )
  const lines: string[] = []
  const conflictCauses: Array<{ reason: "FieldManagerConflict"; message: string; field: string }> = []
  for (const { entry, fields } of ordered) {
    const manager = managerText(entry)
    lines.push(`conflicts with ${manager}:`)
    forEachPath(fields, (path) => {
      const field = path.map(elementText).join("")
      lines.push(`- ${field}`)
      conflictCauses.push({ reason: "FieldManagerConflict", message: `conflict with ${manager}`, field })
    })
  }
  const [first] = conflictCauses
  const text =
    conflictCauses.length === 1 && first !== undefined
      ? `Apply failed with 1 conflict: ${first.message}: ${first.field}`
      : `Apply failed with ${conflictCauses.length} conflicts: ${lines.join("\n")}`
  return new ApplyConflict({ conflictCauses, text })
}

/** `"kubectl" with subresource "status" using apps/v1`; an applier's version is omitted. */
const managerText = (entry: ManagedFieldsEntry): string => {
  const subresource = entry.subresource === undefined ? "" : ` with subresource ${JSON.stringify(entry.subresource)}`
  const version = entry.operation === "Update" ? ` using ${entry.apiVersion}` : ""
  return `${JSON.stringify(entry.manager ?? "")}${subresource}${version}`
}
