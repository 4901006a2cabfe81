/** Looks again and again whether a client that follows a recording may still see what it is being shown. */
import type { IncomingHttpHeaders } from "node:http"
import * as Effect from "effect/Effect"
import type { Clock } from "../../clock.ts"
import type { Access } from "../access/access.ts"
import { elapsed } from "../races.ts"
import type { AskedQuestion, PastSources } from "./past.ts"

/** ms between two looks. */
export const rightsMs = 10_000

/**
 * ms for which an API server that cannot decide leaves a client what it had: longer than it takes to replace one, and short enough that whoever lost a right does
 * not go on reading because the API server is down. The client is refused with 503 until there is a decision.
 */
export const undecidedMs = 60_000

/** Resolves when the client may see something else than what it is being shown, or nothing, or when that was not known for {@link undecidedMs}. */
export const rightsChanged = (
  headers: IncomingHttpHeaders,
  { shown, ...question }: AskedQuestion,
  { access, shownTo }: { readonly access: Pick<Access, "decide"> } & Pick<PastSources, "shownTo">,
  clock: Clock,
): Effect.Effect<undefined> =>
  Effect.gen(function* () {
    const before = JSON.stringify(shown)
    for (let decided = clock.monotonicMs(); clock.monotonicMs() - decided < undecidedMs; ) {
      yield* elapsed(clock, rightsMs)
      const decision = yield* Effect.promise(() => access.decide(headers, "query"))
      if (decision.tag === "refused" && decision.status === 503) continue
      if (decision.tag === "refused") return undefined
      if (decision.reader === undefined) {
        if (before !== undefined) return undefined
      } else {
        const now = yield* Effect.result(shownTo(decision.reader, question))
        if (now._tag === "Failure" && now.failure.status === 503) continue
        if (now._tag === "Failure" || JSON.stringify(now.success) !== before) return undefined
      }
      decided = clock.monotonicMs()
    }
    return undefined
  })
