/** The kinds of `--include` and `--seed-status`: most are known at once, the names of others are those of the trace. */

import { quoted } from "../../../text/index.ts"
import { kindWithoutVersion } from "../../../trace/sanitising/built-in-kinds.ts"
import type { ReplayOrder } from "../replay-order.ts"
import type { ReplaySource } from "./replay-source.ts"
import { kindsNamed, UnknownKind } from "./trace-kinds.ts"

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

/** The order with the kinds that the names mean. Rejects with UnknownKind, or with what reading the trace rejects with. */
export const explainedByTrace = async (order: ReplayOrder, source: ReplaySource): Promise<ReplayOrder> => {
  const { included, seededStatus } = order.names
  const names = [...included, ...seededStatus]
  const [first] = names
  if (first === undefined) return order
  // It would be used up by then.
  if (source.isReadOnce) {
    const message = `unknown kind ${quoted(first)}, and a pipe cannot be read twice to find it in the trace; write it as GROUP/KIND, such as coordination.k8s.io/Lease`
    throw new UnknownKind({ message })
  }
  const meanings = await kindsNamed(names, () => source.open())
  const kindOf = (name: string): string => kindWithoutVersion(meanings.get(name) ?? name)
  return {
    ...order,
    included: new Set([...order.included, ...included.map(kindOf)]),
    seededStatus: new Set([...(order.seededStatus ?? []), ...seededStatus.map(kindOf)]),
  }
}
