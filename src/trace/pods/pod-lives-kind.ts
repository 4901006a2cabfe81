/**
 * The kind under which the archive stores up to where pod lifecycles are complete.
 *
 * No API server has this kind: a group without a dot cannot come from a CustomResourceDefinition, and Kubernetes has none of this name. If
 * v1.Pod is recorded too, its watcher tracks lifecycles on the same stream, and each of its frames advances both kinds; if not, the pod
 * watcher's frames are of this kind. So the next watcher knows up to where lifecycles are complete, even after Pods were added to or
 * removed from the configuration. No event is ever of this kind; gaps may be.
 */
export const podLivesKind = "lifecycle/v1.Pod"

/** The kind that is watched to track lifecycles. */
export const podKind = "v1.Pod"
