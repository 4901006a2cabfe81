/**
 * The documents of a kwok recording (kwok, pkg/apis/action/v1alpha1): names of their fields and methods.
 *
 * ```yaml
 * apiVersion: action.kwok.x-k8s.io/v1alpha1
 * kind: ResourcePatch
 * resource: {group: apps, version: v1, resource: deployments}
 * target: {name: web, namespace: shop}
 * durationNanosecond: 1500000000   # since the start of the recording
 * method: patch                    # create (all of it), patch (strategic merge), delete (no template)
 * template: {spec: {replicas: 3}}
 * ```
 */

import { isJsonObject, parseExactJson } from "../../json/exact-json.ts"
import type { TraceHeader } from "../../trace-item.ts"
import { NDJSON_FORMAT, NDJSON_VERSION } from "../ndjson/ndjson.ts"
import { Fields, headerOf } from "../ndjson/ndjson-fields.ts"

/** Name of the format. */
export const FORMAT = "kwok"
export const API_VERSION = "action.kwok.x-k8s.io/v1alpha1"
export const KIND = "ResourcePatch"

export type PatchMethod = "create" | "patch" | "delete"

/** One object's identity; names contain no spaces. */
export const keyOf = (gvk: string, namespace: string, name: string): string => `${gvk} ${namespace} ${name}`

/** The start of the comment; one line of JSON follows. */
const HEADER_COMMENT = "# kubereel: "

/** The contents of the comment. */
interface KwokHeader {
  /** µs since the Unix epoch from which offsets count. */
  readonly start: number
  readonly header: Partial<TraceHeader>
}

/** The comment, including its line feed. */
export const formatHeader = (start: number, { window, cut, kinds, incomplete, clusterUid }: TraceHeader): string =>
  `${HEADER_COMMENT}${JSON.stringify({ start, ...(window !== undefined && { window }), cut, kinds, incomplete, clusterUid })}\n`

/** Reads a document's first line; `none`: it is not such a comment, `bad`: it is one, but cannot be read. */
export const readHeader = (document: string): KwokHeader | "none" | "bad" => {
  if (!document.startsWith(HEADER_COMMENT)) return "none"
  const [line = ""] = document.slice(HEADER_COMMENT.length).split("\n", 1)
  return readFacts(line) ?? "bad"
}

const readFacts = (line: string): KwokHeader | undefined => {
  try {
    const facts = parseExactJson(line)
    if (!isJsonObject(facts) || typeof facts.start !== "number" || !Number.isSafeInteger(facts.start)) return undefined
    // The same facts, checked in the same way, as in the header of NDJSON.
    const fields = { format: NDJSON_FORMAT, version: NDJSON_VERSION, window: null, ...facts }
    return { start: facts.start, header: headerOf(new Fields(fields, (_, detail) => new Error(detail))) }
  } catch {
    return undefined
  }
}
