/**
 * Moves a running module from one worker to another, between two of its calls:
 *
 * ```
 *   from: hold      it is not entered any more; when its last response has come, its image is written
 *   hub:  move      its subscriptions go to the other worker, where they are held; tells the last row of each that was sent before
 *   from: depart    when these rows have come: what waits for the module, its watches and its delays are handed over
 *   to:   load      it continues from its image
 *   hub:  resume    what has changed meanwhile is delivered
 * ```
 *
 * Guaranteed: no event is lost or repeated. States of one object that follow each other while the module is under way are folded, as for any
 * module that is slow. Until the hub is asked, a module that cannot be moved goes on where it is. If a thread ends later than that, the
 * module has to be started anew.
 */

import { messageOf } from "../../../message-of.ts"
import { failureOf, result, tell } from "../actor-calls.ts"
import type { WatchRegistry } from "../watch-registry.ts"
import type { Departure } from "../worker/departure.ts"
import type { WorkerPlace } from "../worker-place.ts"

export interface ModuleMove {
  readonly module: string
  readonly incarnation: number
  readonly from: WorkerPlace
  readonly to: WorkerPlace
  readonly watches: WatchRegistry
  /** Whether that life of the module still runs. */
  readonly isPresent: () => boolean
  /** Loads it at the other worker. Called once, after it has left the former. */
  readonly load: (departure: Departure) => Promise<void>
}

export type MoveOutcome =
  | { readonly type: "moved" }
  /** It goes on where it was, or has ended meanwhile. */
  | { readonly type: "stayed"; readonly reason: string }
  /** It runs nowhere. */
  | { readonly type: "lost"; readonly reason: string }

/** ms that the open requests of a module may take until it can be moved. Usually some tens. */
const holdMs = 1000
/** ms for rows that are on their way between two threads. */
const departMs = 2000

/** Never rejects. */
export const moveModule = async (move: ModuleMove): Promise<MoveOutcome> => {
  const { module, incarnation, from, to, watches, isPresent, load } = move
  const life = { module, incarnation }
  const stay = (reason: string): MoveOutcome => {
    tell(from.supervisor.call("resume", life))
    return { type: "stayed", reason }
  }
  const held = await result(from.supervisor.call("hold", life, holdMs))
  if ("failure" in held) return stay(held.failure.message)
  const subscriptions = held.value
  if (!isPresent()) return stay("it has ended")
  const moving = watches.move({ module, from: from.name, to: to.name, subscriptions })
  if (moving === undefined) return stay("one of its watches has not begun")
  const lose = (reason: string): MoveOutcome => {
    for (const subscription of subscriptions) watches.unwatch(to.name, subscription)
    for (const { supervisor } of [from, to]) tell(supervisor.call("release", life))
    return { type: "lost", reason }
  }
  const rows = await moving
  if (rows === undefined) return lose("the hub has not moved its watches")
  const departed = await result(from.supervisor.call("depart", { ...life, rows }, departMs))
  if ("failure" in departed) return lose(departed.failure.message)
  const departure = departed.value as Departure
  if (!isPresent()) return lose("it has ended")
  try {
    await load(departure)
  } catch (cause) {
    return lose(messageOf(cause))
  }
  const present = new Set(departure.watches.map(({ subscription }) => subscription))
  for (const subscription of subscriptions) if (!present.has(subscription)) watches.unwatch(to.name, subscription)
  // The hub has ended one of them meanwhile, when nobody could be told.
  for (const subscription of watches.arrived(to.name, [...present], departure.isPaused))
    await failureOf(to.supervisor.call("endWatch", { subscription, code: 0, reason: "", message: "" }))
  return { type: "moved" }
}
