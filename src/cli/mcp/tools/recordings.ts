/** The tools coverage and kinds: what is recorded, and what is missing of it. */

import { isJsonObject, type JsonObject } from "../../../trace/json/exact-json.ts"
import { Misasked } from "../../command-line/exit-codes.ts"
import { ExportCut } from "../../export/connection/export-errors.ts"
import { isWhole, readCoverageAnswer } from "../../export/coverage-table.ts"
import { requestCoverage } from "../../export/export-client.ts"
import { objectsIn } from "../../past/describe-change.ts"
import { readMoment } from "../../past/moments.ts"
import { askPast } from "../../past/past-client.ts"
import { withReadableTimes } from "../answer-page.ts"
import { pastTool, type ToolAnswering } from "../past-tool.ts"
import { since, textOr } from "../tool-parameters.ts"

/** Of which recording an item is; needed only if there are several. */
const recordingOf = ({ places }: ToolAnswering, index: number): JsonObject =>
  places.length > 1 ? { recording: places[index]?.recorder.name ?? "" } : {}

export const coverage = pastTool({
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
      const { name, offline } = place.recorder
      // The end is exclusive, and the last event of a directory belongs to it.
      const end = given.end === "now" || given.end === "end" ? (offline?.knownUntil ?? moment) : last
      const answer = await requestCoverage(place, { start, end }, signal)
      const found = readCoverageAnswer(answer)
      if (found === undefined)
        throw new ExportCut({ server: name, bytes: 0, reason: "the response is not a recorder's coverage" })
      if (!isWhole(found) || offline?.lacksLog === true) noteIncomplete()
      for (const kind of objectsIn((answer as JsonObject).kinds))
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

export const kinds = pastTool({
  name: "kinds",
  title: "Recorded kinds",
  description:
    "The kinds that are recorded, with their short names, since when and until when they are known, and which of their objects are recorded. A good first question.",
  parameters: {},
  answer: async (_, answering) => {
    const { places, signal, page, lacks } = answering
    for (const [index, place] of places.entries()) {
      const answer = askPast(place, "kinds", {}, signal)
      for (let next = await answer.next(); ; next = await answer.next()) {
        if (next.done === true) {
          lacks(next.value)
          break
        }
        const kind = next.value
        page.offer(() => ({ ...recordingOf(answering, index), ...kindItem(kind) }))
      }
    }
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
