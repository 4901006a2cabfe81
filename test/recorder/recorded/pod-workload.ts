/** A seeded workload of pods in a sandbox: created, run, restarted, ended, deleted, with reused names. */
import type { Sandbox } from "../../../src/sandbox/index.ts"
import { SeededWorkload } from "./seeded-workload.ts"

/** The history of one pod, by its UID. Seconds since the Unix epoch. */
export interface PodStory {
  readonly start: number
  /** From its last status; `undefined` if it was running then. */
  readonly end: number | undefined
  /** Whether it was deleted. */
  readonly isGone: boolean
}

interface LivePod {
  readonly uid: string
  phase: "waiting" | "running" | "ended"
}

/** Few, so that names are reused often. */
const names = 60
const epochSeconds = 1_700_000_000
const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "6986996b-0000-4000-8000-36cdd2cc8983" }

export class PodWorkload extends SeededWorkload {
  readonly #sandbox: Sandbox
  readonly #live = new Map<string, LivePod>()
  /** Every pod that ever ran. */
  readonly stories = new Map<string, PodStory>()

  constructor(sandbox: Sandbox, seed: number) {
    super(seed)
    this.#sandbox = sandbox
  }

  /** One change of a random pod. */
  step(): void {
    const name = `pod-${this.below(names)}`
    const pod = this.#live.get(name)
    // Like a clock that advances with every change.
    const seconds = epochSeconds + ++this.events
    if (pod === undefined) return this.#create(name)
    const dice = this.below(10)
    if (dice < 2) return this.#delete(name, pod)
    if (pod.phase === "running" && dice < 6) return this.#tell(name, pod, "ended", seconds)
    // Ended or running before: its container is restarted.
    this.#tell(name, pod, "running", seconds)
  }

  #create(name: string): void {
    this.#live.set(name, { uid: this.#put(name, {}, this.below(2) === 0), phase: "waiting" })
  }

  #delete(name: string, { uid }: LivePod): void {
    this.#live.delete(name)
    const story = this.stories.get(uid)
    if (story !== undefined) this.stories.set(uid, { ...story, isGone: true })
    this.#sandbox.delete("v1.Pod", "load", name)
  }

  #tell(name: string, pod: LivePod, phase: "running" | "ended", seconds: number): void {
    const { uid } = pod
    const end = phase === "ended" ? seconds : undefined
    const start = this.stories.get(uid)?.start ?? seconds
    pod.phase = phase
    this.stories.set(uid, { start, end, isGone: false })
    const startedAt = time(seconds)
    this.#put(
      name,
      phase === "ended" ? { terminated: { startedAt, finishedAt: startedAt } } : { running: { startedAt } },
    )
  }

  #put(name: string, state: object, isOwned = false): string {
    const before = this.#sandbox.get("v1.Pod", "load", name)
    const owners = before?.metadata.ownerReferences ?? (isOwned ? [owner] : undefined)
    const { metadata } = this.#sandbox.put("v1.Pod", {
      metadata: {
        namespace: "load",
        name,
        labels: { round: String(this.events), text: "x".repeat(this.below(2000)) },
        ...(owners !== undefined && { ownerReferences: owners }),
      },
      spec: { containers: [{ name: "main", image: "web:1" }] },
      status: { containerStatuses: [{ name: "main", state }] },
    })
    return metadata.uid
  }
}

const time = (seconds: number): string => new Date(seconds * 1000).toISOString().replace(".000Z", "Z")
