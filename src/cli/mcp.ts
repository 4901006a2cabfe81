/** `reel mcp`: the past as tools for assistants, over the Model Context Protocol on standard input and output. */
import type { Readable } from "node:stream"
import { formatInstant, zoneName } from "../local-time.ts"
import { isFieldPath, isJsonObject, type JsonObject, type JsonValue, parseFieldPath, valuesAt } from "../trace/index.ts"
import type { CommandSyntax } from "./command-line/arguments.ts"
import { type Command, command } from "./command-line/command.ts"
import { CommandFailed, exitCodes, Misasked } from "./command-line/exit-codes.ts"
import { recorderVariables, temporaryVariables } from "./command-line/shared-options.ts"
import { askCoverage, isWhole } from "./export/coverage-table.ts"
import { itemBytes, pageBytes, withReadableTimes } from "./mcp/answer-page.ts"
import { type PastTool, pastTool, type ToolAnswering } from "./mcp/past-tool.ts"
import { ToolCalls } from "./mcp/tool-calls.ts"
import {
  at,
  changedField,
  fieldPath,
  fields,
  kindsIn,
  labels,
  namespace,
  object,
  optionalText,
  optionalWord,
  requiredText,
  since,
  switchOf,
  textOr,
  until,
} from "./mcp/tool-parameters.ts"
import { serveTools } from "./mcp/tool-server.ts"
import { changesOf, objectOf, objectsOf, resourceOf } from "./past/changes-of.ts"
import { objectsIn, writersOf } from "./past/describe-change.ts"
import { readMoment, readStretch } from "./past/moments.ts"
import { chosenKinds, exactKinds } from "./past/object-name.ts"
import { askPast, type PastParameters } from "./past/past-client.ts"
import { faultOfPast, pastOptions } from "./past/past-places.ts"
import { namedCells } from "./past/past-table.ts"
import { printedObject } from "./past/printed-objects.ts"
import { WhyLines } from "./past/why-lines.ts"

// Changes and differences as assistants read them: times in RFC 3339, who made a change as names, and nothing that only programs need.

/** What a recorder says of a change or a difference, for an answer. */
const readableItem = (item: JsonObject): JsonObject => {
  const { type, gvk, namespace, name, uid, time, received, timeBefore, timeAfter, managers: _, ...others } = item
  const { sequence: __, resourceVersion: ___, differences, hasMoreDifferences, ...more } = others
  const writers = [...(writersOf(item) ?? [])].map(
    ([part, names]) => [part === "" ? "by" : `${part}By`, names] as const,
  )
  return {
    ...(time !== undefined && { time: formatInstant(Number(time)) }),
    ...(received !== undefined && { received: formatInstant(Number(received)) }),
    ...(timeBefore !== undefined && { timeBefore: formatInstant(Number(timeBefore)) }),
    ...(timeAfter !== undefined && { timeAfter: formatInstant(Number(timeAfter)) }),
    type: type ?? "changed",
    kind: gvk ?? "",
    ...(namespace !== "" && { namespace: namespace ?? "" }),
    name: name ?? "",
    ...(uid !== undefined && { uid }),
    ...Object.fromEntries(writers),
    ...more,
    ...(differences !== undefined && { differences }),
    ...(hasMoreDifferences === true && { hasMoreDifferences: true }),
  }
}

// The tools object_history, events and why: what changed in a stretch of time, of one object, of all, or what explains one.

const unchanged = (kind: string, name: string): string => `there are no changes of ${kind} ${name} in that time`

const stretchOf = (
  { since: first, until: last }: { readonly since: string; readonly until: string },
  answering: ToolAnswering,
): { readonly from: number; readonly to: number } => ({
  from: readMoment("since", first, answering),
  to: readMoment("until", last, answering),
})

/** Resolves with whether there are none. */
const offerChanges = async (answering: ToolAnswering, parameters: PastParameters): Promise<boolean> => {
  let isEmpty = true
  for await (const change of changesOf(answering, parameters)) {
    isEmpty = false
    if (answering.page.offer(() => readableItem(change))) continue
    answering.leave()
    break
  }
  return isEmpty
}

const objectHistory = pastTool({
  name: "object_history",
  title: "Changes of an object",
  description:
    "Every recorded change of one object, oldest first: when, by which programs (by: the object, statusBy and scaleBy: these subresources; from managedFields), and each field before and after. If none of these is present, the author is unknown: deletions, evictions, bindings and removed fields leave no trace in the object, only in the API server's audit log. An object that was deleted and created again under its name has another uid.",
  parameters: {
    ...object,
    since: since("0"),
    until,
    field: changedField,
    with_owned: switchOf(
      "also the objects that it owned, such as a Deployment's ReplicaSets and Pods, and the Kubernetes Events about them",
    ),
  },
  answer: async (given, answering) => {
    const [kind = ""] = await exactKinds(answering, [given.kind])
    const { name, namespace: within, field, with_owned: owned } = given
    const isEmpty = await offerChanges(answering, {
      ...{ kind, name, namespace: within, field, ...stretchOf(given, answering) },
      ...(owned && { owned }),
    })
    if (isEmpty && field === undefined) answering.say(unchanged(kind, name))
  },
})

const events = pastTool({
  name: "events",
  title: "What changed in a stretch of time",
  description:
    "What changed in a stretch of time, of all recorded kinds or some, oldest first. These are changes of objects; Kubernetes Events are among them as objects of kind v1.Event, if they are recorded, with their reason and message (event).",
  parameters: {
    since: since("10m"),
    until,
    kind: optionalText("only these kinds, with commas: pods,deploy; default: all"),
    except: optionalText("leave out these kinds, with commas: events,leases"),
    namespace,
    name: optionalText("only objects of this name"),
    labels,
    fields,
    field: changedField,
  },
  answer: async (given, answering) => {
    const kind = await chosenKinds(answering, kindsIn(given.kind ?? ""), kindsIn(given.except ?? ""))
    const { namespace: within, name, labels: selector, fields: fieldSelector, field } = given
    await offerChanges(answering, {
      ...{ kind, namespace: within, name, labels: selector, fields: fieldSelector, field },
      ...stretchOf(given, answering),
    })
  },
})

const why = pastTool({
  name: "why",
  title: "What led to the state of an object",
  description:
    "What explains the state or the end of an object, oldest first: changes of its owners' specs, scheduling, conditions, containers that ended or wait, deletion, and the Kubernetes Events about it. For questions such as why a Pod crashed or was deleted.",
  parameters: { ...object, since: since("0"), until },
  answer: async (given, answering) => {
    const { page, leave, say } = answering
    const [kind = ""] = await exactKinds(answering, [given.kind])
    const { name, namespace: within } = given
    const lines = new WhyLines(kind, formatInstant)
    let isFound = false
    const question = { kind, name, namespace: within, ...stretchOf(given, answering), owners: true, objects: true }
    for await (const change of changesOf(answering, question)) {
      isFound ||= change.gvk === kind
      const told = lines.of(change)
      if (told.length === 0 || page.offer(() => told.join("\n"))) continue
      return leave()
    }
    if (!isFound) say(unchanged(kind, name))
  },
})

// The tool get_objects: objects as they were at a moment, as `reel get` shows them.

type Form = "table" | "wide" | "name" | "json"

const parameters = {
  kind: requiredText(
    "kinds as with kubectl: pods, deploy, or exact: apps/v1.Deployment; several with commas: pods,services",
  ),
  name: optionalText("only the object of this name"),
  namespace,
  at,
  labels,
  fields,
  output: optionalWord<Form>(
    ["table", "wide", "name", "json"],
    "table: the columns of kubectl get; wide: more of them; name: names only; json: whole objects without managedFields. Default: table, or json with a name or a field",
  ),
  field: fieldPath(
    "of each object only the values at this path, such as spec.containers[*].image; for objects that are too long",
  ),
}

const getObjects = pastTool({
  name: "get_objects",
  title: "Objects at a moment",
  description:
    "Kubernetes objects of a recorded cluster as they were at a moment, as `kubectl get` would have shown them then. Begin with output table, then ask for one object by name.",
  parameters,
  countsFurther: false,
  answer: async (given, answering) => {
    const { page } = answering
    const kinds = await exactKinds(answering, kindsIn(given.kind))
    if (kinds.length === 0) throw new Misasked("kind names no kind")
    const moment = readMoment("at", given.at, answering)
    const isWhole = given.name !== undefined || given.field !== undefined
    const form = given.output ?? (isWhole ? "json" : "table")
    if (given.field !== undefined && form !== "json") throw new Misasked("field needs output json")
    const { name, namespace: within } = given
    // One more than the page: whether there are more is all that is said of them.
    const wanted = page.end + page.limit + 1
    const selection = { name, namespace: within, labels: given.labels, fields: given.fields, at: moment, limit: wanted }
    let isEmpty = true
    for (const kind of kinds) {
      const itemOf = await itemsOf(answering, kind, { form, moment, field: given.field, isKindNamed: kinds.length > 1 })
      let count = 0
      for await (const found of objectsOf(answering, kind, selection)) {
        if (count++ >= wanted) break
        isEmpty = false
        page.offer(() => itemOf(found), name === undefined ? itemBytes : pageBytes - 1024)
      }
    }
    if (isEmpty && name !== undefined) answering.say(`there was no ${kinds.join(" or ")} ${name} at that moment`)
  },
})

interface ItemForm {
  readonly form: Form
  /** µs since the Unix epoch. */
  readonly moment: number
  readonly field: string | undefined
  /** Whether the items of a table name their kind. */
  readonly isKindNamed: boolean
}

/** How an object becomes an item. */
const itemsOf = async (
  answering: ToolAnswering,
  kind: string,
  { form, moment, field, isKindNamed }: ItemForm,
): Promise<(found: JsonObject) => JsonValue> => {
  const namesOf = ({ namespace: within, name }: JsonObject): JsonObject => ({
    ...(within !== "" && { namespace: within ?? "" }),
    name: name ?? "",
  })
  if (form === "name") return (found) => ({ kind, ...namesOf(found) })
  const path = field === undefined ? undefined : parseFieldPath(field)
  if (path !== undefined && isFieldPath(path))
    return (found) => ({ kind, ...namesOf(found), values: valuesAt(objectOf(found), path) })
  if (form === "json")
    return (found) => ({
      changed: formatInstant(Number(found.time)),
      object: printedObject(objectOf(found), kind, false),
    })
  const resource = await resourceOf(answering, kind, moment)
  const view = { isWide: form === "wide", atMs: moment / 1000 }
  return (found) => ({
    ...(isKindNamed && { kind }),
    ...namesOf(found),
    ...namedCells(resource, objectOf(found), { ...view, isStatusUnknown: found.isStatusUnknown === true }),
  })
}

// The tools coverage and kinds: what is recorded, and what is missing of it.

/** Of which recording an item is; needed only if there are several. */
const recordingOf = ({ places }: ToolAnswering, index: number): JsonObject =>
  places.length > 1 ? { recording: places[index]?.recorder.name ?? "" } : {}

const coverage = pastTool({
  name: "coverage",
  title: "What is recorded, and what is missing",
  description:
    "For each kind: how many events, since when and until when it is recorded, its state, gaps with their reasons, and changes that were received late. Of a recorder that checks permissions it needs the right to get exports.kubereel.dev.",
  parameters: {
    start: since("0"),
    end: textOr("now", "end of the window, exclusive, written as start"),
  },
  answer: async (given, answering) => {
    const { places, signal, page, moment, noteIncomplete } = answering
    const last = readMoment("end", given.end, answering)
    const start = readMoment("start", given.start, answering, last)
    if (start > last) throw new Misasked("the window ends before its start")
    for (const [index, place] of places.entries()) {
      const { offline } = place.recorder
      // The end is exclusive, and the last event of a directory belongs to it.
      const end = given.end === "now" || given.end === "end" ? (offline?.knownUntil ?? moment) : last
      const { coverage: found, answer } = await askCoverage(place, { start, end }, signal)
      if (!isWhole(found) || offline?.lacksLog === true) noteIncomplete()
      for (const kind of objectsIn(isJsonObject(answer) ? answer.kinds : undefined))
        page.offer(() => ({ ...recordingOf(answering, index), ...coverageItem(kind) }))
    }
  },
})

/** Of all lists, what is empty or says nothing is left out. */
const coverageItem = (kind: JsonObject): JsonObject => {
  const { gvk, namespaces, ranges, gaps, late, ...others } = kind
  const members = { namespaces, ranges, gaps, late }
  const told = Object.entries(members).flatMap(([name, list]) => {
    const entries = objectsIn(list).map(withReadableTimes)
    return entries.length === 0 ? [] : [[name, entries]]
  })
  const facts = Object.entries(others).filter(([, value]) => value !== "" && !Array.isArray(value))
  return { kind: gvk ?? "", ...withReadableTimes(Object.fromEntries(facts)), ...Object.fromEntries(told) }
}

const kinds = pastTool({
  name: "kinds",
  title: "Recorded kinds",
  description:
    "The kinds that are recorded, with their short names, since when and until when they are known, and which of their objects are recorded. A good first question.",
  parameters: {},
  answer: async (_, answering) => {
    const { places, signal, page, lacks } = answering
    for (const [index, place] of places.entries())
      for await (const kind of askPast(place, "kinds", {}, signal, lacks))
        page.offer(() => ({ ...recordingOf(answering, index), ...kindItem(kind) }))
  },
})

const kindItem = ({ gvk, since: first, until, namespaced, discovered, selection, detect }: JsonObject): JsonObject => {
  const names = isJsonObject(discovered)
    ? { plural: discovered.plural ?? "", shortNames: discovered.shortNames ?? [] }
    : {}
  return {
    kind: gvk ?? "",
    ...names,
    ...withReadableTimes({ since: first ?? 0, until: until ?? 0 }),
    ...(typeof namespaced === "boolean" && { namespaced }),
    ...(selection !== "" && selection !== undefined && { selection }),
    ...(detect !== "" && detect !== undefined && { detect }),
  }
}

// The tool differences: what two moments differ in, as `reel diff` shows it.

const differences = pastTool({
  name: "differences",
  title: "What two moments differ in",
  description:
    "Objects that were created, deleted, replaced or changed between two moments, field by field. What happened in between and was undone is not in the answer; events has it.",
  parameters: {
    at: requiredText(
      "the two moments with two dots between them: 03:00..03:12, -1h..now, 2026-11-21T10:00:00Z..2026-11-21T11:00:00Z",
    ),
    kind: optionalText("only these kinds, with commas: pods,deploy; default: all"),
    name: optionalText("only objects of this name"),
    namespace,
    labels,
  },
  answer: async (given, answering) => {
    const { places, signal, lacks, page, leave } = answering
    if (!answering.isOne) throw new Misasked("moments of one recording are compared, and this server has several")
    const named = kindsIn(given.kind ?? "")
    const kind = named.length === 0 ? undefined : await exactKinds(answering, named)
    const { name, namespace: within, labels: selector } = given
    const question = { kind, name, namespace: within, labels: selector, ...readStretch("at", given.at, answering) }
    for (const place of places)
      for await (const difference of askPast(place, "differences", question, signal, lacks))
        if (!page.offer(() => readableItem(difference))) return leave()
  },
})

// All tools, in the order in which assistants see them.

const allTools: ReadonlyArray<PastTool> = [getObjects, objectHistory, events, differences, why, coverage, kinds]

const options = pastOptions

const syntax: CommandSyntax<typeof options> = {
  name: "reel mcp",
  summary: "Serves the past to assistants as tools, over the Model Context Protocol on standard input and output.",
  description: [
    "An assistant starts this command and asks what reel get, history, events, diff, why and coverage show. Nothing is changed. It ends with its standard input.",
  ],
  options,
  exitCodes: { ok: "the input ended, or Ctrl-C" },
  environment: [...recorderVariables, ...temporaryVariables],
  examples: [
    "reel mcp --server https://recorder.example.com --token-file token",
    "reel mcp --data-dir /var/lib/kubereel",
    "reel mcp --trace day.ndjson.zst",
  ],
  seeAlso: ["reel get", "reel history", "reel why", "docs/guides/history.md"],
}

/** The command. `now`: µs since the Unix epoch. */
export const mcpCommand = (now: () => number = () => Date.now() * 1000, input: Readable = process.stdin): Command =>
  command(syntax, async (given, terminal) => {
    const problem = faultOfPast(given)
    if (problem !== undefined) return problem
    const calls = new ToolCalls(given, { terminal, now })
    try {
      const answer = calls.answer.bind(calls)
      const failure = await serveTools({ zone: zoneName(now() / 1000), tools: allTools, answer, input, terminal })
      if (failure !== undefined) throw new CommandFailed(failure)
      return exitCodes.ok
    } finally {
      await calls.close()
    }
  })
