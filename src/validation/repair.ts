/**
 * A trace without what was found: each fix removes a missing reference from every state of its object, so that checking the result
 * finds nothing that has a fix. Everything else stays: the order, the times, the deletions, the lives of pods.
 *
 * SimKube's index has a hash of each object's last spec; those of changed objects are computed again.
 */

import { apiVersionOf, parseGvk } from "../kube/offline.ts"
import {
  formatExactJson,
  type ItemFilter,
  type JsonObject,
  namespacedName,
  simkubeHash,
  type TraceItem,
} from "../trace/index.ts"
import { type Finding, type Findings, findingKey, type RuleFindings } from "./findings.ts"
import type { Place, Subject } from "./rule.ts"
import { rules } from "./rules.ts"
import { StateReader, type ValidationOptions } from "./trace-validation.ts"

/** What was changed so far. */
export interface RepairCounts {
  /** States with at least one removal. */
  states: number
}

/** The repair, as a filter of a conversion. `findings` are those of the same trace, without a limit. */
export const repairing = (findings: Findings, options: ValidationOptions, counts: RepairCounts): ItemFilter => {
  const reader = new StateReader(options)
  /** Hashes of the last specs of objects that were changed. */
  const hashes = new Map<string, bigint>()
  const repaired = (item: TraceItem): TraceItem => {
    reader.configure(item)
    if (item.type === "index") {
      const hash = hashes.get(`${item.gvk}\n${item.name}`)
      return hash === undefined ? item : { ...item, hash }
    }
    if (item.type !== "event" || item.event.type !== "object" || item.event.action !== "applied") return item
    const { gvk, namespace, name } = item.event
    const traced = reader.read(item.event)
    if (traced === undefined) return item
    let object: JsonObject = traced.object
    for (const rule of rules)
      object =
        rule.fix?.apply({ ...traced, object }, (kind, missing) =>
          findings.has(rule, findingKey({ gvk, namespace, name }, kind, missing)),
        ) ?? object
    const key = `${gvk}\n${namespacedName(namespace, name)}`
    // The index has the hash of the last spec, which need not be one that changed.
    if (object.spec !== traced.object.spec || hashes.has(key)) hashes.set(key, simkubeHash(object.spec))
    if (object === traced.object) return item
    counts.states++
    return { ...item, event: { ...item.event, object: Buffer.from(formatExactJson(object)) } }
  }
  return { filtered: repaired, warnings: [] }
}

/** Texts that the language can quote: it has no escapes, and SimKube takes `#` for a comment and cuts spaces off the ends (W-64). */
const quotable = /^[\w.:/@+-]+$/

/** Paths of the language: quoted parts have letters, digits, `_`, `-`, `.` and `/` only. */
const writablePath = /^(?:[\w-]+|"[\w./-]+")(?:\.(?:[\w-]+|"[\w./-]+")|\[(?:\d+|\*)\])*$/

/** Lines of the program, without line breaks. */
export function* transformProgram(found: ReadonlyArray<RuleFindings>): Generator<string> {
  yield "# Removes what reel validate found and can be removed. Each command is about one object."
  for (const { rule, findings, unlisted } of found) {
    if (rule.fix === undefined) continue
    yield ""
    yield `# ${rule.code} ${rule.name}: removes ${rule.fix.removes}`
    if (rule.code === "W0000") {
      yield "remove(status);"
      continue
    }
    for (const finding of findings) yield* commandsFor(finding)
    if (unlisted > 0) yield `# and ${unlisted} more states, which are not listed`
  }
}

function* commandsFor(finding: Finding): Generator<string> {
  const { rule, subject, name } = finding
  const conditions = conditionsOn(subject)
  for (const place of finding.places) {
    if (conditions === undefined || !quotable.test(name) || !isWritable(place)) {
      yield `# not expressible in this language: a reference of ${commentable(subject)}`
      continue
    }
    for (const { where, path } of rule.fix?.removals(place, `"${name}"`) ?? [])
      yield `remove(${[...conditions, ...(where === undefined ? [] : [where])].join(" && ")}, ${path});`
  }
}

/** What selects the object; `undefined`: the language cannot express it. */
const conditionsOn = ({ gvk, namespace, name }: Subject): ReadonlyArray<string> | undefined => {
  const parsed = parseGvk(gvk)
  if (parsed === undefined) return undefined
  const wanted: ReadonlyArray<readonly [path: string, value: string]> = [
    ["apiVersion", apiVersionOf(parsed)],
    ["kind", parsed.kind],
    ...(namespace === "" ? [] : [["metadata.namespace", namespace] as const]),
    ["metadata.name", name],
  ]
  return wanted.every(([, value]) => quotable.test(value))
    ? wanted.map(([path, value]) => `${path} == "${value}"`)
    : undefined
}

const isWritable = ({ element, by }: Place): boolean => writablePath.test(`${element}.${by}`)

/** In a comment nothing may end the line. */
const commentable = ({ gvk, namespace, name }: Subject): string =>
  JSON.stringify([gvk, namespace, name].filter((part) => part !== "").join(" ")).replaceAll(/[^ -~]/g, "?")
