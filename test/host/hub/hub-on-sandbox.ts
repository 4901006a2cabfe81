/** A hub on a sandbox, over real HTTP, on a clock that the test advances; and consumers that keep a model of what they were told. */
import { expect, onTestFinished } from "vitest"
import type { HubChange, HubSubscriptionHandle, HubSubscriptionRequest } from "../../../src/host/hub/hub-change.ts"
import { WatchHub, type WatchHubOptions } from "../../../src/host/hub/watch-hub.ts"
import { HttpClient, kinds } from "../../../src/kube/index.ts"
import { Sandbox, type SandboxOptions } from "../../../src/sandbox/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"

export const configMap = "v1.ConfigMap"

export interface ToldObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly resourceVersion: string
    readonly labels?: Record<string, string>
    readonly managedFields?: unknown
  }
  readonly data?: Record<string, string>
}

/** A consumer that takes at once, or when the test says so, and checks the order of what it takes. */
export class Consumer {
  readonly changes: HubChange[] = []
  /** What exists, by UID, as the changes have told. */
  readonly objects = new Map<string, ToldObject>()
  /** UIDs that it was told of otherwise than by a deletion. */
  readonly told = new Set<string>()
  /** UIDs that it was told the deletion of. */
  readonly deleted = new Set<string>()
  takesAtOnce = true
  /** It knows objects from before, which this model does not. */
  isResumed = false
  /** The server may be restored from a backup, and versions start again. */
  seesRestores = false
  /** The version of the last change or mark taken. */
  lastVersion = ""
  announcements = 0
  /** What was wrong with what it took at once. */
  failure: unknown
  handle: HubSubscriptionHandle | undefined

  available(): void {
    this.announcements++
    // The announcement may come before the subscription is known.
    if (this.takesAtOnce) queueMicrotask(() => this.#takeOrFail())
  }

  takeAll(): void {
    while ((this.handle?.pending ?? 0) > 0) this.takeSome(1024)
  }

  takeSome(maximumBytes: number): void {
    for (const change of this.handle?.take(maximumBytes) ?? []) this.#told(change)
  }

  /** `added a 1`, `synced`. */
  get story(): ReadonlyArray<string> {
    return this.changes.map(describe)
  }

  get isSynced(): boolean {
    return this.changes.some(({ type }) => type === "synced")
  }

  /** Up to it, changes are part of the state with which it began. */
  get syncedVersion(): number {
    return Number(this.changes.find(({ type }) => type === "synced")?.version)
  }

  get isExpired(): boolean {
    return this.changes.at(-1)?.type === "expired"
  }

  /** name → value of what exists. */
  get state(): Record<string, string | undefined> {
    return Object.fromEntries([...this.objects.values()].map(({ metadata, data }) => [metadata.name, data?.value]))
  }

  #takeOrFail(): void {
    try {
      this.takeAll()
    } catch (cause) {
      this.failure ??= cause
    }
  }

  #told(change: HubChange): void {
    expect(this.isExpired, "nothing comes after expired").toBe(false)
    // Objects of the state may be newer than the version at which it is complete.
    const { isSynced } = this
    this.changes.push(change)
    if (change.type === "expired") return
    if (isSynced && !this.isResumed && !this.seesRestores && !change.isFinalStateUnknown) {
      expect(Number(change.version), "versions never fall").toBeGreaterThanOrEqual(Number(this.lastVersion))
    }
    this.lastVersion = change.version
    if (change.uid === "") return
    const object = JSON.parse(change.bytes.toString()) as ToldObject
    const known = this.objects.get(change.uid)
    if (known !== undefined && !this.isResumed && !this.seesRestores && change.type !== "deleted") {
      expect(Number(change.version), "each state is newer").toBeGreaterThan(Number(known.metadata.resourceVersion))
    }
    expect(object.metadata.uid).toBe(change.uid)
    if (change.type === "deleted") {
      this.objects.delete(change.uid)
      this.deleted.add(change.uid)
      return
    }
    if (!this.isResumed)
      expect(change.type, `${describe(change)} after ${known === undefined ? "nothing" : "its addition"}`).toBe(
        known === undefined ? "added" : "modified",
      )
    const namesakes = [...this.objects.values()].filter(
      ({ metadata }) =>
        metadata.name === object.metadata.name &&
        metadata.namespace === object.metadata.namespace &&
        metadata.uid !== change.uid,
    )
    expect(namesakes, "two objects of one name").toEqual([])
    this.objects.set(change.uid, object)
    this.told.add(change.uid)
  }
}

const describe = ({ type, bytes, uid, isFinalStateUnknown }: HubChange): string => {
  if (uid === "") return type
  const { metadata, data } = JSON.parse(bytes.toString()) as ToldObject
  return [isFinalStateUnknown ? "lost" : type, metadata.name, data?.value].filter(Boolean).join(" ")
}

export const startHub = async (options: Partial<WatchHubOptions> = {}, sandboxOptions: SandboxOptions = {}) => {
  const clock = new ManualClock()
  const sandbox = await Sandbox.start({ clock, bookmarkInterval: 0, ...sandboxOptions })
  const transport = new HttpClient(sandbox.endpoint, { userAgent: "kubereel/test" })
  const alarms: string[] = []
  const states: string[] = []
  const listener: WatchHubOptions["listener"] = {
    stateChanged: (selection, state) => states.push(`${selection}: ${state}`),
    alarm: (detail) => alarms.push(detail),
    unauthorized: () => alarms.push("unauthorized"),
  }
  const hub = new WatchHub({ transport, clock, random: () => 0, listener, ...options })
  onTestFinished(async () => {
    hub.stop()
    transport.close()
    await sandbox.close()
  })
  let subscribed = 0
  const consumers = new Set<Consumer>()
  const subscribe = (request: Partial<HubSubscriptionRequest> = {}, consumer = new Consumer()): Consumer => {
    const id = `subscription ${++subscribed}`
    consumers.add(consumer)
    consumer.isResumed = request.after !== undefined
    consumer.handle = hub.subscribe({ id, kind: kinds.configMaps, ...request }, consumer)
    return consumer
  }
  const put = (name: string, value: string, labels: Record<string, string> = {}, namespace = "default"): void => {
    sandbox.put(configMap, { metadata: { name, namespace, labels }, data: { value } })
  }
  const remove = (name: string, namespace = "default"): void => {
    sandbox.delete(configMap, namespace, name)
  }
  /** Lets a little time pass with every turn, so that back-offs end. */
  const sees = async (condition: () => boolean, msPerTurn = 1): Promise<void> => {
    while (!condition()) {
      for (const { failure } of consumers) if (failure !== undefined) throw failure
      clock.advance(msPerTurn)
      await turn()
    }
  }
  /** Watches that the server has accepted; a streaming list is one. */
  const watches = (resource = "configmaps"): number => sandbox.requests.count({ resource, verb: "watch" })
  return { clock, sandbox, hub, subscribe, put, remove, sees, watches, alarms, states }
}
