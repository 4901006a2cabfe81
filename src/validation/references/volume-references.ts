/** Volumes whose contents come from a Secret, a ConfigMap or a claim, also as one of the sources of a projected volume. */
import type { JsonObject } from "../../trace/json/exact-json.ts"
import { withMember } from "../../trace/json/members.ts"
import type { Fix, Need, Place, Removal, TracedObject } from "../rule.ts"
import { withEntries, withoutEntries } from "./list-entries.ts"
import { containerLists, listIn, objectIn, podSpecsOf, textIn, withPodSpecs } from "./pod-specs.ts"

/** Which references. */
interface VolumeSource {
  /** Kind without version. */
  readonly kind: string
  /** The member of a volume, and the member of that with the name. */
  readonly member: string
  readonly nameMember: string
  /** The member of a projected source; `undefined`: it cannot be projected. */
  readonly projected: string | undefined
  /** Names that every namespace has. */
  readonly isExempt?: (name: string) => boolean
}

const mountLists = ["volumeMounts", "volumeDevices"] as const

const requiredName = (reference: JsonObject | undefined, member: string, source: VolumeSource): string => {
  const name = reference?.optional === true ? "" : textIn(reference, member)
  return source.isExempt?.(name) === true ? "" : name
}

const projectedName = (entry: JsonObject, source: VolumeSource): string =>
  source.projected === undefined ? "" : requiredName(objectIn(entry, source.projected), "name", source)

/** The needs of all pod specs of an object. */
export function* volumeNeeds(traced: TracedObject, source: VolumeSource): Generator<Need> {
  const { kind, member, nameMember, projected } = source
  const need = (name: string, place: Place): Need => {
    const target = { kind, namespace: traced.namespace, name }
    return { target, kind, name, ...place }
  }
  for (const { spec, path } of podSpecsOf(traced))
    for (const volume of listIn(spec, "volumes")) {
      const name = requiredName(objectIn(volume, member), nameMember, source)
      if (name !== "") yield need(name, { element: `${path}.volumes[*]`, by: `${member}.${nameMember}` })
      for (const entry of listIn(objectIn(volume, "projected") ?? {}, "sources")) {
        const inner = projectedName(entry, source)
        const place = { element: `${path}.volumes[*].projected.sources[*]`, by: `${projected}.name` }
        if (inner !== "") yield need(inner, place)
      }
    }
}

/** Removes the volumes and their mounts, or the source of a projected volume. */
export const volumeFix = (source: VolumeSource): Fix => ({
  removes: "the volumes and their mounts",
  apply: (traced, isMissing) =>
    withPodSpecs(traced, (spec) => {
      const isLost = (name: string): boolean => name !== "" && isMissing(source.kind, name)
      const isLostVolume = (volume: JsonObject): boolean =>
        isLost(requiredName(objectIn(volume, source.member), source.nameMember, source))
      const lost = new Set(
        listIn(spec, "volumes")
          .filter(isLostVolume)
          .map((volume) => textIn(volume, "name")),
      )
      let left = withoutEntries(spec, "volumes", isLostVolume)
      left = withEntries(left, "volumes", (volume) => {
        const projection = objectIn(volume, "projected")
        if (projection === undefined) return volume
        const kept = withoutEntries(projection, "sources", (entry) => isLost(projectedName(entry, source)))
        return kept === projection ? volume : withMember(volume, "projected", kept)
      })
      if (lost.size > 0) for (const list of containerLists) left = withoutMounts(left, list, lost)
      return left
    }),
  removals: ({ element, by }, literal) =>
    element.endsWith(".sources[*]")
      ? [{ where: `$s := ${element} | $s.${by} == ${literal}`, path: "$s" }]
      : [...mountRemovals(element, by, literal), { where: `$v := ${element} | $v.${by} == ${literal}`, path: "$v" }],
})

const withoutMounts = (spec: JsonObject, list: string, volumes: ReadonlySet<string>): JsonObject =>
  withEntries(spec, list, (container) => {
    let left = container
    for (const member of mountLists) left = withoutEntries(left, member, (mount) => volumes.has(textIn(mount, "name")))
    return left
  })

/** Mounts go first: afterwards nothing says which volumes they were of. */
const mountRemovals = (element: string, by: string, literal: string): ReadonlyArray<Removal> => {
  const spec = element.slice(0, element.length - ".volumes[*]".length)
  return containerLists.flatMap((list) =>
    // Only a claim can be a device.
    (by.startsWith("persistentVolumeClaim.") ? mountLists : (["volumeMounts"] as const)).map((member) => ({
      where: `$v := ${element} | $v.${by} == ${literal} && $m := ${spec}.${list}[*].${member}[*] | $m.name == $v.name`,
      path: "$m",
    })),
  )
}
