/** Which objects an answer is about. */
import { type FieldRequirement, type LabelSelector, matchesLabels } from "../../../kube/offline.ts"
import {
  exactJsonIn,
  isFieldPath,
  isJsonObject,
  type JsonObject,
  metadataIn,
  objectIn,
  parseFieldPath,
  valuesAt,
} from "../../../trace/index.ts"

/** All of it must hold. */
export interface ObjectSelection {
  /** Absent: all namespaces, and cluster-scoped objects. The empty string: cluster-scoped objects only. */
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly uid?: string | undefined
  readonly labels?: LabelSelector | undefined
  /** Any field of the object may be named; one that it does not have is the empty string, as at an API server. */
  readonly fields?: ReadonlyArray<FieldRequirement> | undefined
  /**
   * The namespaces of a kind whose objects may be shown at all; `undefined`: all of them, and cluster-scoped objects. Absent: everything may be shown.
   */
  readonly shownNamespaces?: ((gvk: string) => ReadonlySet<string> | undefined) | undefined
}

/** Whether an object's content need not be known. */
export const selectsByName = ({ labels = [], fields = [] }: ObjectSelection): boolean =>
  labels.length === 0 && fields.length === 0

/** Whether names, which are in rows, restrict the selection of a kind. */
export const hasNames = ({ namespace, name, uid, shownNamespaces }: ObjectSelection, gvk: string): boolean =>
  namespace !== undefined || name !== undefined || uid !== undefined || shownNamespaces?.(gvk) !== undefined

/**
 * A function that says whether an object's state is selected by its labels and fields. An object that cannot be read matches only a selection without
 * either.
 */
export const contentMatcher = ({ labels = [], fields = [] }: ObjectSelection): ((object: Uint8Array) => boolean) => {
  const requirements = fields.map(({ field, isEqual, value }) => {
    const path = parseFieldPath(field)
    return { path: isFieldPath(path) ? path : [], isEqual, value, isMetadata: field.startsWith("metadata.") }
  })
  if (labels.length === 0 && requirements.length === 0) return () => true
  // Labels and names are found in a few µs without parsing the rest of an object.
  const needsWhole = requirements.some(({ isMetadata }) => !isMetadata)
  return (bytes) => {
    const object = needsWhole ? exactJsonIn(bytes) : metadataAlone(bytes)
    if (!isJsonObject(object)) return false
    if (!matchesLabels(labels, objectIn(object.metadata, "labels"))) return false
    return requirements.every(({ path, isEqual, value }) => {
      const [found] = valuesAt(object, path)
      return (found === undefined || found === null || typeof found === "object" ? "" : String(found)) === value
        ? isEqual
        : !isEqual
    })
  }
}

/** Bytes that are no JSON have no labels; who prints the object reports them. */
const metadataAlone = (bytes: Uint8Array): JsonObject | undefined => {
  const metadata = metadataIn(bytes)
  return metadata && { metadata }
}
