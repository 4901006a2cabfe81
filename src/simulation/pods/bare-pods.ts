/**
 * Pods without controller that something other than the replay removes while they run are created again as
 * `NAME-clone-1` and so on, as people would do. What the trace deletes stays deleted (W-48). Decided when the pod is
 * gone; deletions during an interrupted watch are not seen.
 */
import type { Clock } from "../../clock.ts"
import {
  AlreadyExistsError,
  type ApiClient,
  isTerminatingNamespace,
  kinds,
  type Metadata,
  NotFoundError,
  type ObjectWatch,
  type Pod,
  watchObjects,
} from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import { isJsonObject, type JsonObject, podKind, withoutGenerated } from "../../trace/index.ts"
import { type Ownership, ownMetadata, type TargetPlace } from "../objects/target-object.ts"
import { isOfOneLife, originalOwnerAnnotation } from "./pod-identity.ts"

/** Whose pods are watched. `onProblem` gets one sentence for people for each pod that could not be created again. */
interface BarePodsOptions {
  readonly client: ApiClient
  readonly clock: Clock
  readonly random: () => number
  readonly own: Ownership
  readonly onProblem: (problem: string) => void
}

interface Seen {
  readonly uid: string
  /** Of its last state before its deletion was requested. */
  phase: string
  isIntended: boolean
}

/** Watches from its construction until `close`, after which it creates nothing. */
export class BarePods {
  readonly #options: BarePodsOptions
  readonly #watch: ObjectWatch
  /** By `namespace/name`. */
  readonly #pods = new Map<string, Seen>()
  /** Deletions of pods that the watch has not shown yet. */
  readonly #intended = new Set<string>()
  /** By the pod's own place: the place of the one that was created last for it. */
  readonly #clones = new Map<string, string>()
  #isClosed = false

  constructor(options: BarePodsOptions) {
    this.#options = options
    const { client, clock, random, own, onProblem } = options
    const { labels } = ownMetadata(own)
    const labelSelector = Object.entries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .join()
    const changed = (pod: Pod, isDeleted: boolean): void => this.#changed(pod, isDeleted)
    this.#watch = watchObjects<Pod>(
      client.connection,
      { kind: kinds.pods, labelSelector, clock, random },
      {
        listStarted: () => this.#relist(),
        listed: (pod) => changed(pod, false),
        listCompleted: () => undefined,
        changed,
        readDone: () => undefined,
        progressed: () => undefined,
        historyStarted: () => undefined,
        stateChanged: (state, detail) => {
          if (state === "forbidden")
            onProblem(`pods without owner that the target removes are not created again: ${detail}`)
        },
        alarm: (detail) => onProblem(`watching pods without owner: ${detail}`),
      },
    )
    this.#watch.start()
  }

  /** The trace is about to delete this object. */
  deleting({ gvk, namespace, name }: TargetPlace): void {
    if (gvk === "v1.Namespace") {
      for (const [place, pod] of this.#pods) if (place.startsWith(`${name}/`)) pod.isIntended = true
    }
    if (gvk !== podKind) return
    const place = `${namespace}/${name}`
    const pod = this.#pods.get(place)
    if (pod === undefined) this.#intended.add(place)
    else pod.isIntended = true
    const clone = this.#clones.get(place)
    if (clone === undefined) return
    this.#clones.delete(place)
    this.deleting({ gvk, namespace, name: clone })
    void this.#remove(namespace, clone)
  }

  /** From now on nothing is created. */
  close(): void {
    this.#isClosed = true
    this.#watch.stop()
  }

  /** What the trace is deleting gracefully at this moment is still intended when the new list has it. */
  #relist(): void {
    for (const [place, { isIntended }] of this.#pods) if (isIntended) this.#intended.add(place)
    this.#pods.clear()
  }

  #changed(pod: Pod, isDeleted: boolean): void {
    const { namespace = "", name, uid = "", ownerReferences = [], deletionTimestamp } = pod.metadata
    if (ownerReferences.some((owner) => owner.uid !== this.#options.own.root.uid)) return
    const place = `${namespace}/${name}`
    const known = this.#pods.get(place)
    if (!isDeleted) {
      if (known?.uid !== uid)
        this.#pods.set(place, { uid, phase: phaseOf(pod), isIntended: this.#intended.delete(place) })
      else if (deletionTimestamp === undefined) known.phase = phaseOf(pod)
      return
    }
    if (known?.uid !== uid) return
    this.#pods.delete(place)
    if (known.phase === "Running" && !known.isIntended && !this.#isClosed) void this.#create(pod)
  }

  async #create(pod: Pod): Promise<void> {
    const { client, onProblem } = this.#options
    const { namespace = "", name, annotations = {} } = pod.metadata
    const original = annotations[originalOwnerAnnotation] ?? name
    const clone = this.#clone(pod, original)
    this.#clones.set(`${namespace}/${original}`, clone.metadata.name)
    try {
      await client.create(kinds.pods, clone)
    } catch (error) {
      const isOver = isTerminatingNamespace(error) || error instanceof NotFoundError
      if (this.#isClosed || isOver || error instanceof AlreadyExistsError) return
      onProblem(`pod ${namespace}/${name}, which the target removed, could not be created again: ${messageOf(error)}`)
    }
  }

  #clone(pod: Pod, original: string): Pod {
    const { namespace, name, labels = {}, annotations = {} } = pod.metadata
    const number = name.startsWith(`${original}-clone-`) ? Number(name.slice(`${original}-clone-`.length)) : 0
    const { spec } = withoutGenerated(podKind, { spec: pod.spec } as unknown as JsonObject)
    const own = ownMetadata(this.#options.own)
    const metadata: Metadata = {
      name: `${original}-clone-${number + 1}`,
      namespace,
      labels: { ...lasting(labels), ...own.labels },
      annotations: { ...lasting(annotations), [originalOwnerAnnotation]: original },
      ownerReferences: own.ownerReferences,
    }
    return { apiVersion: "v1", kind: "Pod", metadata, spec: (isJsonObject(spec) ? spec : pod.spec) as Pod["spec"] }
  }

  async #remove(namespace: string, name: string): Promise<void> {
    const { client, onProblem } = this.#options
    try {
      await client.delete(kinds.pods, { namespace, name }, { gracePeriodSeconds: 0 })
    } catch (error) {
      if (!(error instanceof NotFoundError) && !this.#isClosed) onProblem(messageOf(error))
    }
  }
}

const phaseOf = ({ status }: Pod): string => status?.phase ?? ""

const lasting = (entries: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(entries).filter(([key]) => !isOfOneLife(key)))
