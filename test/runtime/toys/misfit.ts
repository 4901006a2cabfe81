/** A toy that answers calls and misbehaves in every way that an actor can, when it boots or when it is asked to. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ActorBody, ActorDefinition } from "../../../src/runtime/actor.ts"

/** A domain error with facts in its fields. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  wish: Schema.String,
  seen: Schema.Date,
}) {
  override get message(): string {
    return `refused: ${this.wish}`
  }
}

export interface MisfitConfig {
  /** What happens before the first call can be served. `close` never finishes its finalizer. */
  readonly boot: "run" | "fail" | "throw" | "wait" | "loop" | "close"
}

const control = {
  /** Returns its payload. */
  echo: {
    payload: Schema.Struct({ text: Schema.String, level: Schema.Int, at: Schema.Date }),
    success: Schema.Struct({ text: Schema.String, level: Schema.Int, at: Schema.Date }),
    error: Schema.Never,
  },
  refuse: { payload: Schema.String, success: Schema.Void, error: Refused },
  die: { payload: Schema.String, success: Schema.Void, error: Schema.Never },
  hang: { payload: Schema.Void, success: Schema.Void, error: Schema.Never },
  loop: { payload: Schema.Void, success: Schema.Void, error: Schema.Never },
  /** Allocates memory until none is left. */
  hoard: { payload: Schema.Void, success: Schema.Void, error: Schema.Never },
  /** Throws outside any Effect, after returning. */
  throwLater: { payload: Schema.String, success: Schema.Void, error: Schema.Never },
  throwInTimer: { payload: Schema.String, success: Schema.Void, error: Schema.Never },
  rejectLater: { payload: Schema.String, success: Schema.Void, error: Schema.Never },
  crashLater: { payload: Schema.String, success: Schema.Void, error: Schema.Never },
  exit: { payload: Schema.Int, success: Schema.Void, error: Schema.Never },
}

export const misfit: ActorDefinition<MisfitConfig, typeof control, string> = { role: "misfit", control }

export const misfitBody: ActorBody<MisfitConfig, typeof control, string> = (context) =>
  Effect.gen(function* () {
    context.report(`life ${context.incarnation}`)
    const { boot } = context.config
    if (boot === "throw") throw new Error("thrown while booting")
    if (boot === "fail") return yield* new Refused({ wish: "to boot", seen: new Date(0) })
    if (boot === "wait") return yield* Effect.never
    if (boot === "loop") loopForEver()
    if (boot === "close") yield* Effect.addFinalizer(() => Effect.never)
    return {
      echo: (payload) => Effect.succeed(payload),
      refuse: (wish) => Effect.fail(new Refused({ wish, seen: new Date(86_400_000) })),
      die: (words) => Effect.die(new Error(words)),
      hang: () => Effect.never,
      loop: () => Effect.sync(loopForEver),
      hoard: () => Effect.sync(hoard),
      throwLater: (words) =>
        Effect.sync(() => {
          setImmediate(() => {
            throw new Error(words)
          })
        }),
      throwInTimer: (words) =>
        Effect.sync(() => {
          setTimeout(() => {
            throw new Error(words)
          })
        }),
      rejectLater: (words) => Effect.sync(() => void Promise.reject(new Error(words))),
      crashLater: (words) => Effect.sync(() => void setImmediate(() => context.crash(new Error(words)))),
      exit: (code) => Effect.sync(() => process.exit(code)),
    }
  })

const loopForEver = (): void => {
  for (let turns = 0; ; turns++) Math.sqrt(turns)
}

const hoard = (): void => {
  const kept: Array<object> = []
  for (;;) kept.push({ count: kept.length, words: `hoarded ${kept.length}` })
}
