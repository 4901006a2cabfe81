/** Arbitrary traces of objects that refer to each other by few names, so that some references are met and others are not. */
import fc from "fast-check"
import { type Body, object, type TracedEvent } from "./traces.ts"

const name = fc.constantFrom("a", "b", "c")
const namespace = fc.constantFrom("one", "two")
const reference = fc.record({ name, optional: fc.constantFrom(true, false, undefined) })

const variable = fc.oneof(
  fc.record({ name: fc.constant("V"), valueFrom: fc.record({ secretKeyRef: reference }) }),
  fc.record({ name: fc.constant("V"), valueFrom: fc.record({ configMapKeyRef: reference }) }),
  fc.constant({ name: "V", value: "v" }),
)

const container = fc.record({
  name,
  env: fc.array(variable, { maxLength: 3 }),
  envFrom: fc.array(fc.oneof(fc.record({ secretRef: reference }), fc.record({ configMapRef: reference })), {
    maxLength: 2,
  }),
  volumeMounts: fc.array(fc.record({ name, mountPath: fc.constant("/x") }), { maxLength: 2 }),
})

const volume = fc.oneof(
  fc.record({ name, secret: fc.record({ secretName: name, optional: fc.constantFrom(true, undefined) }) }),
  fc.record({ name, configMap: reference }),
  fc.record({ name, persistentVolumeClaim: fc.record({ claimName: name }) }),
  fc.record({
    name,
    projected: fc.record({
      sources: fc.array(fc.oneof(fc.record({ secret: reference }), fc.record({ configMap: reference })), {
        maxLength: 2,
      }),
    }),
  }),
  fc.record({
    name,
    ephemeral: fc.record({ volumeClaimTemplate: fc.record({ spec: fc.record({ storageClassName: name }) }) }),
  }),
)

const podSpec = fc.record(
  {
    containers: fc.array(container, { maxLength: 2 }),
    initContainers: fc.array(container, { maxLength: 1 }),
    volumes: fc.array(volume, { maxLength: 3 }),
    serviceAccountName: name,
    serviceAccount: name,
    priorityClassName: name,
    priority: fc.constant(5),
    runtimeClassName: name,
    imagePullSecrets: fc.array(fc.record({ name }), { maxLength: 2 }),
  },
  { requiredKeys: ["containers"] },
)

const owner = fc.record({ apiVersion: fc.constant("apps/v1"), kind: fc.constant("Deployment"), name, uid: name })

const workload = fc
  .record({
    kind: fc.constantFrom("apps/v1.Deployment", "batch/v1.CronJob", "v1.Pod", "apps/v1.ReplicaSet"),
    name,
    namespace,
    spec: podSpec,
    status: fc.option(fc.constant({ replicas: 1 }), { nil: undefined }),
    owners: fc.array(owner, { maxLength: 2 }),
  })
  .map(({ kind, name: own, namespace: space, spec, status, owners }): Body => {
    const shapes: Readonly<Record<string, Body>> = {
      "v1.Pod": spec,
      "batch/v1.CronJob": { jobTemplate: { spec: { template: { spec } } } },
    }
    const metadata = owners.length === 0 ? {} : { ownerReferences: owners }
    const body = { metadata, spec: shapes[kind] ?? { template: { spec } }, ...(status && { status }) }
    return object(kind, own, body, space)
  })

const referred = fc
  .record({
    kind: fc.constantFrom("v1.Secret", "v1.ConfigMap", "v1.ServiceAccount", "v1.PersistentVolumeClaim"),
    name,
    namespace,
  })
  .map(({ kind, name: own, namespace: space }) => object(kind, own, {}, space))

const classes = fc
  .record({
    kind: fc.constantFrom(
      "scheduling.k8s.io/v1.PriorityClass",
      "storage.k8s.io/v1.StorageClass",
      "node.k8s.io/v1.RuntimeClass",
    ),
    name,
  })
  .map(({ kind, name: own }) => object(kind, own, {}, ""))

const any = fc.oneof({ weight: 3, arbitrary: workload }, { weight: 2, arbitrary: referred }, classes)

/** The events of a trace. */
export const anyEvents: fc.Arbitrary<ReadonlyArray<TracedEvent>> = fc.array(
  fc.record({
    applied: fc.array(any, { maxLength: 5 }),
    deleted: fc.array(fc.oneof(workload, referred), { maxLength: 2 }),
  }),
  { minLength: 1, maxLength: 5 },
)
