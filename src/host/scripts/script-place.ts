/** One thread with scripts, as the main thread sees it: an actor, its mailbox, and the watch on whether it still responds. It has one life. */
import type { Clock } from "../../clock.ts"
import {
  type ActorSystem,
  CallDeadlineExceeded,
  type RestartPolicy,
  type StartThread,
  type Supervisor,
} from "../../runtime/index.ts"
import { failureOf } from "../dispatcher/actor-calls.ts"
import { EntryWatch, entryMarkBytes } from "../dispatcher/worker/entry-mark.ts"
import { deliveriesMailbox } from "../hub/hub-interface.ts"
import { markOf } from "./thread/script-marks.ts"
import {
  type ScriptThreadConfig,
  type ScriptThreadControl,
  type ScriptThreadReport,
  scriptThreadDefinition,
} from "./thread/script-thread-interface.ts"

interface ScriptPlaceOptions {
  readonly name: string
  readonly system: ActorSystem
  readonly hub: { readonly name: string }
  readonly start: StartThread
  readonly clock: Clock
  /** Of former threads of the name. */
  readonly lastSubscription: number
  readonly onReport: (report: ScriptThreadReport) => void
  /** The thread has ended, and not because it was asked to. Called once. The reason has marks (script-marks.ts) if it is known which script it was in. */
  readonly onGone: (reason: string) => void
}

/** ms without a sign of life, after which a thread is ended. A script may compute for a while, or parse a large object. */
export const unresponsiveMs = 5000

/** The place is given up with its thread, so it is never started again: the first restart is due after that has long happened. */
const never: RestartPolicy = {
  backOff: { initialMs: 60_000, maximumMs: 60_000, factor: 1, jitter: 0, resetAfterMs: 60_000 },
  maximumCrashes: Number.POSITIVE_INFINITY,
  windowMs: 60_000,
}

export class ScriptPlace {
  readonly name: string
  readonly supervisor: Supervisor<ScriptThreadConfig, ScriptThreadControl, ScriptThreadReport>
  readonly #system: ActorSystem
  readonly #watch: EntryWatch
  #isProbing = false
  #isOver = false
  #isEnding = false

  constructor({ name, system, hub, start, clock, lastSubscription, onReport, onGone }: ScriptPlaceOptions) {
    this.name = name
    this.#system = system
    const entryMark = new SharedArrayBuffer(entryMarkBytes)
    this.supervisor = system.spawn({
      definition: scriptThreadDefinition,
      name,
      start,
      config: () => ({ entryMark, lastSubscription }),
      incarnation: () => 1,
      restart: never,
      onReport,
      onStateChange: (state, reason) => {
        if (state !== "backing-off" && state !== "gave-up") return
        if (this.#isOver) return
        this.#isOver = true
        this.#watch.stop()
        onGone(reason)
      },
    })
    system.link(deliveriesMailbox(name), hub, this.supervisor)
    this.#watch = new EntryWatch(entryMark, {
      clock,
      deadlineMs: () => unresponsiveMs,
      onOverrun: () => void this.#end(),
    })
  }

  /** Ends the thread if it does not respond although nothing is under way in it, such as after a timer of a script. */
  async probe(): Promise<void> {
    if (this.#isProbing || this.#isOver) return
    this.#isProbing = true
    const failure = await failureOf(this.supervisor.call("ping", undefined, unresponsiveMs))
    this.#isProbing = false
    if (failure instanceof CallDeadlineExceeded) await this.#end()
  }

  /** Ends the thread as a crash would, if it has not ended. */
  async kill(reason?: string): Promise<void> {
    await this.supervisor.kill(reason)
  }

  /** Stops the thread in order, if it has not ended, and frees its name. */
  async remove(): Promise<void> {
    this.#isOver = true
    this.#watch.stop()
    await this.#system.remove(this.name)
  }

  /** Stops watching. The system stops the thread. */
  close(): void {
    this.#isOver = true
    this.#watch.stop()
  }

  /** The reason names the script that the thread is in, if that can be told. */
  async #end(): Promise<void> {
    if (this.#isOver || this.#isEnding) return
    this.#isEnding = true
    const stack = (await this.supervisor.thread?.runningFunctions?.()) ?? []
    const place = stack.find(({ url }) => markOf(url) !== undefined)
    const where = place === undefined ? "" : `; it runs ${place.name || "a function"} of ${place.url}`
    await this.supervisor.kill(`it has not responded for ${unresponsiveMs} ms${where}`)
  }
}
