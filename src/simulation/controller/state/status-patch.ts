/** A report as members of the status. */
import { setCondition } from "../../../host/controller/objects/status-conditions.ts"
import type { SimulationStatus } from "../../api/status.ts"
import type { Report } from "./decision.ts"

/** Characters of a condition's message; longer ones are cut. */
const longestMessage = 32_000

/** `now`: RFC 3339. Conditions of other types stay. */
export const statusPatch = (
  status: SimulationStatus | undefined,
  { Ready, Progressing, Degraded, ...fields }: Report,
  generation: number | undefined,
  now: string,
): Partial<SimulationStatus> => {
  const verdicts = Object.entries({ Ready, Progressing, Degraded })
  const conditions = verdicts.reduce(
    (list, [type, verdict]) =>
      verdict === undefined
        ? list
        : setCondition(
            list,
            {
              ...verdict,
              type,
              message: verdict.message.slice(0, longestMessage),
              ...(generation !== undefined && { observedGeneration: generation }),
            },
            now,
          ),
    status?.conditions as Parameters<typeof setCondition>[0],
  )
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
  return {
    ...given,
    observedGeneration: generation ?? status?.observedGeneration ?? 0,
    ...(conditions !== undefined && { conditions: conditions as NonNullable<SimulationStatus["conditions"]> }),
  }
}
