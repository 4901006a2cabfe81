/**
 * Pods of a replay that lead the lives of the recorded ones: knowledge of the trace, webhook and rescheduling, for one run of a replay.
 */
import type { Clock } from "../../clock.ts"
import { type ApiClient, type ApiObject, controllerOf, type OwnerReference, ResourceFinder } from "../../kube/index.ts"
import { parseGvk } from "../../kube/offline.ts"
import { messageOf } from "../../message-of.ts"
import type { Placement } from "../objects/pod-templates.ts"
import type { Ownership, TargetPlace } from "../objects/target-object.ts"
import type { LiveSchedule, Speed } from "../schedule/replay-clock.ts"
import type { StartedWebhook, StartWebhook } from "../webhook/pod-webhook.ts"
import { BarePods } from "./bare-pods.ts"
import { type LifeSource, mayHaveLives, type TraceFacts } from "./life-source.ts"
import { type LivesCount, lifeTiming, PodLives, type StartDelays } from "./pod-lives.ts"
import { LifeMatching } from "./recorded-lives.ts"

// The controllers above a pod in the target: the ReplicaSet and its Deployment, the Job and its CronJob, or any custom kind.
//
// Only what the server has answered is remembered, by UID (W-31: SimKube remembers failures for ever, and by name). A failed look-up ends
// the chain there, for this time.

/** A chain that is longer is a circle. */
const deepestChain = 8
/** Owners that are remembered; a ReplicaSet of a roll-out is asked for once as long as it creates pods. */
const mostRemembered = 4096

/** Looks owners up with the client; remembers at most 4,096 of them. */
class PodOwners {
  readonly #client: ApiClient
  readonly #finder: ResourceFinder
  readonly #signal: AbortSignal
  /** By UID of an owner: its own controller, `undefined` if it has none. */
  readonly #controllers = new Map<string, OwnerReference | undefined>()

  constructor(client: ApiClient, signal: AbortSignal) {
    this.#client = client
    this.#finder = new ResourceFinder(client.connection)
    this.#signal = signal
  }

  /** From the nearest up; empty for a pod without controller. Never rejects. */
  async of(pod: Pick<ApiObject, "metadata">): Promise<ReadonlyArray<OwnerReference>> {
    const chain: OwnerReference[] = []
    const { namespace } = pod.metadata
    let owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true)
    while (owner !== undefined && chain.length < deepestChain) {
      chain.push(owner)
      owner = await this.#controllerOf(owner, namespace)
    }
    return chain
  }

  async #controllerOf(owner: OwnerReference, namespace: string | undefined): Promise<OwnerReference | undefined> {
    if (this.#controllers.has(owner.uid)) return this.#controllers.get(owner.uid)
    const object = await this.#read(owner, namespace)
    if (object?.metadata.uid !== owner.uid) return undefined
    const controller = controllerOf(object)
    if (this.#controllers.size >= mostRemembered) {
      const oldest = this.#controllers.keys().next().value
      if (oldest !== undefined) this.#controllers.delete(oldest)
    }
    this.#controllers.set(owner.uid, controller)
    return controller
  }

  async #read(
    { apiVersion, kind, name }: OwnerReference,
    namespace: string | undefined,
  ): Promise<ApiObject | undefined> {
    const gvk = parseGvk(`${apiVersion}.${kind}`)
    if (gvk === undefined) return undefined
    try {
      return await this.#client.get(await this.#finder.find(gvk), { namespace, name }, { signal: this.#signal })
    } catch {
      // Gone, or not readable with these credentials: the nearer owners remain.
      return undefined
    }
  }
}

/** What a replay tells about itself once its root exists. */
interface PodsContext extends TraceFacts {
  readonly own: Ownership
  readonly clock: Clock
  readonly namespacePrefix: string
  readonly placement: Placement
  /** µs since the Unix epoch: the first moment that is replayed. */
  readonly startMicros: number
  readonly speed: () => Speed
  /** `undefined` before the first moment is due. */
  readonly schedule: () => LiveSchedule | undefined
  /** Ends setting up: the replay is over. */
  readonly signal: AbortSignal
  /** Ends the removal of what was set up. */
  readonly cleanUpSignal: AbortSignal
}

/** What a replay tells while it runs. */
interface FollowedPods {
  /**
   * Call it when the trace has been played, up to `until` (µs since the Unix epoch): looks whether the webhook is asked. `undefined`: the trace has no
   * lives, or the target can never ask. Never rejects.
   */
  count(until: number): Promise<LivesCount | undefined>
  /** The trace deletes this object. */
  deleting(place: TargetPlace): void
  /**
   * Call it before the replay is removed: afterwards no pod is changed or created. Never rejects. `signal` ends waiting for a target that
   * does not answer.
   */
  close(signal: AbortSignal): Promise<void>
}

/** Starts to follow; never rejects. */
export type FollowPods = (context: PodsContext) => Promise<FollowedPods>

/** The same for every run of a replay. */
interface FollowOptions {
  /**
   * For the target; not the one that writes the objects of the replay. Those writes wait for the webhook, so it must never wait for them.
   */
  readonly client: ApiClient
  /** Called once for each run. */
  readonly source: () => LifeSource
  /** `undefined`: the API server cannot reach this process. */
  readonly webhook: StartWebhook | undefined
  /** Whether pods are reviewed although the trace has none. Default: no, because each creation of a pod would cost a request. */
  readonly isUnconditional?: boolean
  /** How long pods take to start, whatever the trace has. Default: as the trace has it. */
  readonly delays?: StartDelays | undefined
  /** Whether bare pods that something else deletes are created again. Default: yes. */
  readonly recreatesBarePods?: boolean
  readonly random: () => number
  /** Gets one sentence, for people, for each thing that keeps pods from their recorded lives. */
  readonly onProblem: (problem: string) => void
}

/** ms after the start during which the first pods wait until their lives have been read; the first event is due within 3 s. */
const patienceMs = 2000

/**
 * Gives pods of the target the lives of recorded ones. `onProblem` gets what cannot be set up, and then pods live as
 * the target decides.
 */
export const followRecordedLives =
  (options: FollowOptions): FollowPods =>
  async (context) => {
    const { client, webhook: start, random, delays, isUnconditional = false, recreatesBarePods = true } = options
    const { own, clock, startMicros, signal, cleanUpSignal } = context
    if (!isUnconditional && !mayHaveLives(context)) return idle
    // A failure that concerns every pod would be reported for each.
    const told = new Set<string>()
    const onProblem = (problem: string): void => {
      if (told.size > mostProblems || told.has(problem)) return
      told.add(problem)
      options.onProblem(told.size > mostProblems ? "more problems of pods are not shown" : problem)
    }
    if (start === undefined) {
      onProblem(
        "pods live as the cluster decides, because its API server cannot reach this process: see --webhook-address",
      )
      return idle
    }
    const source = options.source()
    source.begin(startMicros, { clock, onProblem })
    const ending = new AbortController()
    const owners = new PodOwners(client, ending.signal)
    const deadlineMs = clock.monotonicMs() + patienceMs
    const lives = new PodLives({
      ...context,
      delays,
      client,
      matching: new LifeMatching(source.lives),
      timing: lifeTiming(clock, context.speed, context.schedule),
      ownersOf: (pod) => owners.of(pod),
      isLearning: () => !source.isFinished,
      learn: () => source.waitFor(deadlineMs - clock.monotonicMs()),
      onProblem,
    })
    const review = lives.review.bind(lives)
    let webhook: StartedWebhook | undefined
    let bare: BarePods | undefined
    let failure: string | undefined
    try {
      webhook = await start({ clock, own, review, onProblem, signal, cleanUpSignal })
      if (recreatesBarePods) bare = new BarePods({ client, clock, random, own, onProblem })
    } catch (error) {
      lives.close()
      failure = `the webhook could not be set up: ${messageOf(error)}`
      if (!signal.aborted)
        onProblem(`pods live as the cluster decides, because the webhook cannot be set up: ${messageOf(error)}`)
    }
    return {
      count: async (until) => {
        if (!signal.aborted) await source.waitFor(patienceMs)
        const isLost = !signal.aborted && (await webhook?.isCalled?.(signal)) === false
        if (isLost) onProblem(`pods live as the cluster decides: ${lost}`)
        return { ...lives.count, recorded: source.pods(until), unasked: failure ?? (isLost ? lost : null) }
      },
      deleting: (place) => bare?.deleting(place),
      close: async (signal) => {
        bare?.close()
        lives.close()
        ending.abort()
        await webhook?.close({ signal })
        source.close()
      },
    }
  }

/** A registration that is deleted, or a server that cannot be reached any more, fails no request. */
const lost = "the API server stopped asking the webhook: its registration is gone, or it cannot be reached"

/** Different ones that are reported; more would only hide the first. */
const mostProblems = 20

const idle: FollowedPods = {
  count: () => Promise.resolve(undefined),
  deleting: () => undefined,
  close: () => Promise.resolve(),
}
