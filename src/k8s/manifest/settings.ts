/** All settings of the manifests. The command line provides them; nothing is read from elsewhere. */
import type { TrackedKind } from "../../recorder/index.ts"
import type { Permissions } from "../rights/permissions.ts"

/** Where the recording is kept. */
interface Volume {
  /** Kubernetes quantity such as `10Gi`: the limit of an emptyDir, the request of a claim. */
  readonly size: string
  /** Whether a PersistentVolumeClaim keeps the recording when the pod is deleted. */
  readonly isClaim: boolean
  /** StorageClass of the claim; `undefined`: the cluster's default. */
  readonly storageClass: string | undefined
}

/** Who may export: anyone who can reach the port, users whom the API server authorises, or anyone with a token from a Secret. */
export type Authentication =
  | { readonly tag: "none" }
  | { readonly tag: "kubernetes" }
  | { readonly tag: "token"; readonly secret: SecretKey }

/** A value of a Secret in the recorder's namespace. */
export interface SecretKey {
  readonly name: string
  readonly key: string
}

interface Replicas {
  readonly count: number
  readonly shards: number
  /** Kinds that are in every shard, as `--split` takes them. */
  readonly split: ReadonlyArray<string>
}

/** Another key of that Secret, with a single token for Prometheus. */
export const metricsKey = "metrics"

export interface ManifestSettings {
  /** Name of the Deployment and, unless stated otherwise, of all other objects. */
  readonly name: string
  /** The namespace that the recorder runs in, not the one it records. */
  readonly namespace: string
  readonly image: string
  /** Version of kubereel, for the label. */
  readonly version: string
  /** The text of the configuration file, including comments. */
  readonly configuration: string
  /** The kinds in that file, restricted to `recordedNamespaces`. */
  readonly kinds: ReadonlyArray<TrackedKind>
  /** Whether every other kind of the server is recorded too. */
  readonly isEveryKind: boolean
  /** `--namespace` of the recorder; empty: the whole cluster. */
  readonly recordedNamespaces: ReadonlyArray<string>
  readonly secretsInPlainText: boolean
  /** Where the key for redacted values is; `undefined`: in the data directory. */
  readonly redactKeySecret: SecretKey | undefined
  readonly permissions: Permissions
  readonly volume: Volume
  /** Arguments of the recorder that say how much it keeps. */
  readonly retention: ReadonlyArray<string>
  readonly fsync: "interval" | "always"
  /** Name of the Lease, in the same namespace, that chooses one of several recorders; also of the Service that leads to it. `undefined`: there is one recorder. */
  readonly lease: string | undefined
  /** Replicas that share the shards of the cluster; `undefined`: one recorder has everything. */
  readonly replicas: Replicas | undefined
  readonly authentication: Authentication
  /** Object store locations that the recorder may write traces to, as its `--allow-target` takes them. */
  readonly allowedTargets: ReadonlyArray<string>
  /** Where the recording is archived, as the recorder's `--archive-to` takes it; `undefined`: nowhere. */
  readonly archiveTo: string | undefined
  /** ServiceAccount of the pod, which exists and to which the cluster's provider gives rights to a store; `undefined`: one is made. */
  readonly serviceAccount: string | undefined
  /** TCP ports of all these stores. */
  readonly targetPorts: ReadonlyArray<number>
  /** Secret with the environment variables that hold the credentials for those stores; `undefined`: none. */
  readonly targetSecret: string | undefined
  /** Address to listen on within the pod: `0.0.0.0`, or `::` where pods have no IPv4 address. */
  readonly bind: string
  /** Objects of the tracked kinds that exist at the same time. */
  readonly expectedObjects: number
  /** Their changes per second at peak. */
  readonly expectedChangesPerSecond: number
  /** TCP ports that the API server listens on, behind its Service. */
  readonly apiServerPorts: ReadonlyArray<number>
  /** CIDR blocks that may reach the recorder, in addition to the pods with the label `kubereel.dev/export: allowed`. */
  readonly allowedBlocks: ReadonlyArray<string>
  /** Whether to add objects of the Prometheus operator and a Grafana dashboard. */
  readonly monitoring: boolean
  /** Namespace of the Prometheus that scrapes the recorder. */
  readonly monitoringNamespace: string
}

/** Port of the recorder's HTTP interface, as for `reel record`. */
export const httpPort = 7777

/** User and group of the process: distroless' nonroot, the only user of the image besides root. */
export const userId = 65_532

/** Labels of all objects. `component`: what runs. */
export const labelsOf = ({
  name,
  version,
  component = "recorder",
}: Pick<ManifestSettings, "name" | "version"> & {
  readonly component?: "recorder" | "host" | "simulation-controller"
}) => ({
  ...selectorOf({ name }),
  "app.kubernetes.io/component": component,
  "app.kubernetes.io/part-of": "kubereel",
  "app.kubernetes.io/version": version,
})

/** Of most objects of a recorder. */
export const metadataOf = (settings: Pick<ManifestSettings, "name" | "namespace" | "version">) => ({
  name: settings.name,
  namespace: settings.namespace,
  labels: labelsOf(settings),
})

/** Name of the ServiceAccount of the pod. */
export const accountOf = ({ serviceAccount, name }: Pick<ManifestSettings, "serviceAccount" | "name">): string =>
  serviceAccount ?? name

/** Label of the pods of all recorders with one Lease; its value is the name of the Lease. */
export const leaseLabel = "kubereel.dev/lease"

/** Labels by which pods are selected. They must never change, because a Deployment's selector is immutable. */
export const selectorOf = ({ name }: Pick<ManifestSettings, "name">) => ({
  "app.kubernetes.io/name": "kubereel",
  "app.kubernetes.io/instance": name,
})
