/**
 * Kinds on the command line. Names are those of kubectl (`deploy`, `deployments.apps`, `Deployment`) or exact (`apps/v1.Deployment`); a name that
 * is none of the built-in kinds may be one of the server's, and a mistyped one is answered with the kind that was probably meant.
 */
import { builtInKinds, discoverBuiltIn } from "../../k8s/index.ts"
import { findKind, type NamedKind, namesWithKinds } from "../../kube/index.ts"
import { formatGvk, type GroupVersionKind, parseGvk } from "../../kube/offline.ts"
import { nearest, quoted } from "../../text/index.ts"

/** kubectl's, of Kubernetes 1.34. */
const shortNames: Readonly<Record<string, ReadonlyArray<string>>> = {
  ConfigMap: ["cm"],
  Endpoints: ["ep"],
  Event: ["ev"],
  LimitRange: ["limits"],
  Namespace: ["ns"],
  Node: ["no"],
  PersistentVolumeClaim: ["pvc"],
  PersistentVolume: ["pv"],
  Pod: ["po"],
  ReplicationController: ["rc"],
  ResourceQuota: ["quota"],
  ServiceAccount: ["sa"],
  Service: ["svc"],
  CustomResourceDefinition: ["crd", "crds"],
  DaemonSet: ["ds"],
  Deployment: ["deploy"],
  ReplicaSet: ["rs"],
  StatefulSet: ["sts"],
  HorizontalPodAutoscaler: ["hpa"],
  CronJob: ["cj"],
  CertificateSigningRequest: ["csr"],
  Ingress: ["ing"],
  IPAddress: ["ip"],
  NetworkPolicy: ["netpol"],
  PodDisruptionBudget: ["pdb"],
  PriorityClass: ["pc"],
  StorageClass: ["sc"],
  VolumeAttributesClass: ["vac"],
}

/** Newer versions first: `hpa` is the one that kubectl means. */
const builtIn: ReadonlyArray<NamedKind> = builtInKinds
  .flatMap((text) => {
    const gvk = parseGvk(text)
    const found = gvk && discoverBuiltIn(gvk)
    if (found?.tag !== "found") return []
    const { plural } = found.resource
    return [{ gvk: found.resource.gvk, plural, shortNames: shortNames[found.resource.gvk.kind] ?? [] }]
  })
  .toSorted(({ gvk: one }, { gvk: other }) =>
    one.group === other.group ? other.version.localeCompare(one.version, "en", { numeric: true }) : 0,
  )

/** Plurals of the built-in kinds, for completions. */
export const builtInPlurals: ReadonlyArray<string> = [
  ...new Set(builtIn.flatMap(({ plural }) => (plural === undefined ? [] : [plural]))),
]

type KindReading =
  /** `text`: as it is written exactly, `apps/v1.Deployment`. */
  | { readonly tag: "kind"; readonly gvk: GroupVersionKind; readonly text: string }
  | { readonly tag: "unknown"; readonly problem: string }

/** Whether a text names a kind exactly: `apps/v1.Deployment`, `v1.Pod`. In `deployments.apps` the first part is no version. */
export const isExactKind = (text: string): boolean => {
  const gvk = parseGvk(text)
  return gvk !== undefined && (text.includes("/") || /^v\d+(?:(?:alpha|beta)\d+)?$/.test(gvk.version))
}

/** The kind that a text means: exactly, one of `others`, such as those of a server, or a built-in one. */
export const readKind = (text: string, others: ReadonlyArray<NamedKind> = []): KindReading => {
  const exact = isExactKind(text) ? parseGvk(text) : undefined
  const gvk = exact ?? findKind(text, others) ?? findKind(text, builtIn)
  return gvk === undefined
    ? { tag: "unknown", problem: unknownKind(text, others) }
    : { tag: "kind", gvk, text: formatGvk(gvk) }
}

/**
 * The kinds that texts mean. `discovered`: those of the server, asked for once, only if a text is no built-in kind; without an answer the
 * built-in ones are all that is known.
 */
export const readKinds = async (
  texts: ReadonlyArray<string>,
  discovered: () => Promise<ReadonlyArray<NamedKind>>,
): Promise<ReadonlyArray<GroupVersionKind> | { readonly problem: string }> => {
  const isUnknown = (text: string): boolean => readKind(text).tag === "unknown"
  const others = texts.some(isUnknown) ? await discovered() : []
  const kinds: GroupVersionKind[] = []
  for (const text of texts) {
    const reading = readKind(text, others)
    if (reading.tag === "unknown") return { problem: reading.problem }
    kinds.push(reading.gvk)
  }
  return kinds
}

const unknownKind = (text: string, others: ReadonlyArray<NamedKind>): string => {
  const meanings = namesWithKinds([...others, ...builtIn])
  const near = nearest(text, meanings.keys()) ?? nearest(text.split(/[./]/, 1)[0] ?? "", meanings.keys())
  const meant = near === undefined ? "" : `; did you mean ${meanings.get(near)}?`
  return `unknown kind ${quoted(text)}${meant || "; write it as GROUP/VERSION.KIND, such as apps/v1.Deployment"}`
}

/** The exact kind nearest to one that does not exist, for a hint; `undefined` if none is near. */
export const nearestKind = (text: string, others: ReadonlyArray<string> = []): string | undefined =>
  nearest(
    text,
    [...others, ...builtIn.map(({ gvk }) => formatGvk(gvk))].filter((each) => each !== text),
  )
