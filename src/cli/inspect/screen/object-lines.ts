/** One state of an object as lines: what it is, what is wrong with it, what changed, and its YAML. */
import { visible } from "../../../text/index.ts"
import {
  differencesBetween,
  exactJsonIn,
  formatExactJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../trace/index.ts"
import { printedObject, yamlOf } from "../../past/printed-objects.ts"
import { formatDuration, localMoment } from "../../terminal/quantities.ts"
import { placeText } from "../../validate/report-lines.ts"
import { type EventList, isDeletion, type Shortcoming } from "./event-list.ts"
import { type StyledLine, span } from "./styled-line.ts"

/** Differences that are listed: more are a new object, whose YAML says more. */
const mostDifferences = 200

/** characters of a value in a difference. */
const longestValue = 200

/** What differs in every state and says nothing. */
const isLeftOut = (path: string): boolean =>
  path === "metadata.managedFields" || path === "metadata.resourceVersion" || path === "metadata.generation"

/** Throws SpoolError. `nowMs`: decides whether times have a date. */
export const objectLines = (list: EventList, event: number, nowMs: number): ReadonlyArray<StyledLine> => {
  const { gvk, namespace, name, lacks } = list.object(event)
  if (lacks !== undefined) return shortcomingLines(lacks, nowMs)
  const sort = list.sort(event)
  const object = objectIn(list, event)
  const previous = list.previous(event)
  const before = previous === undefined ? undefined : objectIn(list, previous)
  const said = sort === "start" ? "as it was at the start" : sort === "vanished" ? "was gone, found" : sort
  return [
    [span(visible(`${gvk} ${namespace === "" ? name : `${namespace}/${name}`}`), "title")],
    [
      span(
        `${said}${list.isEstimate(event) ? " about" : ""} ${localMoment(list.time(event), nowMs)}, ${versionText(list, event)}`,
        "dim",
      ),
    ],
    ...findingLines(list, event),
    ...(sort === "start" || before === undefined || object === undefined || isDeletion(sort)
      ? []
      : [[], [span("changes", "title")], ...differenceLines(before, object)]),
    [],
    ...(object === undefined ? unreadable(list, event) : yamlLines(printedObject(object, gvk, false))),
  ]
}

/** Why something is missing, in words: of the reasons that recorders have. */
const reasons: ReadonlyMap<string, string> = new Map([
  ["expired", "the API server no longer had the changes when the recorder asked for them (410 Gone)"],
  ["overload", "more changes came than could be kept"],
  ["stopped", "the kind was not recorded in that time"],
  ["cluster-restored", "the cluster was restored from a backup, so that its versions began anew"],
  ["damaged", "what was recorded there cannot be read"],
  ["dropped-before-upload", "the disk of the recorder was full before it could be archived"],
  ["unlogged", "the audit logs have changes without the objects"],
  ["forbidden", "the recorder was not permitted to list and watch it"],
])

/** What is missing in one line, for a row of the list. */
export const shortcomingText = ({ gvk, namespace, fromTime, toTime, reason }: Shortcoming): string => {
  if (gvk === "") return `${reason} here`
  const kind = gvk.slice(gvk.lastIndexOf(".") + 1)
  const where = namespace === "" ? kind : `${kind} in ${namespace}`
  return `gap of ${where}, ${formatDuration((toTime - fromTime) / 1000)}: ${reason}`
}

const shortcomingLines = (lacks: Shortcoming, nowMs: number): ReadonlyArray<StyledLine> => {
  const { gvk, namespace, fromTime, toTime, reason, detail } = lacks
  const why = reasons.get(reason)
  const facts =
    gvk === ""
      ? ["What came after this is not known."]
      : [
          `from ${localMoment(fromTime, nowMs)} to ${localMoment(toTime, nowMs)}`,
          `What changed in this time may be missing, of ${namespace === "" ? "all objects of the kind" : `the namespace ${namespace}`}.`,
        ]
  const title = gvk === "" ? reason : `gap of ${gvk}`
  return [
    [span(visible(title), "title")],
    ...facts.map((fact) => [span(visible(fact))]),
    [],
    ...(gvk === "" ? [] : [[span(visible(`${reason}${why === undefined ? "" : `: ${why}`}`), "warning" as const)]]),
    ...(detail === "" ? [] : [[span(visible(detail))]]),
  ]
}

const objectIn = (list: EventList, event: number): JsonObject | undefined => {
  const value = exactJsonIn(list.state(event))
  return isJsonObject(value) ? value : undefined
}

const versionText = (list: EventList, event: number): string => {
  let number = 1
  for (let at = list.previous(event); at !== undefined; at = list.previous(at)) number++
  let all = number
  for (let at = list.next(event); at !== undefined; at = list.next(at)) all++
  return `state ${number} of ${all}`
}

const unreadable = (list: EventList, event: number): ReadonlyArray<StyledLine> => {
  const bytes = list.state(event)
  if (bytes.length === 0) return [[span("its state is not known", "dim")]]
  return [
    [span("this is not a JSON object:", "error")],
    ...bytes
      .toString("utf8")
      .split("\n")
      .map((line) => [span(visible(line))]),
  ]
}

const findingLines = (list: EventList, event: number): ReadonlyArray<StyledLine> => {
  const found = list.findings(event)
  if (found.length === 0) return []
  return [
    [],
    ...found.map(({ rule, kind, name, places }) => {
      const what = [kind, name].filter((part) => part !== "").join(" ")
      const where = places.map(placeText).join(", ")
      const text = [what, where].filter((part) => part !== "").join(" at ")
      return [
        span(` ${rule.code} `, rule.severity),
        span(visible(` ${rule.name.replaceAll("_", " ")}${text === "" ? "" : `: ${text}`}`)),
      ]
    }),
  ]
}

const differenceLines = (before: JsonObject, after: JsonObject): ReadonlyArray<StyledLine> => {
  const found = differencesBetween(before, after, { isLeftOut, maximum: mostDifferences })
  if (found.length === 0) return [[span("  nothing but versions", "dim")]]
  const lines = found.map(({ path, before: old, after: now }): StyledLine => {
    if (old === undefined) return [span(visible(`+ ${path}: ${valueText(now)}`), "added")]
    if (now === undefined) return [span(visible(`- ${path}: ${valueText(old)}`), "removed")]
    return [span(visible(`~ ${path}: ${valueText(old)} → ${valueText(now)}`), "changed")]
  })
  return found.length < mostDifferences ? lines : [...lines, [span("  … and more", "dim")]]
}

const valueText = (value: JsonValue | undefined): string => {
  const text = value === undefined ? "" : formatExactJson(value)
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text
}

const yamlLines = (object: JsonObject): ReadonlyArray<StyledLine> => yamlOf(object, "").split("\n").map(highlighted)

/** A key, a dash, and what a value is, line by line: enough for what is printed here, which has no comments and no tags. */
const highlighted = (line: string): StyledLine => {
  const text = visible(line)
  const [, lead = "", key = "", value = ""] =
    /^(\s*(?:- )*)((?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'#:][^:]*?):(?=\s|$))?(.*)$/.exec(text) ?? []
  return [span(lead, "dim"), span(key, "key"), span(value, valueStyle(value.trim()))].filter(
    (piece) => piece.text !== "",
  )
}

const valueStyle = (value: string) =>
  /^(?:-?\d[\d.eE+-]*|true|false|null|\{\}|\[\])$/.test(value) ? "number" : /^["']/.test(value) ? "string" : "plain"
