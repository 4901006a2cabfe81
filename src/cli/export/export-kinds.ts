/**
 * The kinds that an export asks for: names as people write them become those of the recording. Built-in kinds need no question; for others the
 * recorder is asked what it records.
 */

import { parseGvk } from "../../kube/gvk.ts"
import type { NamedKind } from "../../kube/kind-names.ts"
import { isExactKind, readKind } from "../command-line/kind-option.ts"

/** Names that are none, in one line for people. */
export interface UnknownKinds {
  readonly problem: string
}

/** Wildcards stay, and so do exact names, also of kinds that are not recorded: the recorder then says so. */
export const resolveKinds = async (
  names: ReadonlyArray<string>,
  recordedKinds: () => Promise<ReadonlyArray<string>>,
): Promise<ReadonlyArray<string> | UnknownKinds> => {
  const isLeft = (name: string): boolean => !isPattern(name) && !isExactKind(name)
  const needsRecorder = names.some((name) => isLeft(name) && readKind(name).tag === "unknown")
  const recorded = needsRecorder ? (await recordedKinds()).flatMap(namedKind) : []
  const resolved: string[] = []
  for (const name of names) {
    if (!isLeft(name)) resolved.push(name)
    else {
      const reading = readKind(name, recorded)
      if (reading.tag === "unknown") return reading
      resolved.push(reading.text)
    }
  }
  return resolved
}

const isPattern = (name: string): boolean => /[*?]/.test(name)

const namedKind = (text: string): ReadonlyArray<NamedKind> => {
  const gvk = parseGvk(text)
  return gvk === undefined ? [] : [{ gvk, plural: undefined }]
}
