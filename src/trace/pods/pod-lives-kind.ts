/**
 * The kind under which the archive keeps how far pod lifecycles are complete.
 *
 * It is no kind of any API server: a group without a dot cannot come from a CustomResourceDefinition, and Kubernetes has none
 * of this name. When v1.Pod is recorded too, its watcher tracks lifecycles on the same stream, and each of its frames
 * moves both kinds; when it is not, the pod watcher's frames are of this kind. So whichever watcher comes next knows how far
 * lifecycles are complete, also after Pods were taken into the configuration or out of it. No event is ever of this kind;
 * gaps may be.
 */
export const podLivesKind = "lifecycle/v1.Pod"

/** The kind that is watched for it. */
export const podKind = "v1.Pod"
