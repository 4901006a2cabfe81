/** One change of one object in lines that people read: when, what, to which object, who, and each field before and after. */
import { formatLocalTime } from "../../local-time.ts"
import { visible } from "../../recorder/configuration/quoted.ts"
import { formatExactJson, isJsonObject, type JsonObject, type JsonValue } from "../../trace/json/exact-json.ts"

/** characters of a value that are shown. */
const longestValue = 120

/** Objects in a list of an answer. */
export const objectsIn = (value: JsonValue | undefined): ReadonlyArray<JsonObject> =>
  Array.isArray(value) ? (value as ReadonlyArray<JsonValue>).filter(isJsonObject) : []

/** `apps/v1.Deployment shop/web`. */
export const objectName = ({ gvk, namespace, name }: JsonObject): string =>
  `${gvk} ${namespace === "" ? "" : `${namespace}/`}${name}`

/** ` by kubectl-edit, kube-controller-manager (status)`; empty if nothing is known. */
export const managersText = (managers: JsonValue | undefined): string => {
  const names = managerNames(managers)
  return names.length === 0 ? "" : `  by ${names.join(", ")}`
}

/** `kubectl-edit`, `kube-controller-manager (status)`, each once. */
export const managerNames = (managers: JsonValue | undefined): ReadonlyArray<string> => [
  ...new Set(
    objectsIn(managers).map(({ manager, subresource }) => `${manager}${subresource === "" ? "" : ` (${subresource})`}`),
  ),
]

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
  if (!Object.hasOwn(difference, name)) return undefined
  const text = formatExactJson(difference[name] as JsonValue)
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text
}

/** The lines of a change, without line breaks. */
export const changeLines = (change: JsonObject, nowMs: number): ReadonlyArray<string> => {
  const { type, time, received, managers } = change
  const about = received === undefined ? "" : "about "
  const head = `${about}${formatLocalTime(Number(time) / 1000, nowMs)}  ${String(type).padEnd(8)}  ${objectName(change)}${managersText(managers)}`
  return [head, ...differenceLines(change)].map(visible)
}
