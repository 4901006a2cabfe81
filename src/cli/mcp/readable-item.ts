/** Changes and differences as assistants read them: times in RFC 3339, who made a change as names, and nothing that only programs need. */
import { formatInstant } from "../../local-time.ts"
import type { JsonObject } from "../../trace/json/exact-json.ts"
import { writersOf } from "../past/describe-change.ts"

/** What a recorder says of a change or a difference, for an answer. */
export const readableItem = (item: JsonObject): JsonObject => {
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
