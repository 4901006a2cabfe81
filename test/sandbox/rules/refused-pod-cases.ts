import { containers, oneContainer, pod, pods } from "./manifests.ts"
import { create } from "./rules-case.ts"

export const refusedPodCases = [
  create(pods, "pod without containers", { spec: {} }),
  create(pods, "pod with a status and a generation", {
    metadata: { name: "web", generation: 7 },
    ...pod(),
    status: { phase: "Running" },
  }),
  create(pods, "pod with a bad name", { metadata: { name: "Web_1" }, ...pod() }),
  create(pods, "pod with a long name", { metadata: { name: "x".repeat(254) }, ...pod() }),
  create(pods, "pod without a name", { metadata: {}, ...pod() }),
  create(pods, "pod with a bad label", { metadata: { name: "web", labels: { "a b": "c" } }, ...pod() }),
  create(pods, "pod with a bad label value", { metadata: { name: "web", labels: { a: "-c" } }, ...pod() }),
  create(pods, "pod with a bad label prefix", { metadata: { name: "web", labels: { "A/b": "c" } }, ...pod() }),
  create(pods, "pod with a label of two slashes", { metadata: { name: "web", labels: { "a/b/c": "c" } }, ...pod() }),
  create(pods, "pod with a bad annotation", { metadata: { name: "web", annotations: { "/x": "c" } }, ...pod() }),
  create(pods, "pod with too large annotations", {
    metadata: { name: "web", annotations: { x: "x".repeat(262_145) } },
    ...pod(),
  }),
  create(pods, "pod with a bad finalizer", { metadata: { name: "web", finalizers: ["a b"] }, ...pod() }),
  create(pods, "pod with a bad owner", {
    metadata: { name: "web", ownerReferences: [{ apiVersion: "", kind: "", name: "", uid: "" }] },
    ...pod(),
  }),
  create(pods, "pod with two controllers", {
    metadata: {
      name: "web",
      ownerReferences: ["a", "b"].map((name) => ({
        apiVersion: "apps/v1",
        kind: "ReplicaSet",
        name,
        uid: name,
        controller: true,
      })),
    },
    ...pod(),
  }),
  create(pods, "containers of one name", pod({ containers: [...containers, ...containers] })),
  create(pods, "container without a name", pod({ containers: [{ image: "x" }] })),
  create(pods, "container without an image", pod({ containers: [{ name: "x" }] })),
  create(pods, "container with a bad name", pod({ containers: [{ name: "a.b", image: "x" }] })),
  create(pods, "init container of a container's name", pod({ initContainers: containers })),
  create(
    pods,
    "init container with a probe",
    pod({
      initContainers: [{ name: "x", image: "x", livenessProbe: { exec: { command: ["x"] } } }],
    }),
  ),
  create(
    pods,
    "bad ports",
    oneContainer({
      ports: [
        { containerPort: 0 },
        { containerPort: 70000 },
        { containerPort: 80, protocol: "ICMP" },
        { name: "A--", containerPort: 1 },
      ],
    }),
  ),
  create(
    pods,
    "two ports of one name",
    oneContainer({
      ports: [
        { name: "a", containerPort: 1 },
        { name: "a", containerPort: 2 },
      ],
    }),
  ),
  create(
    pods,
    "bad environment",
    oneContainer({
      env: [
        { name: "" },
        { name: "A=B" },
        { name: "C", value: "x", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
        { name: "D", valueFrom: { fieldRef: { fieldPath: "spec.x" } } },
        { name: "E", valueFrom: {} },
      ],
    }),
  ),
  create(pods, "mount of no volume", oneContainer({ volumeMounts: [{ name: "x", mountPath: "/x" }] })),
  create(
    pods,
    "two mounts at one path",
    pod({
      volumes: [{ name: "x" }],
      containers: [
        {
          name: "app",
          image: "x",
          volumeMounts: [
            { name: "x", mountPath: "/x" },
            { name: "x", mountPath: "/x" },
          ],
        },
      ],
    }),
  ),
  create(pods, "mount without name and path", oneContainer({ volumeMounts: [{ name: "", mountPath: "" }] })),
  create(
    pods,
    "bad volumes",
    pod({
      volumes: [
        { name: "x" },
        { name: "x" },
        { name: "A" },
        { name: "" },
        { name: "two", emptyDir: {}, configMap: { name: "x" } },
        { name: "cm", configMap: {} },
        { name: "secret", secret: {} },
        { name: "claim", persistentVolumeClaim: { claimName: "" } },
        { name: "host", hostPath: { path: "" } },
      ],
    }),
  ),
  create(
    pods,
    "bad probes",
    oneContainer({
      livenessProbe: { httpGet: { port: 0 }, successThreshold: 2 },
      readinessProbe: { periodSeconds: -1 },
      startupProbe: { exec: { command: [] }, tcpSocket: { port: "A" } },
    }),
  ),
  create(
    pods,
    "bad resources",
    oneContainer({
      resources: { limits: { cpu: "1" }, requests: { cpu: "2" } },
    }),
  ),
  create(
    pods,
    "bad enumerations",
    pod({
      restartPolicy: "Sometimes",
      dnsPolicy: "None",
      containers: [{ name: "app", image: "x", imagePullPolicy: "Maybe", terminationMessagePolicy: "No" }],
    }),
  ),
  create(
    pods,
    "bad names in the spec",
    pod({
      serviceAccountName: "default",
      nodeName: "A",
      hostname: "a.b",
      subdomain: "A",
      activeDeadlineSeconds: 0,
      nodeSelector: { "a b": "c" },
    }),
  ),
  create(
    pods,
    "bad tolerations",
    pod({
      tolerations: [
        { key: "a", operator: "Exists", value: "b" },
        { value: "x" },
        { key: "a", effect: "No" },
        { key: "a", operator: "Is" },
        { key: "a", effect: "NoSchedule", tolerationSeconds: 1 },
      ],
    }),
  ),
  create(
    pods,
    "negative resources",
    oneContainer({ resources: { limits: { memory: "-1" }, requests: { memory: "-1" } } }),
  ),
  create(pods, "negative grace period", pod({ terminationGracePeriodSeconds: -1 })),
]
