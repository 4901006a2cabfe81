/** Looks again and again whether a client that follows a recording may still see what it is being shown. */
import type { IncomingHttpHeaders } from "node:http"
import * as Effect from "effect/Effect"
import type { Clock } from "../../clock.ts"
import type { Access } from "../access/access.ts"
import { elapsed } from "./body/races.ts"
import type { AskedQuestion, PastSources } from "./past.ts"

/** ms between two looks. */
export const rightsMs = 10_000

/**
 * ms for which a client still sees what it was shown while the API server cannot decide. It is longer than an API
 * server takes to be replaced. It is short enough that a client that lost a right does not keep reading through a
 * longer outage. After that its requests get 503 until there is a decision.
 */
export const undecidedMs = 60_000

/**
 * Why a client may not continue: it may see something else than what it is being shown, or nothing; or that was not
 * known for {@link undecidedMs}.
 */
export type RightsEnding = "rights-changed" | "rights-undecided"

/** What the rights are looked up with. */
interface RightsSources extends Pick<PastSources, "shownTo"> {
  readonly access: Pick<Access, "decide">
}

/** Resolves, with the reason, when the client may not continue; never if it always may. */
export const rightsChanged = (
  headers: IncomingHttpHeaders,
  question: AskedQuestion,
  sources: RightsSources,
  clock: Clock,
): Effect.Effect<RightsEnding> =>
  Effect.gen(function* () {
    for (let decided = clock.monotonicMs(); ; ) {
      const leftMs = (): number => Math.max(0, undecidedMs - (clock.monotonicMs() - decided))
      yield* elapsed(clock, Math.min(rightsMs, leftMs()))
      if (leftMs() === 0) return "rights-undecided"
      const asked = clock.monotonicMs()
      // A look may wait for the API server's time limit, which counts as well.
      const late = Effect.as(elapsed(clock, leftMs()), "undecided" as const)
      const seen = yield* Effect.raceFirst(lookedUp(headers, question, sources), late)
      if (seen === "other") return "rights-changed"
      if (seen === "same") decided = asked
    }
  })

/** What the client may see, compared with what it is being shown. */
const lookedUp = (
  headers: IncomingHttpHeaders,
  { shown, ...question }: AskedQuestion,
  { access, shownTo }: RightsSources,
): Effect.Effect<"same" | "other" | "undecided"> =>
  Effect.gen(function* () {
    const decision = yield* Effect.promise(() => access.decide(headers, "query"))
    if (decision.tag === "refused") return decision.status === 503 ? "undecided" : "other"
    if (decision.reader === undefined) return shown === undefined ? "same" : "other"
    const now = yield* Effect.result(shownTo(decision.reader, question))
    if (now._tag === "Failure") return now.failure.status === 503 ? "undecided" : "other"
    return JSON.stringify(now.success) === JSON.stringify(shown) ? "same" : "other"
  })
