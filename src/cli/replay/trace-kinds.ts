/**
 * Names of kinds that only the trace can explain: `trainings` is no kind of Kubernetes itself, but the trace may have
 * `ml.example.com/v1.Training`. The trace is opened for that only if such a name was given.
 */

import type { NamedKind } from "../../kube/index.ts"
import { formatGvk, parseGvk } from "../../kube/offline.ts"
import { quoted } from "../../text/index.ts"
import { kindWithoutVersion, type TraceItem } from "../../trace/index.ts"
import { CommandFailed, exitCodes } from "../command-line/exit-codes.ts"
import { readKind } from "../command-line/kind-option.ts"
import type { ReplayOrder } from "./replay-order.ts"
import type { ReplaySource } from "./replay-source.ts"

/** A kind that an option names is none that is known, nor one of the trace. */
const unknownKind = (problem: string): CommandFailed => new CommandFailed(problem, exitCodes.usage)

type Items = AsyncIterable<Iterable<TraceItem>>

/** What the names mean, written exactly (`ml.example.com/v1.Training`). Rejects with CommandFailed, or as `open` does. */
export const kindsNamed = async (
  names: ReadonlyArray<string>,
  open: () => Promise<Items>,
): Promise<ReadonlyMap<string, string>> => {
  const isOfTrace = (name: string): boolean => readKind(name).tag === "unknown"
  const kinds = names.some(isOfTrace) ? await kindsOf(await open()) : []
  return new Map(
    names.map((name) => {
      const reading = readKind(name, kinds)
      if (reading.tag === "unknown") throw unknownKind(reading.problem)
      return [name, reading.text]
    }),
  )
}

/** Those of its header; a trace of a format without them is read as a whole. */
const kindsOf = async (items: Items): Promise<ReadonlyArray<NamedKind>> => {
  const found = new Set<string>()
  for await (const chunk of items) {
    for (const item of chunk) {
      if (item.type === "header" && item.kinds.length > 0) return named(item.kinds)
      if (item.type === "event") found.add(item.event.gvk)
    }
  }
  return named(found)
}

const named = (kinds: Iterable<string>): ReadonlyArray<NamedKind> =>
  [...new Set(kinds)].flatMap((text) => {
    const gvk = parseGvk(text)
    return gvk === undefined || formatGvk(gvk) !== text ? [] : [{ gvk, plural: undefined }]
  })

// The kinds of `--include` and `--seed-status`: most are known at once, the names of others are those of the trace.

/** A kind without its version (`coordination.k8s.io/Lease`), or a name that only the trace can explain. */
export type ReplayedKind =
  | { readonly tag: "kind"; readonly kind: string }
  | { readonly tag: "name"; readonly name: string }

/** The names among them that only the trace can explain. */
export const namesIn = (kinds: ReadonlyArray<ReplayedKind>): ReadonlyArray<string> =>
  kinds.flatMap((each) => (each.tag === "name" ? [each.name] : []))

/** The others. */
export const kindsIn = (kinds: ReadonlyArray<ReplayedKind>): ReadonlySet<string> =>
  new Set(kinds.flatMap((each) => (each.tag === "kind" ? [each.kind] : [])))

/** The order with the kinds that the names mean. Rejects with CommandFailed, or with what reading the trace rejects with. */
export const explainedByTrace = async (order: ReplayOrder, source: ReplaySource): Promise<ReplayOrder> => {
  const { included, seededStatus } = order.names
  const names = [...included, ...seededStatus]
  const [first] = names
  if (first === undefined) return order
  // It would be used up by then.
  if (source.isReadOnce) {
    const message = `unknown kind ${quoted(first)}, and a pipe cannot be read twice to find it in the trace; write it as GROUP/KIND, such as coordination.k8s.io/Lease`
    throw unknownKind(message)
  }
  const meanings = await kindsNamed(names, () => source.open())
  const kindOf = (name: string): string => kindWithoutVersion(meanings.get(name) ?? name)
  return {
    ...order,
    included: new Set([...order.included, ...included.map(kindOf)]),
    seededStatus: new Set([...(order.seededStatus ?? []), ...seededStatus.map(kindOf)]),
  }
}
