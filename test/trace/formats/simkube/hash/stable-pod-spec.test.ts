/** The stable pod spec and its hash, against values that SimKube computed. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { podSpecTypes } from "../../../../../src/trace/formats/simkube/hash/pod-spec-1-30.ts"
import { stablePodSpec, stablePodSpecHash } from "../../../../../src/trace/formats/simkube/hash/stable-pod-spec.ts"
import type { JsonObject, JsonValue } from "../../../../../src/trace/json/exact-json.ts"

describe("the hash of the stable pod spec", () => {
  test.each([
    [undefined, 17506812802394981455n],
    [{}, 17506812802394981455n],
    [{ containers: null }, 17506812802394981455n],
    [
      { containers: [], volumes: [], nodeName: "n1", serviceAccount: "a", serviceAccountName: "a" },
      17506812802394981455n,
    ],
    [{ containers: [], nodeSelector: { boo: "far" } }, 18161541283955474812n],
  ] as ReadonlyArray<readonly [JsonValue | undefined, bigint]>)("of %j is SimKube's", (spec, hash) => {
    expect(stablePodSpecHash(spec)).toBe(hash)
  })

  test("of a pod that a CronJob made is SimKube's (its example trace cronjob.sktrace)", () => {
    // The job template, and what admission and the scheduler add to every pod.
    expect(stablePodSpecHash(cronJobPod)).toBe(10855072724872030168n)
  })

  test("does not depend on where the pod runs, under which account, and on which ports", () => {
    const container = { name: "a", image: "i", volumeMounts: [{ name: "data", mountPath: "/data" }] }
    const token = { name: "kube-api-access-x7m8m", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" }
    const bare = { containers: [container], volumes: [{ name: "data", emptyDir: {} }] }
    const placed = {
      nodeName: "node-7",
      serviceAccount: "default",
      serviceAccountName: "default",
      containers: [{ ...container, ports: [{ containerPort: 80 }], volumeMounts: [...container.volumeMounts, token] }],
      volumes: [...bare.volumes, { name: "kube-api-access-x7m8m", projected: { sources: [], defaultMode: 420 } }],
    }
    expect(stablePodSpecHash(placed)).toBe(stablePodSpecHash(bare))
  })
})

describe("the stable pod spec", () => {
  test("loses nulls and fields that Kubernetes 1.30 does not know, at every depth", () => {
    expect(
      stablePodSpec({
        hostnameOverride: "1.34",
        priority: null,
        resources: { limits: { cpu: "1" } },
        containers: [
          {
            name: "a",
            restartPolicyRules: [],
            env: [{ name: "E", value: null, valueFrom: { fileKeyRef: { key: "1.34" } } }],
            lifecycle: { stopSignal: "SIGTERM", preStop: { sleep: { seconds: 3 } } },
          },
        ],
        volumes: [
          { name: "v", image: { reference: "1.31" } },
          { name: "w", emptyDir: { medium: "", newer: 1 } },
        ],
        securityContext: { supplementalGroupsPolicy: "1.31", runAsUser: 0 },
      }),
    ).toEqual({
      containers: [
        {
          name: "a",
          env: [{ name: "E", valueFrom: {} }],
          lifecycle: { preStop: { sleep: { seconds: 3 } } },
          volumeMounts: [],
        },
      ],
      volumes: [{ name: "v" }, { name: "w", emptyDir: { medium: "" } }],
      securityContext: { runAsUser: 0 },
    })
  })

  test("keeps ports of init containers and empty values, and gives missing required fields their empty value", () => {
    expect(
      stablePodSpec({
        initContainers: [
          { name: "i", ports: [{ name: "p" }], args: [], volumeMounts: [{ name: "kube-api-access-1" }] },
        ],
        containers: [{}],
        tolerations: [],
        nodeSelector: {},
        securityContext: {},
      }),
    ).toEqual({
      initContainers: [{ name: "i", ports: [{ name: "p", containerPort: 0 }], args: [], volumeMounts: [] }],
      containers: [{ name: "", volumeMounts: [] }],
      volumes: [],
      tolerations: [],
      nodeSelector: {},
      securityContext: {},
    })
  })

  test("keeps free-form maps whole, even with keys that no type has", () => {
    const overhead = { cpu: "250m", "example.com/gpu": "1", toString: "x" }
    expect(
      stablePodSpec({ containers: [], overhead, nodeSelector: JSON.parse('{"__proto__":"a"}') as JsonObject }),
    ).toEqual({
      containers: [],
      volumes: [],
      overhead,
      nodeSelector: JSON.parse('{"__proto__":"a"}'),
    })
  })

  test("is its own stable spec, never throws, and does not change its input", () => {
    const names = [
      ...new Set(
        Object.values(podSpecTypes).flatMap((fields) =>
          fields.split(" ").map((field) => /^\w+/.exec(field)?.[0] ?? ""),
        ),
      ),
    ]
    const value = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 6, withCrossShrink: true },
        fc.constantFrom<JsonValue>(null, 0, "", "kube-api-access-1", true, 1.5),
        fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.constantFrom("name", "unknown")), tie("value"), {
          maxKeys: 6,
        }),
        fc.array(tie("value"), { maxLength: 3 }),
      ),
    })).value
    fc.assert(
      fc.property(value, (spec) => {
        const before = JSON.stringify(spec)
        const stable = stablePodSpec(spec)
        expect(JSON.stringify(spec)).toBe(before)
        expect(stablePodSpec(stable)).toEqual(stable)
        expect(stablePodSpecHash(spec)).toBe(stablePodSpecHash(stable))
      }),
    )
  })

  test("knows every type that its fields refer to", () => {
    const spoken = Object.values(podSpecTypes).flatMap((fields) =>
      fields.split(" ").flatMap((field) => /:(?:\[\]|\{\})?(\w+)$/.exec(field)?.[1] ?? []),
    )
    for (const type of spoken) expect(podSpecTypes).toHaveProperty(type)
    for (const type of Object.keys(podSpecTypes)) expect(type === "PodSpec" || spoken.includes(type)).toBe(true)
  })
})

const cronJobPod: JsonObject = {
  containers: [
    {
      command: ["sleep", "30"],
      image: "busybox",
      imagePullPolicy: "Always",
      name: "sleeper",
      resources: {},
      terminationMessagePath: "/dev/termination-log",
      terminationMessagePolicy: "File",
    },
  ],
  dnsPolicy: "ClusterFirst",
  restartPolicy: "Never",
  schedulerName: "default-scheduler",
  securityContext: {},
  terminationGracePeriodSeconds: 30,
  enableServiceLinks: true,
  preemptionPolicy: "PreemptLowerPriority",
  priority: 0,
  tolerations: [
    { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
    { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
  ],
}
