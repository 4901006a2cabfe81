/** Answers in YAML, for those who prefer it to JSON: what Go's sigs.k8s.io/yaml makes of the same document, keys sorted. */

import { stringify } from "yaml"
import { parseAccept, takes } from "../forms/accept.ts"

export const yamlType = "application/yaml"

/** Whether the first media type that the server has is YAML. `accept` is the header as sent. */
export const prefersYaml = (accept: string | undefined): boolean => {
  // Nearly nobody asks, and everybody pays.
  if (accept?.includes("yaml") !== true) return false
  const first = parseAccept(accept).find((clause) => takes(clause, "json") || takes(clause, "yaml"))
  return first !== undefined && !takes(first, "json")
}

/** Long lines are not folded where Go folds them; both mean the same. */
export const yamlOf = (json: string): string =>
  stringify(JSON.parse(json), { sortMapEntries: true, indentSeq: false, aliasDuplicateObjects: false, version: "1.1" })
