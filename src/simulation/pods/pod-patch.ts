/** What a replay adds to a pod, as JSON patches. Nothing that is there is removed. */
import type { Pod } from "../../kube/client/objects.ts"
import type { Placement } from "../objects/pod-templates.ts"
import type { PatchOperation } from "../webhook/admission-review.ts"

/** Labels and annotations to set. */
export interface Marks {
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

/** Sets what differs. */
export const markPatch = ({ metadata }: Pod, { labels, annotations }: Marks): ReadonlyArray<PatchOperation> => [
  ...entriesPatch("/metadata/labels", metadata.labels, labels),
  ...entriesPatch("/metadata/annotations", metadata.annotations, annotations),
]

/** For pods whose template the replay could not change, such as those of a custom kind with unknown template paths. */
export const placementPatch = ({ spec }: Pod, { nodeSelector, taintKey }: Placement): ReadonlyArray<PatchOperation> => {
  const patch = [...entriesPatch("/spec/nodeSelector", spec.nodeSelector, nodeSelector)]
  const { tolerations } = spec
  if (taintKey === undefined || tolerations?.some(({ key }) => key === taintKey)) return patch
  const toleration = { key: taintKey, operator: "Exists", effect: "NoSchedule" }
  if (tolerations === undefined) patch.push({ op: "add", path: "/spec/tolerations", value: [toleration] })
  else patch.push({ op: "add", path: "/spec/tolerations/-", value: toleration })
  return patch
}

const entriesPatch = (
  path: string,
  present: Readonly<Record<string, string>> | undefined,
  wanted: Readonly<Record<string, string>>,
): ReadonlyArray<PatchOperation> => {
  const missing = Object.entries(wanted).filter(([key, value]) => present?.[key] !== value)
  if (missing.length === 0) return []
  if (present === undefined) return [{ op: "add", path, value: Object.fromEntries(missing) }]
  return missing.map(([key, value]) => ({ op: "add", path: `${path}/${escaped(key)}`, value }))
}

/** RFC 6901. */
const escaped = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1")
