import { containers, oneContainer, pod, pods, selector } from "./manifests.ts"
import { create, modify } from "./rules-case.ts"

export const podCases = [
  create(pods, "minimal pod", pod()),
  create(pods, "pod of every kind of volume", {
    metadata: { name: "web", labels: { a: "b" }, annotations: { "example.com/x": "" } },
    ...pod({
      volumes: [
        { name: "bare" },
        { name: "empty", emptyDir: {} },
        { name: "cm", configMap: { name: "x" } },
        { name: "secret", secret: { secretName: "x", items: [{ key: "a", path: "b" }] } },
        { name: "host", hostPath: { path: "/x" } },
        { name: "claim", persistentVolumeClaim: { claimName: "x" } },
        { name: "down", downwardAPI: { items: [{ path: "a", fieldRef: { fieldPath: "metadata.name" } }] } },
        {
          name: "projected",
          projected: { sources: [{ serviceAccountToken: { path: "token" } }, { configMap: { name: "x" } }] },
        },
        {
          name: "own",
          ephemeral: {
            volumeClaimTemplate: {
              spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
            },
          },
        },
      ],
      containers: [
        {
          name: "app",
          image: "nginx:1.27",
          volumeMounts: [{ name: "empty", mountPath: "/x" }],
          ports: [{ containerPort: 80 }, { name: "admin", containerPort: 81, protocol: "UDP" }],
          env: [
            { name: "A", value: "" },
            { name: "B", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
            { name: "C", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
            { name: "D", valueFrom: { secretKeyRef: { name: "x", key: "y" } } },
          ],
          envFrom: [{ configMapRef: { name: "x" } }],
          resources: { limits: { cpu: "1", memory: "1Gi" } },
          livenessProbe: { httpGet: { port: 80 } },
          readinessProbe: { tcpSocket: { port: "admin" }, periodSeconds: 5 },
          startupProbe: { exec: { command: ["true"] }, failureThreshold: 30 },
          lifecycle: { preStop: { httpGet: { port: 80, path: "/bye" } } },
          securityContext: { runAsUser: 1000 },
        },
      ],
      initContainers: [{ name: "first", image: "busybox@sha256:aaaa", restartPolicy: "Always" }],
    }),
  }),
  create(
    pods,
    "pod with requests equal to limits",
    oneContainer({
      resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "1000m", memory: "1024Mi" } },
    }),
  ),
  create(
    pods,
    "pod with tolerations, node and host network",
    pod({
      nodeName: "nowhere",
      hostNetwork: true,
      hostPID: false,
      priority: 0,
      tolerations: [{ key: "node.kubernetes.io/not-ready", operator: "Exists" }],
      containers: [{ name: "app", image: "registry:5000/x", ports: [{ containerPort: 80 }] }],
      imagePullSecrets: [{ name: "x" }],
      serviceAccount: "default",
    }),
  ),
  create(pods, "pod that mounts no token", pod({ automountServiceAccountToken: false, restartPolicy: "Never" })),
  create(pods, "pod tolerating everything", pod({ tolerations: [{ operator: "Exists" }] })),
  create(pods, "pod of a priority class", pod({ priorityClassName: "system-node-critical" })),
  create(pods, "pod with scheduling gates", pod({ schedulingGates: [{ name: "example.com/wait" }] })),
  create(pods, "pod of an unknown priority class", pod({ priorityClassName: "unknown" })),
  create(pods, "pod of a wrong priority", pod({ priority: 7 })),
  create(
    pods,
    "pod with affinity",
    pod({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "type", operator: "In", values: ["virtual"] }] }],
          },
        },
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: { labelSelector: selector, topologyKey: "kubernetes.io/hostname" } },
          ],
        },
      },
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", labelSelector: selector },
      ],
    }),
  ),
  modify(pods, "image and tolerations of a pod changed", pod({ automountServiceAccountToken: false }), {
    spec: {
      containers: [{ name: "app", image: "nginx:2", imagePullPolicy: "Always" }],
      tolerations: [
        { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
        { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
        { key: "x", operator: "Exists" },
      ],
    },
  }),
  modify(pods, "pod's environment changed", pod({ automountServiceAccountToken: false }), {
    spec: { containers: [{ name: "app", image: "nginx", env: [{ name: "A", value: "B" }] }] },
  }),
  modify(pods, "pod's containers added", pod({ automountServiceAccountToken: false }), {
    spec: { containers: [...containers, { name: "b", image: "x" }] },
  }),
  modify(pods, "pod's deadline set", pod({ automountServiceAccountToken: false }), {
    spec: { activeDeadlineSeconds: 5 },
  }),
  modify(pods, "pod's image emptied", pod({ automountServiceAccountToken: false }), {
    spec: { containers: [{ name: "app", image: "", imagePullPolicy: "Always" }] },
  }),
  modify(
    pods,
    "pod's toleration taken away",
    pod({ automountServiceAccountToken: false, tolerations: [{ key: "x", operator: "Exists" }] }),
    { spec: { tolerations: [] } },
  ),
  modify(pods, "labels of a pod changed", pod({ automountServiceAccountToken: false }), {
    metadata: { labels: { a: "b" }, annotations: { c: "d" } },
  }),
  modify(
    pods,
    "pod's status written",
    pod({ automountServiceAccountToken: false }),
    { metadata: { labels: { a: "b" } }, spec: { hostname: "x" }, status: { phase: "Running", podIP: "10.1.2.3" } },
    "status",
  ),
]
