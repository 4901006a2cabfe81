/** Arbitrary pairs of states of Kubernetes objects, with the lists that a strategic merge patch treats specially. */

import fc from "fast-check"
import type { JsonObject, JsonValue } from "../../../../src/trace/json/exact-json.ts"

const name = fc.constantFrom("a", "b", "c", "d")
const word = fc.constantFrom("x", "y", "z")
const small = fc.integer({ min: 1, max: 4 })

type Fields = { readonly [name: string]: fc.Arbitrary<JsonValue> }

/** An object that has each of these fields or not; those required always. */
const some = (optional: Fields, required: Fields = {}): fc.Arbitrary<JsonObject> =>
  fc
    .record({ ...optional, ...required }, { requiredKeys: Object.keys(required), noNullPrototype: true })
    .map((value) => value as JsonObject)

const labels = fc.dictionary(name, word, { maxKeys: 3, noNullPrototype: true }) as fc.Arbitrary<JsonObject>
const unique = (item: fc.Arbitrary<JsonObject>, key: string): fc.Arbitrary<ReadonlyArray<JsonValue>> =>
  fc.uniqueArray(item, { maxLength: 4, selector: (element) => element[key] })
const any = (item: fc.Arbitrary<JsonValue>): fc.Arbitrary<ReadonlyArray<JsonValue>> => fc.array(item, { maxLength: 3 })

const container = some(
  {
    image: word,
    command: any(word),
    env: unique(some({ value: word, valueFrom: some({ fieldRef: some({ fieldPath: word }) }) }, { name }), "name"),
    ports: fc.oneof(
      unique(some({ protocol: fc.constantFrom("TCP", "UDP"), name: word }, { containerPort: small }), "containerPort"),
      // One number twice, as DNS has it.
      any(some({ protocol: fc.constantFrom("TCP", "UDP") }, { containerPort: small })),
    ),
    volumeMounts: unique(some({ name: word, readOnly: fc.boolean() }, { mountPath: name }), "mountPath"),
    resources: some({ limits: labels, requests: labels }),
  },
  { name },
)

const podSpec = some({
  containers: unique(container, "name"),
  initContainers: unique(container, "name"),
  volumes: unique(some({ emptyDir: some({ medium: word }), configMap: some({ name: word }) }, { name }), "name"),
  tolerations: any(some({ key: word, operator: word })),
  imagePullSecrets: unique(some({}, { name }), "name"),
  hostAliases: unique(some({ hostnames: any(word) }, { ip: name }), "ip"),
  topologySpreadConstraints: any(some({ maxSkew: small }, { topologyKey: name })),
  nodeSelector: labels,
  restartPolicy: word,
})

const metadata = some({ labels, annotations: labels })
const template = some({ metadata, spec: podSpec })

const deployment = some({
  metadata,
  spec: some({
    replicas: small,
    template,
    selector: some({ matchLabels: labels }),
    strategy: fc.oneof(
      some({}, { type: fc.constant("Recreate") }),
      some({ rollingUpdate: some({ maxSurge: small }) }, { type: fc.constant("RollingUpdate") }),
    ),
  }),
})
const pod = some({ metadata, spec: podSpec })
const service = some({
  metadata,
  spec: some({
    selector: labels,
    ports: fc.oneof(
      unique(some({ name: word, targetPort: small }, { port: small }), "port"),
      any(some({ name: word, protocol: word }, { port: small })),
    ),
    externalIPs: any(word),
  }),
})
const configMap = some({ metadata, data: labels })
const disruptionBudget = some({
  metadata,
  spec: some({ minAvailable: small, selector: some({ matchLabels: labels }) }),
})
const serviceAccount = some({
  metadata,
  secrets: unique(some({}, { name }), "name"),
  imagePullSecrets: any(some({}, { name })),
})

const states: ReadonlyArray<readonly [gvk: string, state: fc.Arbitrary<JsonObject>]> = [
  ["apps/v1.Deployment", deployment],
  ["v1.Pod", pod],
  ["v1.Service", service],
  ["v1.ConfigMap", configMap],
  ["policy/v1.PodDisruptionBudget", disruptionBudget],
  ["v1.ServiceAccount", serviceAccount],
]

/** Two states of an object of one kind. */
export interface StatePair {
  readonly gvk: string
  readonly before: JsonObject
  readonly after: JsonObject
}

/** Any such pair; `gvk` is a kind of Kubernetes itself. */
export const pair: fc.Arbitrary<StatePair> = fc
  .constantFrom(...states)
  .chain(([gvk, state]) => fc.record({ gvk: fc.constant(gvk), before: state, after: state }))
