/**
 * The program in SimKube's transform language that removes what was found, command by command: the same as a repair, for people who want
 * to read and change it first. It works with `skctl transform` too.
 */
import { apiVersionOf, parseGvk } from "../kube/gvk.ts"
import type { Finding, RuleFindings } from "./findings.ts"
import type { Place, Subject } from "./rule.ts"

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
