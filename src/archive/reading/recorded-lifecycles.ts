/**
 * The lifecycles that a recording has of pods, each under the uppermost owner of which it knows. For readers without the Pods themselves,
 * which show more.
 */
import { namespacedName, type OwnedLifecycles, type PodLifecycle } from "../../trace/formats/simkube/simkube-trace.ts"
import type { OwnerReference } from "../../trace/ownership/owner-references.ts"
import { podKind } from "../../trace/pods/pod-lives-kind.ts"
import type { ArchiveReader } from "../archive-reader.ts"
import type { PodLifeSelection, RecordedPodLife } from "../rows/pod-lives.ts"

/** A chain that is longer is a circle. */
const deepestChain = 8

/** One pod at a time, in the order in which they first ran. Throws CorruptArchiveError and ArchiveIoError. */
export function* recordedLifecycles(
  reader: Pick<ArchiveReader, "podLives" | "ownersOf">,
  selection: PodLifeSelection,
): Generator<OwnedLifecycles, void> {
  for (const life of reader.podLives(selection)) {
    const { specHash, start, end } = life
    const lifecycle: PodLifecycle = end === undefined ? { state: "running", start } : { state: "finished", start, end }
    yield { ...uppermost(reader, life, selection.untilTime), pods: new Map([[specHash, [lifecycle]]]) }
  }
}

const uppermost = (
  reader: Pick<ArchiveReader, "ownersOf">,
  { namespace, name, ownerReferences }: RecordedPodLife,
  time: number | undefined,
): { readonly gvk: string; readonly owner: string } => {
  let place = { gvk: podKind, owner: namespacedName(namespace, name) }
  let owner = controllerIn(ownerReferences)
  for (let depth = 0; owner !== undefined && depth < deepestChain; depth++) {
    const edge = reader.ownersOf(owner, time)
    const at = edge === undefined || edge.source === "gone" ? namespace : edge.namespace
    place = { gvk: `${owner.apiVersion}.${owner.kind}`, owner: namespacedName(at, owner.name) }
    owner = edge && controllerIn(edge.ownerReferences)
  }
  return place
}

const controllerIn = (references: ReadonlyArray<OwnerReference>): OwnerReference | undefined =>
  references.find(({ controller }) => controller)
