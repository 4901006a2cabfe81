/** The recorder's Deployment and its configuration. */
import { quantityOf, wholeUnits } from "../kube/offline.ts"
import {
  bracketed,
  defaultSharing,
  exportMegabytes,
  includedInThreeKinds as included,
  mailboxMegabytes,
  measuredMemory,
  podVariables,
  usualMegabytes,
  volumeVariable,
  watchedKinds,
  watcherWorkers,
  worstMegabytes,
} from "../recorder/index.ts"
import { type Manifest, manifest } from "./manifest/manifest.ts"
import { claimSpec, deployment } from "./manifest/objects.ts"
import {
  type Authentication,
  accountOf,
  httpPort,
  leaseLabel,
  type ManifestSettings,
  metadataOf,
  type SecretKey,
} from "./manifest/settings.ts"

// Resource requests and limits of the recorder's container, from measurements (memory-shares.ts and bench/results/ingest.md). The
// formulas are printed beside the numbers, for users who tune them.

/** µs of CPU time per change, the whole process. */
const microsecondsPerChange = 10.3
/** CPU for the first lists: 100,000 Pods take 8.6 s of CPU time, which is 43 s at this share of a core. */
const listingMillicores = 200

/**
 * What a node has to have free at most: 2 GiB hold 30 million events, and the default size of 10 GiB would keep the pod off every node with a
 * small disk, although it may never be used.
 */
const largestStorageRequest = 2 * 2 ** 30

/** The request for an emptyDir of that size. */
const storageRequest = (size: string): string =>
  (quantityOf(size) ?? 0) > largestStorageRequest ? `${largestStorageRequest / 2 ** 30}Gi` : size

interface PodResources {
  readonly requests: { readonly cpu: string; readonly memory: string; readonly "ephemeral-storage"?: string }
  /** No CPU limit: the API server closes a watch whose reader is throttled for about 100 ms. */
  readonly limits: { readonly memory: string }
  /** Lines that explain how the numbers are computed. */
  readonly formula: ReadonlyArray<string>
}

/** Kinds that a recorder of every kind is made for: those of Kubernetes, and a hundred of custom resources. */
const everyKindCount = 150

const podResources = ({
  kinds: tracked,
  isEveryKind,
  expectedObjects,
  expectedChangesPerSecond,
  volume,
  archiveTo,
  replicas,
}: Pick<
  ManifestSettings,
  "kinds" | "isEveryKind" | "expectedObjects" | "expectedChangesPerSecond" | "volume" | "archiveTo" | "replicas"
>): PodResources => {
  const { count = 1, shards = 1 } = replicas ?? {}
  const [own, most] = [count, Math.max(1, count - 1)].map((alive) => Math.ceil(shards / alive)) as [number, number]
  const objects = expectedObjects / shards
  const archivist = archiveTo === undefined ? 0 : measuredMemory.archivist
  const { threeKinds, furtherKind, sharedKind, thousandObjects } = measuredMemory
  const named = watchedKinds(tracked).kinds.length
  const kinds = isEveryKind ? Math.max(named, everyKindCount) : named
  const usual = own * (usualMegabytes(kinds, objects) + archivist)
  const worst = most * (worstMegabytes(kinds, objects) + archivist)
  const changes = (expectedChangesPerSecond * microsecondsPerChange) / 1000
  const memory = mebibytes(usual)
  const cpu = Math.ceil((own * (listingMillicores + changes)) / 10) * 10
  return {
    requests: { cpu: `${cpu}m`, memory, ...(!volume.isClaim && { "ephemeral-storage": storageRequest(volume.size) }) },
    limits: { memory: mebibytes(worst) },
    formula: [
      kinds <= defaultSharing.aloneUpTo
        ? `memory in MB: ${threeKinds} for ${included.kinds} kinds under load + ${furtherKind} per further kind (${kinds} are watched)`
        : `memory in MB: ${threeKinds} for ${included.kinds} kinds under load + ${furtherKind} per further worker (at most ${watcherWorkers(kinds)} for ${kinds} kinds) + ${sharedKind} per kind beyond ${defaultSharing.aloneUpTo}`,
      `  + ${thousandObjects} per 1,000 objects beyond ${included.objects} (${expectedObjects} are expected) = ${Math.ceil(usual)}; the limit`,
      `  adds ${Math.ceil(mailboxMegabytes(kinds))} for mailboxes while the disk is full, ${Math.ceil(exportMegabytes(expectedObjects))} for an export`,
      `  and ${measuredMemory.reader} for queries of the recording.`,
      ...(archivist === 0 ? [] : [`  ${archivist} of it are for what is archived.`]),
      ...(replicas === undefined
        ? []
        : [
            `All that for each shard, with its part of the objects: ${own} of ${shards} while all replicas live; the limit is for the`,
            `  ${most} of a replica while another one is gone. Each shard receives every change of the kinds that are split.`,
          ]),
      `cpu: ${listingMillicores}m for the first lists + ${microsecondsPerChange} µs for each of ${expectedChangesPerSecond} changes per second. No limit: the API server`,
      "  closes watches whose reader is throttled.",
      ...(volume.isClaim
        ? []
        : [
            "ephemeral-storage: the emptyDir, at most 2Gi, so that small nodes fit. A full node first evicts pods that exceed",
            "  their requests: raise it for a recording that will be larger.",
          ]),
    ],
  }
}

/** Megabytes rounded up to 16 MiB. */
const mebibytes = (megabytes: number): string => `${Math.ceil((megabytes * 1e6) / 2 ** 24) * 16}Mi`

/** Mount paths in the container; none of them exists in the image. */
const configurationDirectory = "/etc/kubereel"
const configurationFile = "tracer.yml"
const volumeDirectory = "/var/lib/kubereel"
const tokenDirectory = "/etc/kubereel-tokens"
const redactionDirectory = "/etc/kubereel-redaction"

/**
 * s from SIGTERM to SIGKILL. The recorder shuts down in less than 15 s, most of it on a slow disk; blocks that are not sealed by then
 * are on disk all the same and are sealed at the next start.
 */
const gracePeriodSeconds = 60

/**
 * A ConfigMap without a hash in its name: the recorder reloads it when it changes, whereas a new name would start a new pod for
 * every change.
 */
export const configMap = (settings: ManifestSettings): Manifest =>
  manifest({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: metadataOf(settings),
    data: { [configurationFile]: settings.configuration },
  })

/** The command line of the container, after the image's entry point `reel`. */
const containerArguments = (settings: ManifestSettings): ReadonlyArray<string> => [
  "record",
  `--config=${configurationDirectory}/${configurationFile}`,
  // A subdirectory, because the volume's root may belong to root and contain lost+found.
  `--data-dir=${volumeDirectory}/recording`,
  `--listen=${bracketed(settings.bind)}:${httpPort}`,
  "--log-format=json",
  ...settings.retention,
  ...(settings.lease === undefined ? [] : [`--lease=${settings.namespace}/${settings.lease}`]),
  ...replicaArguments(settings),
  ...(settings.fsync === "interval" ? [] : [`--fsync=${settings.fsync}`]),
  ...(settings.recordedNamespaces.length === 0 ? [] : [`--namespace=${settings.recordedNamespaces.join(",")}`]),
  ...(settings.secretsInPlainText ? ["--secrets-in-plain-text"] : []),
  ...(settings.redactKeySecret === undefined
    ? []
    : [`--redact-key-file=${redactionDirectory}/${settings.redactKeySecret.key}`]),
  ...(settings.replicas === undefined ? authenticationArguments(settings.authentication) : []),
  ...(settings.archiveTo === undefined ? [] : [`--archive-to=${settings.archiveTo}`]),
  ...settings.allowedTargets.map((place) => `--allow-target=${place}`),
]

const replicaArguments = ({ namespace, name, replicas }: ManifestSettings): ReadonlyArray<string> =>
  replicas === undefined
    ? []
    : [
        `--replicas-lease=${namespace}/${name}`,
        `--shards=${replicas.shards}`,
        ...(replicas.split.length === 0 ? [] : [`--split=${replicas.split.join(",")}`]),
      ]

const authenticationArguments = (authentication: Authentication): ReadonlyArray<string> => {
  switch (authentication.tag) {
    case "none":
      // The network policy then decides who can reach the port; the recorder requires an explicit option for that.
      return ["--allow-anonymous"]
    case "kubernetes":
      return ["--auth=kubernetes"]
    case "token":
      return ["--auth=token", `--token-file=${tokenDirectory}/${authentication.secret.key}`]
  }
}

export const recorderDeployment = (settings: ManifestSettings): Manifest => {
  const { requests, limits, formula } = podResources(settings)
  const { targetSecret, authentication, redactKeySecret, volume, replicas } = settings
  const lease = replicas === undefined ? settings.lease : settings.name
  const secrets = [
    ...(authentication.tag === "token" && replicas === undefined
      ? [{ name: "tokens", mountPath: tokenDirectory, secret: authentication.secret }]
      : []),
    ...(redactKeySecret === undefined
      ? []
      : [{ name: "redaction-key", mountPath: redactionDirectory, secret: redactKeySecret }]),
  ]
  const standby =
    lease === undefined || replicas !== undefined
      ? ""
      : "\nA recorder that stands by is not ready, so that the Service leads to the one that records."
  return deployment({
    ...metadataOf(settings),
    container: "recorder",
    account: accountOf(settings),
    image: settings.image,
    args: containerArguments(settings),
    env: environment(settings),
    ...(targetSecret !== undefined && { envFrom: [{ secretRef: { name: targetSecret } }] }),
    port: httpPort,
    resources: { requests, limits },
    graceSeconds: gracePeriodSeconds,
    replicas: replicas?.count ?? 1,
    ...(replicas !== undefined && {
      stateful: {
        volumeClaimTemplates: volume.isClaim ? [{ metadata: { name: "recording" }, spec: claimSpec(volume) }] : [],
      },
    }),
    ...(lease !== undefined && { podLabels: { [leaseLabel]: lease }, placement: { affinity: apartFrom(lease) } }),
    volumeMounts: [
      { name: "configuration", mountPath: configurationDirectory, readOnly: true },
      { name: "recording", mountPath: volumeDirectory },
      ...secrets.map(({ name, mountPath }) => ({ name, mountPath, readOnly: true })),
    ],
    volumes: [
      { name: "configuration", configMap: { name: settings.name } },
      ...(volume.isClaim && replicas !== undefined
        ? []
        : [
            {
              name: "recording",
              ...(volume.isClaim
                ? { persistentVolumeClaim: { claimName: settings.name } }
                : { emptyDir: { sizeLimit: volume.size } }),
            },
          ]),
      ...secrets.map(({ name, secret }) => secretVolume(name, secret)),
    ],
    texts: {
      ...(replicas === undefined && {
        strategy: "Only one recorder at a time can use the recording: it is locked.",
      }),
      resources: formula.join("\n"),
      liveness: "Succeeds while the process is alive, regardless of the API server.",
      readiness:
        replicas !== undefined
          ? "Succeeds while each shard of this replica is recorded, or stands by for another one that still records it. The response says why not."
          : `Succeeds once every kind has finished its first list and something is being recorded. The response says why not; ?verbose shows the state of each kind.${standby}`,
    },
  })
}

/** Of two recorders on one node, neither outlives it. Preferred, so that a cluster of one node can run both. */
const apartFrom = (lease: string) => {
  const labelSelector = { matchLabels: { [leaseLabel]: lease } }
  const podAffinityTerm = { labelSelector, topologyKey: "kubernetes.io/hostname" }
  return { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm }] } }
}

/** Mounted as a directory, so that changes of the Secret arrive: the recorder reads the file of tokens again for each request. */
const secretVolume = (name: string, { name: secretName, key }: SecretKey) => ({
  name,
  // Readable by its group, which is the pod's fsGroup.
  secret: { secretName, defaultMode: 0o440, items: [{ key, path: key }] },
})

const environment = ({ volume }: Pick<ManifestSettings, "volume">) => [
  // For temporary files of SQLite and Node: no other directory is writable.
  { name: "TMPDIR", value: volumeDirectory },
  // For Events on the recorder's own pod.
  ...Object.entries(podVariables).map(([name, fieldPath]) => ({ name, valueFrom: { fieldRef: { fieldPath } } })),
  // The limit of the emptyDir, which nothing else tells the process. A claim's is that of its file system.
  ...(volume.isClaim ? [] : [{ name: volumeVariable, value: String(wholeUnits(volume.size)) }]),
]
