/** What the controllers of one kind share: when they look at an object. */

import {
  type Cluster,
  enqueueOwners,
  enqueueSelf,
  KeyedController,
  keyOf,
  type ObjectCache,
  type Surroundings,
  sameJson,
} from "../../../host/index.ts"
import type { ApiObject, Kind, Pod, PodTemplate, SelectorObject } from "../../../kube/index.ts"

/**
 * A controller that looks at each object of a kind at its start, when it changes, and when an object changes that it
 * owns.
 */
export const objectController = <T extends ApiObject>(
  surroundings: Surroundings,
  { name, kind, owned }: { readonly name: string; readonly kind: Kind; readonly owned?: Kind },
  /** `again`: looks at the object once more after that many ms, if a number is given. */
  reconcile: (object: T, again: (afterMs: number | undefined) => void) => Promise<void>,
): KeyedController => {
  const { cluster } = surroundings
  const objects = cluster.cache<T>(kind)
  const look = async (key: string): Promise<void> => {
    const object = objects.byKey(key)
    if (object !== undefined) await reconcile(object, (afterMs) => controller.enqueueAfter(key, afterMs))
  }
  const controller = new KeyedController(name, surroundings, look, () => Array.from(objects.all(), keyOf))
  objects.onChange(enqueueSelf(controller))
  if (owned !== undefined) cluster.cache<ApiObject>(owned).onChange(enqueueOwners(controller, kind, surroundings))
  return controller
}

/** An Event that the plan for an object asks for. */
export interface PlannedEvent {
  readonly type: "Normal" | "Warning"
  readonly reason: string
  readonly message: string
}

/** What the workload kinds say alike about their Pods. */
export interface PodsSpec {
  readonly selector: SelectorObject
  readonly template: PodTemplate
  readonly minReadySeconds?: number | undefined
}

/** Writes the status of an object unless it has it already. */
export const writeStatus = async <T extends ApiObject & { readonly status?: object }>(
  cluster: Cluster,
  kind: Kind,
  object: T,
  status: NonNullable<T["status"]>,
): Promise<T> => (sameJson(object.status, status) ? object : cluster.updateStatus<T>(kind, { ...object, status }))

/** Looks at the objects that select a Pod which changes, before or after the change. */
export const enqueueSelecting = <T extends ApiObject>(
  controller: KeyedController,
  pods: ObjectCache<Pod>,
  objects: ObjectCache<T>,
  selects: (object: T, pod: Pod) => boolean,
): void => {
  pods.onChange((changes) => {
    for (const { previous, current } of changes)
      for (const object of objects.inNamespace((current ?? previous)?.metadata.namespace))
        if ([previous, current].some((pod) => pod !== undefined && selects(object, pod)))
          controller.enqueue(keyOf(object))
  })
}
