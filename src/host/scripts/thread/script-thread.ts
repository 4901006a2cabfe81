/**
 * The scripts of one thread. An engine without a thread of its own; {@link scriptThreadBody} puts it into one.
 *
 * Each script has its own credentials, requests, queues and leases; the objects that they watch are shared. Scripts are trusted not to harm
 * each other on purpose: they share the memory of a thread.
 */
import type { Clock } from "../../../clock.ts"
import type { ApiEndpoint } from "../../../kube/index.ts"
import { formatGvk } from "../../../kube/offline.ts"
import { messageOf } from "../../../message-of.ts"
import type { AdmissionTerms } from "../../admission/registration.ts"
import { StateDirectoryMissing } from "../../checkpoint/checkpoint.ts"
import {
  type Acquired,
  type CacheSource,
  type KindSelection,
  type OpenCache,
  SharedCaches,
} from "../../controller/access/shared-caches.ts"
import { admissionTermsOf } from "../../controller/define-admission.ts"
import { checkTogether, type RunningControllers, startControllers } from "../../controller/run/running-controllers.ts"
import { GivenCredentials } from "../../executor/given-credentials.ts"
import type { Delivery } from "../../hub/deliveries.ts"
import { HubSource, watchRequestOf } from "./hub-source.ts"
import { loadScript, ScriptRefused } from "./load-script.ts"
import { withoutMarks } from "./script-marks.ts"
import type { Pulse } from "./script-thread-actor.ts"
import type { ReviewCall, ScriptAssignment, ScriptThreadReport } from "./script-thread-interface.ts"

interface ScriptThreadOptions {
  readonly clock: Clock
  /** Returns a number in [0, 1). */
  readonly random: () => number
  readonly report: (report: ScriptThreadReport) => void
  readonly pulse: Pick<Pulse, "begin">
  /** The number before that of the first subscription. */
  readonly lastSubscription: number
}

interface Script {
  readonly credentials: GivenCredentials
  readonly running: RunningControllers
}

export class ScriptThread {
  readonly #options: ScriptThreadOptions
  readonly #source: HubSource
  readonly #caches: SharedCaches
  readonly #scripts = new Map<string, Script>()
  readonly #applicants = new Map<number, Applicant>()
  #lastQuestion = 0

  constructor(options: ScriptThreadOptions) {
    const { report, lastSubscription } = options
    this.#options = options
    this.#source = new HubSource({
      lastSubscription,
      subscribe: (subscription, request) => report({ type: "watch", subscription, request }),
      unsubscribe: (subscription) => report({ type: "unwatched", subscription }),
      missed: (rows) => report({ type: "missed", rows }),
      trouble: (detail) => report({ type: "trouble", module: "", detail }),
    })
    this.#caches = new SharedCaches(this.#source)
  }

  /** Returns the webhooks of its controllers. Rejects with {@link ScriptRefused}. Nothing is started once the signal is aborted. */
  async start(assignment: ScriptAssignment, signal: AbortSignal): Promise<ReadonlyArray<AdmissionTerms>> {
    const { clock, random, report, pulse } = this.#options
    const { module, codePath, hasCheckpoint, stateDirectory, hasWebhooks, endpoint } = assignment
    const trouble = (detail: string): void => report({ type: "trouble", module, detail: withoutMarks(detail) })
    const ended = pulse.begin()
    try {
      const loaded = await loadScript(assignment)
      if (signal.aborted) return []
      const controllers = hasCheckpoint ? loaded.map((one) => ({ ...one, checkpoint: true })) : loaded
      const checkpoint = stateDirectory === undefined ? undefined : { directory: stateDirectory }
      const credentials = new GivenCredentials(endpoint, () => report({ type: "unauthorized", module }))
      try {
        if (checkpoint === undefined && controllers.some((one) => one.checkpoint === true))
          throw new StateDirectoryMissing({ module })
        checkTogether(controllers, { checkpoint, admission: hasWebhooks || undefined })
      } catch (cause) {
        throw new ScriptRefused({ path: codePath, problem: `cannot be run: ${messageOf(cause)}` })
      }
      const running = startControllers(controllers, { clock, random, onTrouble: trouble, checkpoint }, credentials, {
        caches: grantedSource({
          caches: this.#caches,
          ask: (selection, applicant) => this.#ask(module, selection, applicant),
          trouble,
        }),
        runBegan: () => pulse.begin(),
        defaultNamespace: "default",
      })
      this.#scripts.set(module, { credentials, running })
      return controllers.flatMap((one) => admissionTermsOf(one) ?? [])
    } finally {
      ended()
    }
  }

  /** Never rejects. */
  async review({ module, controller, call, request }: ReviewCall): Promise<{ response: object } | { problem: string }> {
    const ended = this.#options.pulse.begin()
    try {
      const response = await this.#scripts.get(module)?.running.review(controller, call, request)
      return response === undefined ? { problem: `module ${module} does not run` } : { response }
    } catch (error) {
      return { problem: messageOf(error) }
    } finally {
      ended()
    }
  }

  /** Resolves when its current runs have ended, or their time is over. */
  async stop(module: string): Promise<void> {
    const script = this.#scripts.get(module)
    this.#scripts.delete(module)
    const ended = this.#options.pulse.begin()
    await script?.running.close()
    ended()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#scripts.keys()].map((module) => this.stop(module)))
  }

  credentials(module: string, endpoint: ApiEndpoint): void {
    this.#scripts.get(module)?.credentials.give(endpoint)
  }

  /** Rows of a frame. Functions of scripts are called meanwhile: predicates, maps and indexes. */
  deliver(rows: ReadonlyArray<Delivery>): void {
    const ended = this.#options.pulse.begin()
    this.#source.deliver(rows)
    ended()
  }

  settle(question: number, refusal: string): void {
    const applicant = this.#applicants.get(question)
    if (refusal === "") applicant?.granted()
    else applicant?.refused(refusal)
  }

  endWatch(subscription: number, reason: string): void {
    this.#source.ended(subscription, reason)
  }

  statistics() {
    return [...this.#scripts].map(([module, { running }]) => ({ module, controllers: running.statistics() }))
  }

  #ask(module: string, selection: KindSelection, applicant: Applicant): () => void {
    const { report } = this.#options
    const question = ++this.#lastQuestion
    this.#applicants.set(question, applicant)
    report({ type: "ask", module, question, request: watchRequestOf(selection) })
    return () => {
      if (this.#applicants.delete(question)) report({ type: "withdrawn", question })
    }
  }
}

/** Hears whether a script may have a selection. */
interface Applicant {
  granted(): void
  /** Now, or not any more. `problem`: for people. */
  refused(problem: string): void
}

interface GrantedSourceOptions {
  /** Of the thread. */
  readonly caches: SharedCaches
  /** Asks for a selection on behalf of the script. Returns what withdraws the question. */
  readonly ask: (selection: KindSelection, applicant: Applicant) => () => void
  readonly trouble: (detail: string) => void
}

/**
 * The caches of one script: those of its thread, of which it gets each only once its account may have it, and while it may.
 *
 * Guaranteed: nothing is watched for a script alone before its right is known; a right that is taken away ends its use of the cache, and is
 * reported. The objects of scripts that may all see them are the same.
 */
const grantedSource = ({ caches, ask, trouble }: GrantedSourceOptions): CacheSource => ({
  hasManagedFields: false,
  open: (selection): OpenCache => {
    const kind = formatGvk(selection.kind.gvk)
    let acquired: Acquired | undefined
    const synced = Promise.withResolvers<void>()
    const lost = Promise.withResolvers<void>()
    const close = (): void => {
      withdraw()
      acquired?.release()
      acquired = undefined
    }
    const withdraw = ask(selection, {
      granted: () => {
        acquired ??= caches.acquire(selection)
        void acquired.synced.then(synced.resolve)
      },
      refused: (problem) => {
        if (acquired === undefined) return trouble(`waiting for the right to watch ${kind}: ${problem}`)
        trouble(
          `the right to watch ${kind} was taken away, so its controllers stop until it is there again: ${problem}`,
        )
        close()
        lost.resolve()
      },
    })
    return {
      get cache() {
        return acquired?.cache
      },
      synced: synced.promise,
      lost: lost.promise,
      close,
    }
  },
})
