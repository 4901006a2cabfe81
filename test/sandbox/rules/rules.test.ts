import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { allowsUnconditionalUpdate, rulesOf } from "../../../src/sandbox/rules/index.ts"
import type { Fields, MutableObject } from "../../../src/sandbox/rules/kind-rules.ts"
import { allocateService, type Pool, releaseService } from "../../../src/sandbox/writes/admission/service-allocation.ts"
import { rounds } from "../../harness/effort.ts"
import { rulesCases } from "./cases.ts"
import { resourceAt } from "./local-answer.ts"

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
