/**
 * The documents of a kwok recording (kwok, pkg/apis/action/v1alpha1): names of their fields and methods.
 *
 * ```yaml
 * apiVersion: action.kwok.x-k8s.io/v1alpha1
 * kind: ResourcePatch
 * resource: {group: apps, version: v1, resource: deployments}
 * target: {name: web, namespace: shop}
 * durationNanosecond: 1500000000   # since the start of the recording
 * method: patch                    # create (all of it), patch (strategic merge), delete (no template)
 * template: {spec: {replicas: 3}}
 * ```
 */

/** Name of the format. */
export const FORMAT = "kwok"
export const API_VERSION = "action.kwok.x-k8s.io/v1alpha1"
export const KIND = "ResourcePatch"

export type PatchMethod = "create" | "patch" | "delete"

/** One object's identity; names contain no spaces. */
export const keyOf = (gvk: string, namespace: string, name: string): string => `${gvk} ${namespace} ${name}`
