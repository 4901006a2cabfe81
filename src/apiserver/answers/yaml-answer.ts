/**
 * Responses in YAML for clients that prefer it to JSON: like the output of Go's sigs.k8s.io/yaml for the same document,
 * keys sorted.
 */

import { stringify } from "yaml"
import { parseAccept, takes } from "../forms/accept.ts"

export const yamlType = "application/yaml"

/** Whether the first media type that the server has is YAML. `accept` is the header as sent. */
export const prefersYaml = (accept: string | undefined): boolean => {
  // A cheap check first: every request pays for it, and hardly any asks for YAML.
  if (accept?.includes("yaml") !== true) return false
  const first = parseAccept(accept).find((clause) => takes(clause, "json") || takes(clause, "yaml"))
  return first !== undefined && !takes(first, "json")
}

/** Does not fold long lines as Go does; both mean the same. */
export const yamlOf = (json: string): string =>
  stringify(JSON.parse(json), { sortMapEntries: true, indentSeq: false, aliasDuplicateObjects: false, version: "1.1" })
