/** The tool differences: what two moments differ in, as `reel diff` shows it. */
import { Misasked } from "../../past/asking.ts"
import { readStretch } from "../../past/moments.ts"
import { exactKinds } from "../../past/object-name.ts"
import { askPast } from "../../past/past-client.ts"
import { pastTool } from "../past-tool.ts"
import { readableItem } from "../readable-item.ts"
import { optionalText, requiredText } from "../tool-parameters.ts"
import { kindsIn, labels, namespace } from "./shared-parameters.ts"

export const differences = pastTool({
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
    const [place, another] = places
    if (place === undefined || another !== undefined)
      throw new Misasked("moments of one recording are compared, and this server has several")
    const named = kindsIn(given.kind ?? "")
    const kind = named.length === 0 ? undefined : await exactKinds(answering, named)
    const { name, namespace: within, labels: selector } = given
    const stretch = readStretch("at", given.at, answering)
    const answer = askPast(
      place,
      "differences",
      { kind, name, namespace: within, labels: selector, ...stretch },
      signal,
    )
    for (let next = await answer.next(); ; next = await answer.next()) {
      if (next.done === true) return lacks(next.value)
      const difference = next.value
      if (page.offer(() => readableItem(difference))) continue
      await answer.return({})
      return leave()
    }
  },
})
