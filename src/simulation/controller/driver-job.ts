/**
 * The Job that runs the driver: a pod for each repetition, one after the other. Its form is SimKube's (docs/facts/simkube.md), so that either driver's image works in it, and what SimKube lacks: the
 * port as an argument (W-50), an account of its own (W-58), a probe, limits on what the container may do.
 */
import type { ApiObject, Condition, Metadata, ObjectBase, OwnerReference } from "../../kube/index.ts"
import { derivedNames, simulationLabel } from "../api/derived-names.ts"
import type { Simulation } from "../api/simulation.ts"

// What marks an object as belonging to a Simulation: SimKube's labels and ours, and an owner whose deletion removes it.

/** On everything that the controller creates. */
export const managedBy = { "app.kubernetes.io/managed-by": "kubereel" } as const

const longestLabel = 63

/** SimKube's form of a value that is too long for a label. */
const labelValue = (value: string): string => (value.length <= longestLabel ? value : `${value.slice(0, 59)}XXXX`)

/** `name`: of the labelled object. */
export const labelsOf = (simulation: string, name: string): Readonly<Record<string, string>> => ({
  [simulationLabel]: labelValue(simulation),
  "app.kubernetes.io/name": labelValue(name),
  ...managedBy,
})

/** The deletion of the owner in the foreground waits for what refers to it so. It is no controller, as in SimKube: its tools look for that. */
export const ownedBy = ({ apiVersion, kind, metadata: { name, uid = "" } }: ApiObject): OwnerReference => ({
  apiVersion,
  kind,
  name,
  uid,
  blockOwnerDeletion: true,
})

/** By UID: a new owner of the same name does not own it. */
export const isOwnedBy = (object: ObjectBase, owner: ObjectBase): boolean =>
  object.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) === true

/** The metadata of an object that belongs to the simulation and is deleted with `owner`. */
export const belonging = (simulation: string, owner: ApiObject, name: string, namespace?: string): Metadata => ({
  name,
  ...(namespace !== undefined && { namespace }),
  labels: labelsOf(simulation, name),
  ownerReferences: [ownedBy(owner)],
})

/** As far as the controller reads it. */
export interface Job extends ApiObject {
  readonly status?: {
    readonly startTime?: string
    readonly succeeded?: number
    readonly ready?: number
    readonly conditions?: ReadonlyArray<Condition>
  }
}

/** Selects pods of drivers, among all those that bear the label of a simulation because it replays them. */
export const driverComponent = { "app.kubernetes.io/component": "simulation-driver" } as const
/** ServiceAccount of driver pods, in their namespace. */
const driverAccount = "sk-driver"
/** Annotation with which a Simulation says that its local trace is in the image. */
const skipMountAnnotation = "controller.simkube.io/skip-local-volume-mount"

/** One for each simulation; SimKube's fixed name allows one in a namespace (W-58). */
export const certificateSecret = (simulation: string): string => `sk-${simulation}-driver-cert`

const certificateDirectory = "/usr/local/etc/ssl"
/** No user of the image or the node. */
const userId = 65_532
/** SimKube's, so that the files of the certificate are readable by its images. */
const groupId = 2000

/** `controllerNamespace`: that of `sk-lease`, which SimKube's driver looks up. */
export const driverJob = (simulation: Simulation, controllerNamespace: string): ApiObject => {
  const { name } = simulation.metadata
  const { driver, repetitions } = simulation.spec
  const job = derivedNames(name).driver
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      ...belonging(name, simulation, job, driver.namespace),
      labels: { ...labelsOf(name, job), ...driverComponent },
    },
    spec: {
      parallelism: 1,
      completions: repetitions ?? 1,
      completionMode: "Indexed",
      backoffLimit: 0,
      // A pod that hangs must have ended before the next repetition may begin.
      podReplacementPolicy: "Failed",
      template: {
        metadata: { labels: { ...labelsOf(name, job), ...driverComponent } },
        spec: {
          restartPolicy: "Never",
          serviceAccountName: driverAccount,
          // The driver removes what it has created.
          terminationGracePeriodSeconds: 120,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: userId,
            fsGroup: groupId,
            seccompProfile: { type: "RuntimeDefault" },
          },
          containers: [containerOf(simulation, controllerNamespace)],
          volumes: [
            { name: "driver-cert", secret: { secretName: certificateSecret(name), defaultMode: 0o600 } },
            // The driver records what the replay does, and its user may write nowhere else.
            { name: "temporary", emptyDir: {} },
            ...localTrace(simulation).map((path) => ({ name: "trace-data", hostPath: { path, type: "File" } })),
          ],
        },
      },
    },
  }
}

const containerOf = (simulation: Simulation, controllerNamespace: string): object => {
  const { driver } = simulation.spec
  return {
    name: "driver",
    image: driver.image,
    command: ["/sk-driver"],
    args: [
      ...["--cert-path", `${certificateDirectory}/tls.crt`, "--key-path", `${certificateDirectory}/tls.key`],
      ...["--trace-path", traceUrl(driver.tracePath), "--sim-name", simulation.metadata.name],
      ...["--controller-ns", controllerNamespace, "--admission-webhook-port", String(driver.port)],
      ...(driver.args ?? []),
    ],
    env: [{ name: "DRIVER_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
    envFrom: (driver.secrets ?? []).map((name) => ({ secretRef: { name, optional: false } })),
    ports: [{ name: "webhook", containerPort: driver.port, protocol: "TCP" }],
    readinessProbe: { tcpSocket: { port: driver.port }, periodSeconds: 2, failureThreshold: 3 },
    resources: { requests: { cpu: "100m", memory: "256Mi" } },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
    volumeMounts: [
      { name: "driver-cert", mountPath: certificateDirectory, readOnly: true },
      { name: "temporary", mountPath: "/tmp" },
      ...localTrace(simulation).map((mountPath) => ({ name: "trace-data", mountPath, readOnly: true })),
    ],
  }
}

/** SimKube's driver knows no bare paths (W-55). */
const traceUrl = (address: string): string => (address.startsWith("/") ? `file://${address}` : address)

/** The path of a trace on the node, if it is to be mounted. */
const localTrace = ({ metadata, spec }: Simulation): ReadonlyArray<string> => {
  if (metadata.annotations?.[skipMountAnnotation] === "true") return []
  const { tracePath } = spec.driver
  if (tracePath.startsWith("/")) return [tracePath]
  const path = /^file:(?:\/\/(?:localhost)?)?(\/.*)$/.exec(tracePath)?.[1]
  return path === undefined ? [] : [path]
}

// Where drivers run and as whom: a namespace, a ServiceAccount in it, and its binding to the role of drivers. They are shared by all simulations of the
// namespace, and stay when one of them is deleted (W-58).

/** Aggregated: the administrator adds the kinds of the traces. The controller may bind this role and no other. */
export const driverRole = "kubereel-simulation-driver"

/** In the order of their creation. */
export const driverAccountObjects = (namespace: string): ReadonlyArray<ApiObject> => [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels: managedBy } },
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: driverAccount, namespace, labels: managedBy } },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: `${driverAccount}-${namespace}`, labels: managedBy },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: driverRole },
    subjects: [{ kind: "ServiceAccount", name: driverAccount, namespace }],
  },
]
