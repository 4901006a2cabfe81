/** What manifests do not bring along, so that a cluster without it shows why in an event of a pod or in kubectl's refusal; said on standard error. */

/** `kinds`: of the Prometheus operator, if there are any. */
interface Prerequisites {
  /** As given; default: the image of this version, which is in no public registry. */
  readonly image: string | undefined
  readonly version: string
  readonly monitoringKinds: ReadonlyArray<string>
}

/** The default name of the image. */
export const defaultImage = (version: string): string => `kubereel:${version}`

/** One sentence each. */
export const prerequisites = ({ image, version, monitoringKinds }: Prerequisites): ReadonlyArray<string> => [
  image === undefined
    ? `the nodes must have the image ${defaultImage(version)}: build it with the Containerfile and load it, or push it and name it with --image`
    : `the nodes must be able to pull the image ${image}`,
  ...(monitoringKinds.length === 0
    ? []
    : [`the cluster must have the Prometheus operator, for ${monitoringKinds.join(" and ")}`]),
]
