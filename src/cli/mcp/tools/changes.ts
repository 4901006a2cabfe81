/** The tools object_history, events and why: what changed in a stretch of time, of one object, of all, or what explains one. */
import { formatInstant } from "../../../local-time.ts"
import { changesOf } from "../../past/changes-of.ts"
import { readMoment } from "../../past/moments.ts"
import { chosenKinds, exactKinds } from "../../past/object-name.ts"
import type { PastParameters } from "../../past/past-client.ts"
import { WhyLines } from "../../past/why-lines.ts"
import { pastTool, type ToolAnswering } from "../past-tool.ts"
import { readableItem } from "../readable-item.ts"
import {
  changedField,
  fields,
  kindsIn,
  labels,
  namespace,
  object,
  optionalText,
  since,
  switchOf,
  until,
} from "../tool-parameters.ts"

const unchanged = (kind: string, name: string): string => `there are no changes of ${kind} ${name} in that time`

const stretchOf = (
  { since: first, until: last }: { readonly since: string; readonly until: string },
  answering: ToolAnswering,
): { readonly from: number; readonly to: number } => ({
  from: readMoment("since", first, answering),
  to: readMoment("until", last, answering),
})

/** Resolves with whether there are none. */
const offerChanges = async (
  answering: ToolAnswering,
  parameters: PastParameters & { readonly field: string | undefined },
): Promise<boolean> => {
  const { page, say, leave } = answering
  const changes = changesOf(answering, parameters)
  let isEmpty = true
  for (let next = await changes.next(); ; next = await changes.next()) {
    if (next.done === true) {
      if (parameters.field !== undefined && !next.value && page.count === 0)
        say(`no object in the answer has a field ${parameters.field}: is it spelt like that?`)
      return isEmpty
    }
    isEmpty = false
    const change = next.value
    if (page.offer(() => readableItem(change))) continue
    await changes.return(false)
    leave()
    return isEmpty
  }
}

export const objectHistory = pastTool({
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

export const events = pastTool({
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

export const why = pastTool({
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
