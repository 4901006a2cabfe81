/** The Deployment, its configuration and the volume of the recording. */
import { wholeUnits } from "../kube/quantity.ts"
import { bracketed } from "../recorder/http/listen-error.ts"
import { volumeVariable } from "../recorder/metrics/disk-metrics.ts"
import { podVariables } from "../recorder/notices/pod-events.ts"
import { type Manifest, manifest } from "./manifest/manifest.ts"
import { containerSecurity, podSecurity, probe } from "./manifest/pod-security.ts"
import {
  type Authentication,
  httpPort,
  labelsOf,
  leaseLabel,
  type ManifestSettings,
  type SecretKey,
  selectorOf,
} from "./manifest/settings.ts"
import { podResources } from "./pod-resources.ts"

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
    metadata: { name: settings.name, namespace: settings.namespace, labels: labelsOf(settings) },
    data: { [configurationFile]: settings.configuration },
  })

export const volumeClaim = ({ volume, ...settings }: ManifestSettings): Manifest =>
  manifest({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: settings.name, namespace: settings.namespace, labels: labelsOf(settings) },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: volume.size } },
      ...(volume.storageClass !== undefined && { storageClassName: volume.storageClass }),
    },
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
  ...(settings.fsync === "interval" ? [] : [`--fsync=${settings.fsync}`]),
  ...(settings.recordedNamespaces.length === 0 ? [] : [`--namespace=${settings.recordedNamespaces.join(",")}`]),
  ...(settings.secretsInPlainText ? ["--secrets-in-plain-text"] : []),
  ...(settings.redactKeySecret === undefined
    ? []
    : [`--redact-key-file=${redactionDirectory}/${settings.redactKeySecret.key}`]),
  ...authenticationArguments(settings.authentication),
  ...settings.allowedTargets.map((place) => `--allow-target=${place}`),
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

export const deployment = (settings: ManifestSettings): Manifest => {
  const { requests, limits, formula } = podResources(settings)
  const container = ["spec", "template", "spec", "containers", 0]
  return manifest(
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: settings.name, namespace: settings.namespace, labels: labelsOf(settings) },
      spec: {
        replicas: 1,
        strategy: { type: "Recreate" },
        selector: { matchLabels: selectorOf(settings) },
        template: {
          metadata: {
            labels: { ...labelsOf(settings), ...(settings.lease !== undefined && { [leaseLabel]: settings.lease }) },
            annotations: { "kubectl.kubernetes.io/default-container": "recorder" },
          },
          spec: podSpec(settings, { requests, limits }),
        },
      },
    },
    { path: ["spec", "strategy"], text: "Only one recorder at a time can use the recording: it is locked." },
    { path: [...container, "resources"], text: formula.join("\n") },
    {
      path: [...container, "livenessProbe"],
      text: "Succeeds while the process is alive, regardless of the API server.",
    },
    {
      path: [...container, "readinessProbe"],
      text: `Succeeds once every kind has finished its first list and something is being recorded. The response says why not; ?verbose shows the state of each kind.${
        settings.lease === undefined
          ? ""
          : "\nA recorder that stands by is not ready, so that the Service leads to the one that records."
      }`,
    },
  )
}

const podSpec = (
  settings: ManifestSettings,
  resources: Record<"requests" | "limits", Readonly<Record<string, string>>>,
) => ({
  serviceAccountName: settings.name,
  automountServiceAccountToken: true,
  enableServiceLinks: false,
  terminationGracePeriodSeconds: gracePeriodSeconds,
  securityContext: podSecurity,
  ...(settings.lease !== undefined && { affinity: apartFrom(settings.lease) }),
  containers: [
    {
      name: "recorder",
      image: settings.image,
      imagePullPolicy: "IfNotPresent",
      args: containerArguments(settings),
      env: environment(settings),
      ...(settings.targetSecret !== undefined && { envFrom: [{ secretRef: { name: settings.targetSecret } }] }),
      ports: [{ name: "http", containerPort: httpPort, protocol: "TCP" }],
      resources,
      startupProbe: { ...probe("/healthz"), periodSeconds: 2, failureThreshold: 60 },
      livenessProbe: { ...probe("/healthz"), periodSeconds: 20, failureThreshold: 6 },
      readinessProbe: { ...probe("/readyz"), periodSeconds: 5, failureThreshold: 2 },
      securityContext: containerSecurity,
      volumeMounts: [
        { name: "configuration", mountPath: configurationDirectory, readOnly: true },
        { name: "recording", mountPath: volumeDirectory },
        ...(settings.authentication.tag === "token"
          ? [{ name: "tokens", mountPath: tokenDirectory, readOnly: true }]
          : []),
        ...(settings.redactKeySecret === undefined
          ? []
          : [{ name: "redaction-key", mountPath: redactionDirectory, readOnly: true }]),
      ],
    },
  ],
  volumes: [
    { name: "configuration", configMap: { name: settings.name } },
    {
      name: "recording",
      ...(settings.volume.isClaim
        ? { persistentVolumeClaim: { claimName: settings.name } }
        : { emptyDir: { sizeLimit: settings.volume.size } }),
    },
    ...(settings.authentication.tag === "token" ? [secretVolume("tokens", settings.authentication.secret)] : []),
    ...(settings.redactKeySecret === undefined ? [] : [secretVolume("redaction-key", settings.redactKeySecret)]),
  ],
})

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
