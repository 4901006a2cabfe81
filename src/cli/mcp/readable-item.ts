/** Changes and differences as assistants read them: times in RFC 3339, who made a change as names, and nothing that only programs need. */
import { formatInstant } from "../../local-time.ts"
import type { JsonObject } from "../../trace/json/exact-json.ts"
import { managerNames } from "../past/describe-change.ts"

/** What a recorder says of a change or a difference, for an answer. */
export const readableItem = (item: JsonObject): JsonObject => {
  const { type, gvk, namespace, name, uid, time, received, timeBefore, timeAfter, managers, ...others } = item
  const { sequence: _, resourceVersion: __, differences, hasMoreDifferences, ...more } = others
  const by = managerNames(managers)
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
    ...(by.length > 0 && { by }),
    ...more,
    ...(differences !== undefined && { differences }),
    ...(hasMoreDifferences === true && { hasMoreDifferences: true }),
  }
}
