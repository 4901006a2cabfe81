/** The Pods that run or are about to run on each node, updated with the changes of Pods. */

import type { ObjectChange } from "../../../host/cache/change-feed.ts"
import type { Pod } from "../../../kube/client/objects.ts"
import { isFinished } from "../pod-facts.ts"
import type { NodeLoad } from "./placement.ts"
import { add, noResources, type Resources, requestsOf } from "./pod-requests.ts"

const empty: NodeLoad = { pods: 0, requests: noResources }

export class NodeLoads {
  readonly #loads = new Map<string, NodeLoad>()
  readonly #counted = new Map<string, { readonly node: string; readonly requests: Resources }>()

  of(node: string): NodeLoad {
    return this.#loads.get(node) ?? empty
  }

  /** Counts a Pod on a node before the server confirms it; `changed` confirms or corrects it. */
  assume(pod: Pod, node: string): void {
    this.#count(pod.metadata.uid ?? "", node, pod)
  }

  isAssumed(pod: Pod): boolean {
    return this.#counted.has(pod.metadata.uid ?? "")
  }

  /** The binding failed. */
  forget(pod: Pod): void {
    this.#discount(pod.metadata.uid ?? "")
  }

  changed({ previous, current }: ObjectChange<Pod>): void {
    if (current === undefined) {
      if (previous !== undefined) this.forget(previous)
    } else if (isFinished(current)) this.forget(current)
    else if ((current.spec.nodeName ?? "") !== "")
      this.#count(current.metadata.uid ?? "", current.spec.nodeName ?? "", current)
  }

  #count(uid: string, node: string, pod: Pod): void {
    this.#discount(uid)
    const requests = requestsOf(pod.spec)
    const load = this.of(node)
    this.#counted.set(uid, { node, requests })
    this.#loads.set(node, { pods: load.pods + 1, requests: add(load.requests, requests) })
  }

  #discount(uid: string): void {
    const counted = this.#counted.get(uid)
    if (counted === undefined) return
    this.#counted.delete(uid)
    const { pods, requests } = this.of(counted.node)
    const { cpu, memory } = counted.requests
    this.#loads.set(counted.node, {
      pods: pods - 1,
      requests: { cpu: requests.cpu - cpu, memory: requests.memory - memory },
    })
  }
}
