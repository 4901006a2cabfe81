/** Admission of new pods. No scheduler handles them: only the API server writes to them. */

import type { JsonObject } from "../../exact-json.ts"
import { inNamespace, post, type Script } from "../script.ts"
import { unscheduledPod } from "./objects.ts"

const pods = inNamespace("v1", "pods")
const container = (more: JsonObject): JsonObject => ({ containers: [{ name: "c", image: "example.com/c", ...more }] })
const make = (name: string, spec: JsonObject = {}, pod = "b") => post(name, pods, unscheduledPod(pod, spec))

const admission: Script = {
  name: "pods",
  area: "rules",
  steps: [
    make("bare", {}, "a"),
    make("no containers", { containers: [] }),
    post("no spec", pods, { apiVersion: "v1", kind: "Pod", metadata: { name: "b" } }),
    make("no image", { containers: [{ name: "c" }] }),
    make("two of one name", {
      containers: [
        { name: "c", image: "x" },
        { name: "c", image: "y" },
      ],
    }),
    make("bad container name", { containers: [{ name: "C_1", image: "x" }] }),
    make("image with a tag is not always pulled", container({ image: "x:1" }), "tag"),
    make("latest is", container({ image: "x:latest" }), "latest"),
    make(
      "resources",
      container({
        resources: { limits: { cpu: "0.5", memory: "1024Mi" }, requests: { cpu: "100m" } },
      }),
      "res",
    ),
    make("requests above limits", container({ resources: { limits: { cpu: "1" }, requests: { cpu: "2" } } })),
    make(
      "probes and ports",
      container({
        ports: [{ containerPort: 80 }],
        readinessProbe: { httpGet: { path: "/", port: 80 } },
        livenessProbe: { exec: { command: ["true"] } },
      }),
      "probed",
    ),
    make("bad port", container({ ports: [{ containerPort: 99999 }] })),
    make(
      "volumes",
      {
        ...container({ volumeMounts: [{ name: "c", mountPath: "/c" }] }),
        volumes: [
          { name: "c", configMap: { name: "x" } },
          { name: "s", secret: { secretName: "y" } },
          { name: "e", emptyDir: {} },
          { name: "d", downwardAPI: { items: [{ path: "p", fieldRef: { fieldPath: "metadata.name" } }] } },
        ],
      },
      "vol",
    ),
    make("mount of nothing", container({ volumeMounts: [{ name: "c", mountPath: "/c" }] })),
    make("no token", { automountServiceAccountToken: false }, "tokenless"),
    make("unknown service account", { serviceAccountName: "nope" }),
    make(
      "own tolerations",
      {
        tolerations: [
          { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 1 },
        ],
      },
      "tolerant",
    ),
    make("a priority class nobody made", { priorityClassName: "nope" }),
    make("a system priority", { priorityClassName: "system-node-critical" }, "prio"),
    make("a priority of its own", { priority: 5 }),
    make(
      "init containers and sidecars",
      {
        initContainers: [
          { name: "i", image: "x" },
          { name: "s", image: "x", restartPolicy: "Always" },
        ],
      },
      "init",
    ),
    make("host network", { hostNetwork: true, ...container({ ports: [{ containerPort: 1 }] }) }, "host"),
    make("gated", { schedulingGates: [{ name: "example.com/gate" }] }, "gated"),
    post("status of its own", pods, { ...unscheduledPod("st"), status: { phase: "Running", podIP: "1.2.3.4" } }),
    make("guaranteed", container({ resources: { limits: { cpu: "1", memory: "1Gi" } } }), "g"),
    make("bad dns policy", { dnsPolicy: "Nope" }),
    make("bad restart policy", { restartPolicy: "Nope" }),
    make(
      "affinity",
      {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "In", values: ["b"] }] }],
            },
          },
        },
      },
      "aff",
    ),
    make(
      "environment from elsewhere",
      container({
        env: [
          { name: "N", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
          { name: "K", valueFrom: { configMapKeyRef: { name: "x", key: "y" } } },
          { name: "E" },
        ],
        envFrom: [{ secretRef: { name: "s" } }],
      }),
      "env",
    ),
    make("bad environment", container({ env: [{ name: "", value: "x" }] })),
    make(
      "security context",
      {
        securityContext: { runAsUser: 1000, fsGroup: 2000 },
        ...container({ securityContext: { privileged: true, capabilities: { add: ["NET_ADMIN"] } } }),
      },
      "sec",
    ),
  ],
}

export const podAdmission: readonly Script[] = [admission]
