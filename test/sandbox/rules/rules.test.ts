import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { builtinResources, type Resource } from "../../../src/apiserver/index.ts"
import { type FieldDescriptor, protobufDescriptors } from "../../../src/sandbox/protobuf/descriptors.ts"
import { checksOf } from "../../../src/sandbox/rules/checks.ts"
import { allowsUnconditionalUpdate, rulesOf } from "../../../src/sandbox/rules/index.ts"
import type { Fields, MutableObject } from "../../../src/sandbox/rules/kind-rules.ts"
import kinds from "../../../src/sandbox/rules/kinds.json" with { type: "json" }
import types from "../../../src/sandbox/rules/types.json" with { type: "json" }
import { allocateService, type Pool, releaseService } from "../../../src/sandbox/writes/service-allocation.ts"
import { rounds } from "../../harness/effort.ts"
import { rulesCases } from "./cases.ts"
import { customDefinitions } from "./rules-case.ts"

const custom = customDefinitions.map(({ spec: { group, names } }): Resource => {
  const gvk = { group, version: "v1", kind: names.kind }
  return { gvk, plural: names.plural, namespaced: true, custom: true, subresources: [] }
})

const resourceAt = (path: string): Resource => {
  const [plural = "", version = "", group = ""] = path.split("/").reverse()
  const found = [...builtinResources, ...custom].find(
    (one) => one.plural === plural && one.gvk.version === version && one.gvk.group === group,
  )
  if (found === undefined) throw new Error(`no ${path}`)
  return found
}

const paths = [...new Set(rulesCases.map(({ path }) => path))]
const copyOf = (value: unknown): MutableObject => JSON.parse(JSON.stringify(value)) as MutableObject

test.each(paths)("defaults of %s change nothing when they are set again", (path) => {
  const { setDefaults } = rulesOf(resourceAt(path))
  for (const { object } of rulesCases.filter((entry) => entry.path === path)) {
    const once = copyOf(object)
    setDefaults(once)
    const twice = copyOf(once)
    setDefaults(twice)
    expect(twice).toEqual(copyOf(once))
  }
})

test("no rule throws, whatever the members of an object are", () => {
  const member = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(undefined))
  const spec = fc.dictionary(
    fc.constantFrom("replicas", "selector", "template", "containers", "ports", "type", "jobTemplate", "rules", "spec"),
    fc.oneof(
      member,
      fc.record({
        metadata: member,
        spec: fc.dictionary(fc.constantFrom("containers", "volumes", "tolerations"), fc.array(member)),
      }),
      fc.array(fc.record({ name: member, image: member, env: member, port: member })),
    ),
  )
  const object = fc.record({
    metadata: fc.dictionary(fc.constantFrom("name", "labels", "annotations", "finalizers", "ownerReferences"), member),
    spec: fc.oneof(spec, member),
    status: member,
    subsets: member,
    rules: member,
    data: member,
  })
  fc.assert(
    fc.property(fc.constantFrom(...paths), object, object, (path, first, second) => {
      const rules = rulesOf(resourceAt(path))
      const [old, changed] = [copyOf(first), copyOf(second)]
      rules.setDefaults(old)
      rules.prepareForCreate(old)
      rules.validate(old)
      for (const subresource of ["", "status", "scale"] as const) {
        const next = copyOf(changed)
        rules.setDefaults(next)
        rules.prepareForUpdate(next, old, subresource)
        rules.validateUpdate(next, old, subresource)
      }
    }),
    { numRuns: rounds(200) },
  )
})

test("the tables name types, fields, checks and kinds that exist", () => {
  const { messages, kinds: served } = protobufDescriptors()
  const names = new Map([...messages.keys()].map((name) => [name.replace(/^(?:api|.*\/apis)\//, ""), name]))
  const fieldsOf = (name: string): ReadonlyArray<FieldDescriptor> =>
    (messages.get(name) ?? []).flatMap((field) => (field.isInline ? fieldsOf(field.type) : [field]))
  const stated: Readonly<Record<string, { readonly set?: Fields; readonly checks?: Record<string, string> }>> = types
  for (const [type, { set = {}, checks = {} }] of Object.entries(stated)) {
    const known = fieldsOf(names.get(type) ?? "").map(({ name }) => name)
    expect(known, type).toEqual(expect.arrayContaining([...Object.keys(set), ...Object.keys(checks)]))
    for (const words of Object.values(checks)) expect(checksOf(words).length).toBeGreaterThan(0)
  }
  const withoutVersion = [...served.keys()].map((kind) => kind.replace(/^(?:(.*)\/)?v\d\./, "$1/"))
  expect(withoutVersion).toEqual(expect.arrayContaining(Object.keys(kinds)))
})

test("what Go omits goes, what it writes comes, and quantities are canonical", () => {
  const pod = copyOf({
    metadata: { name: "web", generation: 0 },
    spec: {
      hostNetwork: false,
      hostname: "",
      automountServiceAccountToken: false,
      containers: [
        { name: "app", stdin: false, resources: { limits: { cpu: "1000m" } }, env: [{ name: "A", value: "" }] },
      ],
    },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  })
  rulesOf(resourceAt("v1/pods")).setDefaults(pod)
  expect(pod.metadata).toEqual({ name: "web" })
  expect(pod.spec).not.toHaveProperty("hostNetwork")
  expect(pod.spec).not.toHaveProperty("hostname")
  expect(pod.spec).toMatchObject({ automountServiceAccountToken: false })
  const [container] = (pod.spec as Fields).containers as ReadonlyArray<Fields>
  expect(container).not.toHaveProperty("stdin")
  expect(container).toMatchObject({ env: [{ name: "A" }], resources: { limits: { cpu: "1" }, requests: { cpu: "1" } } })
  expect(pod.status).toEqual({
    conditions: [{ type: "Ready", status: "True", lastProbeTime: null, lastTransitionTime: null }],
  })
})

test("leases and custom objects cannot be overwritten without a version, Pods can", () => {
  expect(
    ["coordination.k8s.io/v1/leases", "rules.kubereel.dev/v1/doors", "v1/pods"].map((path) =>
      allowsUnconditionalUpdate(resourceAt(path)),
    ),
  ).toEqual([false, false, true])
})

test("keys that every JavaScript object knows are keys like any other", () => {
  const odd = '{"constructor":"a","toString":"b","__proto__":"c"}'
  const configMap = rulesOf(resourceAt("v1/configmaps"))
  const metadata = '{"name":"web","namespace":"default","uid":"u","resourceVersion":"1"}'
  const parsed = (data: string): MutableObject =>
    JSON.parse(`{"metadata":${metadata},"data":${data},"binaryData":{},"immutable":true}`) as MutableObject
  expect(configMap.validate(parsed(odd))).toEqual([])
  expect(configMap.validateUpdate(parsed(odd), parsed("{}"), "").map(({ field }) => field)).toEqual(["data"])
  expect(configMap.validateUpdate(parsed("{}"), parsed(odd), "").map(({ field }) => field)).toEqual(["data"])

  const secret = JSON.parse(`{"metadata":${metadata},"stringData":${odd}}`) as MutableObject
  rulesOf(resourceAt("v1/secrets")).setDefaults(secret)
  expect(Object.keys(secret.data as Fields).sort()).toEqual(["__proto__", "constructor", "toString"])
})

describe("the pools of Services", () => {
  const pool = <Value>(values: ReadonlyArray<Value>): Pool<Value> & { readonly taken: Set<Value> } => {
    const taken = new Set<Value>()
    return {
      taken,
      next: () => {
        const value = values.find((candidate) => !taken.has(candidate))
        if (value !== undefined) taken.add(value)
        return value
      },
      take: (value) => {
        if (taken.has(value)) return "provided IP is already allocated"
        taken.add(value)
        return undefined
      },
      release: (value) => taken.delete(value),
    }
  }
  const service = (spec: Fields): MutableObject => {
    const object: MutableObject = { metadata: { name: "web", namespace: "default" }, spec }
    rulesOf(resourceAt("v1/services")).setDefaults(object)
    return object
  }

  test("allocate an address and ports, and get them back when the Service no longer needs them", () => {
    const pools = { clusterIps: pool(["10.96.0.1", "10.96.0.2"]), nodePorts: pool([30_000, 30_001]) }
    const first = service({
      type: "NodePort",
      ports: [
        { name: "a", port: 1 },
        { name: "b", port: 2 },
      ],
    })
    expect(allocateService(first, undefined, pools)).toEqual([])
    expect(first).toMatchObject({
      spec: { clusterIP: "10.96.0.1", ports: [{ nodePort: 30_000 }, { nodePort: 30_001 }] },
    })

    const second = copyOf(first)
    ;(second.spec as Fields).ports = [{ name: "a", port: 1, nodePort: 30_000, protocol: "TCP", targetPort: 1 }]
    expect(allocateService(second, first, pools)).toEqual([])
    releaseService(first, second, pools)
    expect([...pools.nodePorts.taken]).toEqual([30_000])
    releaseService(second, undefined, pools)
    expect([pools.clusterIps.taken.size, pools.nodePorts.taken.size]).toEqual([0, 0])
  })

  test("allocate nothing when one of them is exhausted", () => {
    const pools = { clusterIps: pool(["10.96.0.1"]), nodePorts: pool<number>([]) }
    const errors = allocateService(service({ type: "NodePort", ports: [{ port: 1 }] }), undefined, pools)
    expect(errors.map(({ field }) => field)).toEqual(["spec.ports[0].nodePort"])
    expect(pools.clusterIps.taken.size).toBe(0)
  })
})
