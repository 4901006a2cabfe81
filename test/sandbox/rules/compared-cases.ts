/** Cases in which our responses once differed from the real server's, found by the conformance scripts. */

import type { Fields } from "../../../src/sandbox/rules/kind-rules.ts"
import { deployments, job, jobs, pod, pods, service, services, template, workload } from "./manifests.ts"
import { create, customGroup, modify, type RulesCase } from "./rules-case.ts"

const claims = "v1/persistentvolumeclaims"
const drivers = "storage.k8s.io/v1/csidrivers"
const bindings = "rbac.authorization.k8s.io/v1/rolebindings"
const limits = "v1/limitranges"
const templates = "v1/podtemplates"

const claim = { accessModes: ["ReadWriteOnce"], storageClassName: "none", resources: { requests: { storage: "1Gi" } } }
const driver = { metadata: { name: "kubereel.example.com" }, spec: {} }

const storageCases = [
  modify(
    claims,
    "claim enlarged before it is bound",
    { spec: claim },
    { spec: { resources: { requests: { storage: "2Gi" } } } },
  ),
  modify(claims, "claim made smaller", { spec: claim }, { spec: { resources: { requests: { storage: "1Mi" } } } }),
  modify(claims, "claim given to a volume", { spec: claim }, { spec: { volumeName: "one" } }),
  modify(
    claims,
    "claim changed all over",
    { spec: claim },
    {
      spec: {
        accessModes: ["ReadWriteOnce", "ReadOnlyMany"],
        selector: { matchLabels: { a: "b" } },
        resources: { limits: { storage: "3Gi" } },
        volumeMode: "Block",
        volumeName: "one",
        dataSource: { kind: "PersistentVolumeClaim", name: "other" },
      },
    },
  ),
  modify(drivers, "driver's group policy changed", driver, { spec: { fsGroupPolicy: "None" } }),
  modify(drivers, "driver's life cycle changed", driver, { spec: { volumeLifecycleModes: ["Ephemeral"] } }),
  modify(drivers, "driver told more of its pods", driver, {
    spec: { podInfoOnMount: true, requiresRepublish: true, storageCapacity: true },
  }),
]

const gone = { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 3 }

const metadataCases = [
  create("v1/configmaps", "map said to be going", { metadata: { name: "web", ...gone } }),
  create(pods, "pod said to be going", { metadata: { name: "web", ...gone }, ...pod() }),
  create(`${customGroup}/v1/doors`, "custom object said to be going", { metadata: { name: "web", ...gone } }),
  modify("v1/configmaps", "map said to be going by an update", {}, { metadata: gone }),
]

const reference = { kind: "Role", name: "web" }

const accessCases = [
  create(bindings, "binding without the group of its role", { roleRef: reference }),
  create(bindings, "binding with an empty group of its role", { roleRef: { ...reference, apiGroup: "" } }),
  create(bindings, "binding without a role", {}),
]

const templateCases = [
  create(templates, "template", { template }),
  create(templates, "template without containers", { template: { metadata: { labels: { a: "b c" } }, spec: {} } }),
  create(templates, "template of another restart policy", {
    template: { spec: { ...template.spec, restartPolicy: "Never", activeDeadlineSeconds: 0 } },
  }),
  create(templates, "template of nothing", {}),
  modify(
    templates,
    "template, image changed",
    { template },
    {
      metadata: { generation: 7 },
      template: { spec: { containers: [{ name: "app", image: "x", imagePullPolicy: "Never" }] } },
    },
  ),
]

const limitCases = [
  create(limits, "limits that are null", { spec: { limits: null } }),
  create(limits, "limits without any", { spec: {} }),
  create(limits, "limits that are empty", { spec: { limits: [] } }),
  create(limits, "limits without a spec", {}),
]

const toleration = { key: "a", operator: "Exists" }

const podChanges = [
  modify(pods, "pod without its standard tolerations", pod(), { spec: { tolerations: [] } }),
  modify(pods, "pod without its own toleration", pod({ tolerations: [toleration] }), { spec: { tolerations: [] } }),
  modify(pods, "pod with one more toleration", pod(), { spec: { tolerations: [toleration] } }),
]

const external = { type: "ExternalName", externalName: "example.com" }

const serviceChanges = [
  modify(services, "service made external at last", service(), { spec: external }),
  modify(services, "node ports made external", service({ type: "NodePort" }), { spec: external }),
  modify(services, "external with another policy", service(), {
    spec: { ...external, internalTrafficPolicy: "Local" },
  }),
  modify(services, "external made local", service(external), { spec: { type: "ClusterIP", externalName: null } }),
]

const labels = { matchLabels: { app: "web", x: "y" } }

const workloadChanges = [
  modify("apps/v1/daemonsets", "selector of a daemon set changed to no match", workload(), {
    spec: { selector: labels },
  }),
  modify(deployments, "selector of a deployment changed to no match", workload(), { spec: { selector: labels } }),
  modify("apps/v1/replicasets", "selector of a replica set changed to no match", workload(), {
    spec: { selector: labels },
  }),
  modify(jobs, "rich template of a job changed", job(), {
    spec: {
      template: {
        metadata: { annotations: { c: "d" } },
        spec: {
          restartPolicy: "OnFailure",
          nodeSelector: { a: "b" },
          hostNetwork: true,
          priorityClassName: "some",
          securityContext: { runAsUser: 7, fsGroup: 8 },
          tolerations: [{ key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 }],
          imagePullSecrets: [{ name: "x" }],
          volumes: [
            { name: "a", emptyDir: { sizeLimit: "1Gi" } },
            { name: "b", configMap: { name: "m", items: [{ key: "k", path: "p" }] } },
            { name: "c", secret: { secretName: "s" } },
          ],
          initContainers: [{ name: "init", image: "y", restartPolicy: "Always" }],
          containers: [
            {
              name: "app",
              image: "x",
              command: ["a"],
              args: ["b", "<c>"],
              ports: [{ containerPort: 80, hostPort: 80 }],
              env: [
                { name: "A", value: "1" },
                { name: "B", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
                { name: "C", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
              ],
              envFrom: [{ prefix: "X", configMapRef: { name: "m" } }],
              resources: { requests: { cpu: "0.5", memory: "1Gi" }, limits: { cpu: 1 } },
              volumeMounts: [{ name: "a", mountPath: "/a", readOnly: true }],
              livenessProbe: { httpGet: { path: "/", port: 80 } },
              readinessProbe: { exec: { command: ["true"] }, periodSeconds: 7 },
              startupProbe: { tcpSocket: { port: "web" } },
              lifecycle: { preStop: { exec: { command: ["x"] } } },
              securityContext: { privileged: true, capabilities: { add: ["NET_ADMIN"] } },
              stdin: true,
            },
          ],
        },
      },
    },
  }),
]

/** A status in which every counter is zero, every text empty. */
const zeros = (path: string, object: Fields, ...counters: ReadonlyArray<string>): RulesCase =>
  modify(
    path,
    `status of zeros: ${path}`,
    object,
    { status: Object.fromEntries(counters.map((counter) => [counter, 0])) },
    "status",
  )

const counted = ["replicas", "readyReplicas", "availableReplicas", "observedGeneration"]

const zeroCases = [
  zeros(
    deployments,
    workload({ paused: true }),
    ...counted,
    "updatedReplicas",
    "unavailableReplicas",
    "collisionCount",
    "terminatingReplicas",
  ),
  zeros("apps/v1/replicasets", workload({ replicas: 0 }), ...counted, "fullyLabeledReplicas", "terminatingReplicas"),
  zeros(
    "apps/v1/statefulsets",
    workload({ replicas: 0 }),
    ...counted,
    "currentReplicas",
    "updatedReplicas",
    "collisionCount",
  ),
  zeros(
    "apps/v1/daemonsets",
    workload(),
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
  ),
  zeros(jobs, job({ suspend: true }), "active", "succeeded", "failed", "terminating", "ready"),
  zeros(
    "policy/v1/poddisruptionbudgets",
    { spec: { minAvailable: 1, selector: { matchLabels: { a: "b" } } } },
    "observedGeneration",
    "disruptionsAllowed",
    "currentHealthy",
    "desiredHealthy",
    "expectedPods",
  ),
  zeros(
    "v1/replicationcontrollers",
    { spec: { replicas: 0, selector: { app: "web" }, template } },
    ...counted,
    "fullyLabeledReplicas",
  ),
]

export const comparedCases = [
  ...storageCases,
  ...metadataCases,
  ...accessCases,
  ...templateCases,
  ...limitCases,
  ...podChanges,
  ...serviceChanges,
  ...workloadChanges,
  ...zeroCases,
]
