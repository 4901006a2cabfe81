/** A seeded workload of pods and their owners, over one, two or three steps, or over none that is recorded. */
import type { StoredObject } from "../../../src/apiserver/index.ts"
import type { Sandbox } from "../../../src/sandbox/index.ts"
import { ownedBy, podThat } from "./owner-recorder.ts"
import { SeededWorkload } from "./seeded-workload.ts"

export const ownerKinds = { deployment: "apps/v1.Deployment", pod: "v1.Pod" } as const
const replicaSet = "apps/v1.ReplicaSet"
const app = "example.com/v1.App"
const namespace = "shop"
const deployments = 10
/** One in so many changes creates a new owner: some 20 a second at 2,000 changes, of the 50 that may be looked up. */
const changesPerOwner = 100
const changesPerPod = 10
const firstStart = 1_700_000_000

export class OwnerWorkload extends SeededWorkload {
  readonly #sandbox: Sandbox
  readonly #deployments: ReadonlyArray<StoredObject>
  readonly #owners: Array<StoredObject> = []

  constructor(sandbox: Sandbox, seed: number) {
    super(seed)
    this.#sandbox = sandbox
    sandbox.register({
      gvk: { group: "example.com", version: "v1", kind: "App" },
      plural: "apps",
      namespaced: true,
    })
    this.#deployments = Array.from({ length: deployments }, (_, index) => this.#change(index))
    this.#addOwner()
  }

  step(): void {
    this.events++
    if (this.events % changesPerOwner === 0) this.#addOwner()
    else if (this.events % changesPerPod === 0) this.#addPod()
    else this.#change(this.below(deployments))
  }

  #change(index: number): StoredObject {
    return this.#sandbox.put(ownerKinds.deployment, {
      metadata: { namespace, name: `web-${index}` },
      spec: { replicas: this.events },
    })
  }

  /** A ReplicaSet of a Deployment, of an App of a Deployment, or without an owner. */
  #addOwner(): void {
    const owner = this.#deployments[this.below(deployments)] as StoredObject
    const dice = this.below(4)
    const above = dice === 1 ? [this.#put(app, `app-${this.events}`, [owner])] : dice === 2 ? [] : [owner]
    this.#owners.push(this.#put(replicaSet, `rs-${this.events}`, above))
  }

  #addPod(): void {
    const owner = this.#owners[this.below(this.#owners.length)] as StoredObject
    const start = firstStart + this.events
    this.#put(ownerKinds.pod, `pod-${this.events}`, [owner], podThat({ start }))
  }

  #put(gvk: string, name: string, owners: ReadonlyArray<StoredObject>, more: object = { spec: {} }): StoredObject {
    return this.#sandbox.put(gvk, { ...more, metadata: { namespace, name, ...ownedBy(...owners) } })
  }
}

/** The ownership in the sandbox's ledger. */
export class LedgerOwnership {
  readonly #owners = new Map<string, ReadonlyArray<Reference>>()

  constructor(sandbox: Sandbox) {
    for (const { uid, object } of sandbox.ledger) {
      this.#owners.set(uid, (object?.metadata.ownerReferences as Owners) ?? [])
    }
  }

  /** The UIDs of all direct and indirect owners of these objects that are not of that kind. */
  aboveOtherThan(uids: Iterable<string>, kind: string): ReadonlySet<string> {
    const above = new Set<string>()
    const ahead = [...uids]
    for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
      for (const owner of this.of(next)) {
        if (owner.kind === kind || above.has(owner.uid)) continue
        above.add(owner.uid)
        ahead.push(owner.uid)
      }
    }
    return above
  }

  of(uid: string): ReadonlyArray<Reference> {
    return this.#owners.get(uid) ?? []
  }

  /** The first owner of that kind above an object. */
  above(uid: string, kind: string): Reference | undefined {
    for (const owner of this.of(uid)) {
      const found = owner.kind === kind ? owner : this.above(owner.uid, kind)
      if (found !== undefined) return found
    }
    return undefined
  }
}

interface Reference {
  readonly kind: string
  readonly name: string
  readonly uid: string
}
type Owners = ReadonlyArray<Reference> | undefined
