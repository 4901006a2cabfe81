/**
 * Facts about kinds that need no cluster: where SimKube expects pod templates, and what was meant by a name that is
 * none.
 */
import { builtInResources, formatGvk, type GroupVersionKind, parseGvk } from "../../kube/offline.ts"
import { nearest } from "../../text/index.ts"
import { DEFAULT_TEMPLATE_PATHS } from "../../trace/index.ts"

/** The paths that SimKube fixes for a kind it knows; `undefined` for every other kind. */
export const fixedTemplatePaths = (gvk: GroupVersionKind): readonly string[] | undefined =>
  DEFAULT_TEMPLATE_PATHS.get(formatGvk(gvk))

/** Built-in kinds of Kubernetes 1.34, for suggestions only: other kinds are allowed. */
const builtInKinds: ReadonlyArray<string> = [...new Set([...DEFAULT_TEMPLATE_PATHS.keys(), ...builtInResources.keys()])]

const builtInByKind: ReadonlyMap<string, string> = new Map(
  builtInKinds.toReversed().map((text) => [(parseGvk(text)?.kind ?? text).toLowerCase(), text]),
)
/** Group and kind only: older and newer versions of a built-in kind are as familiar as the one listed. */
const groupAndKind = (gvk: GroupVersionKind): string => `${gvk.group}/${gvk.kind}`
const familiar: ReadonlySet<string> = new Set(builtInKinds.flatMap((text) => parseGvk(text) ?? []).map(groupAndKind))
const versionName = /^v\d+(?:(?:alpha|beta)\d+)?$/

/** Groups without a dot, and those below k8s.io, belong to Kubernetes itself: a custom resource needs another group. */
const isBuiltInGroup = (group: string): boolean => !group.includes(".") || group.endsWith(".k8s.io")

/**
 * The built-in kind that was probably meant by a text that is not a kind: `Deployment`, `deployments.apps`,
 * `apps.v1.Deployment` and `apps/v1/Deployment` all mean `apps/v1.Deployment`.
 */
export const suggestKind = (text: string): string | undefined => {
  const words = text.toLowerCase().split(/[^a-z0-9]+/)
  for (const word of words) {
    const found = builtInByKind.get(word) ?? builtInByKind.get(word.replace(/s$/, ""))
    if (found !== undefined) return found
  }
  return nearest(text, builtInKinds)
}

/**
 * The built-in kind that was probably meant by a well-formed but unknown kind; `undefined` for a known kind and for kinds in the
 * groups of custom resources. Used only for a warning: newer versions of Kubernetes have kinds that are not listed here.
 */
export const suggestFamiliarKind = (gvk: GroupVersionKind): string | undefined => {
  if (!isBuiltInGroup(gvk.group) || (familiar.has(groupAndKind(gvk)) && versionName.test(gvk.version))) return undefined
  return builtInByKind.get(gvk.kind.toLowerCase()) ?? nearest(formatGvk(gvk), builtInKinds)
}
