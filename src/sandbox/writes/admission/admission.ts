/** The facts about stored objects that admission and allocation need. */

import type { Resource, ResourceRegistry } from "../../../apiserver/kinds/resources.ts"
import { type Change, keyOf } from "../../../apiserver/watch/change.ts"
import { formatGvk } from "../../../kube/gvk.ts"
import type { Randomness } from "../../randomness.ts"
import { child } from "../../rules/fields.ts"
import type { Fields, MutableObject } from "../../rules/kind-rules.ts"
import type { ObjectStore } from "../../store/object-store.ts"
import { stateOf } from "../answer.ts"
import { refuse } from "../refusal.ts"
import { invalidObject } from "../write-failures.ts"
import { type AdmissionSurroundings, admitCreate } from "./plug-ins.ts"
import { allocateService, releaseService, type ServicePools } from "./service-allocation.ts"
import { servicePools } from "./service-pools.ts"

const suffixLength = 5

export class Admission {
  readonly #surroundings: Omit<AdmissionSurroundings, "suffix">
  readonly #pools: ServicePools = servicePools()

  /** Without `accounts` every Pod's account counts as existing, since the default ones are not created. */
  constructor(store: ObjectStore, registry: ResourceRegistry, accounts: boolean) {
    const statesOf = function* (gvk: string): Generator<MutableObject> {
      if (!registry.has(gvk)) return
      for (const { change } of store.collection(gvk).live.values()) yield stateOf(change)
    }
    this.#surroundings = {
      serviceAccount: (namespace, name) => {
        const found = store.collection("v1.ServiceAccount").live.get(keyOf(namespace, name))
        if (found !== undefined) return stateOf(found.change)
        return accounts ? undefined : noTokens
      },
      priorityClass: (name) => {
        for (const found of statesOf("scheduling.k8s.io/v1.PriorityClass")) {
          if (name === undefined ? found.globalDefault === true : found.metadata.name === name) return found
        }
        return undefined
      },
      defaultStorageClass: () => {
        for (const found of statesOf("storage.k8s.io/v1.StorageClass")) {
          const marked = child(found.metadata, "annotations")?.["storageclass.kubernetes.io/is-default-class"]
          if (marked === "true") return String(found.metadata.name)
        }
        return undefined
      },
    }
  }

  /** Changes a new object as the default admission plug-ins do. Throws Refusal. */
  admit(resource: Resource, object: MutableObject, random: Randomness): void {
    const suffix = (): string => random.suffix(suffixLength)
    const failure = admitCreate(resource, object, { ...this.#surroundings, suffix })
    if (failure !== undefined) refuse(failure)
  }

  /**
   * Allocates a valid Service's addresses and ports; after a dry run the next Service may get the same. Throws Refusal
   * if a pool is empty or a requested value is taken.
   */
  allocate(resource: Resource, object: MutableObject, old: MutableObject | undefined, dryRun: boolean): void {
    if (!isService(resource)) return
    const errors = allocateService(object, old, this.#pools)
    if (errors.length > 0) refuse(invalidObject(resource, String(object.metadata.name), errors))
    if (dryRun) releaseService(object, old, this.#pools)
  }

  /** Releases what a change no longer uses; `next` is `undefined` for a deletion. */
  release(resource: Resource, previous: Change, next: Change | undefined): void {
    if (!isService(resource)) return
    releaseService(stateOf(previous), next === undefined ? undefined : stateOf(next), this.#pools)
  }
}

const isService = (resource: Resource): boolean => formatGvk(resource.gvk) === "v1.Service"

/** An account without a mounted token. */
const noTokens: Fields = { automountServiceAccountToken: false }
