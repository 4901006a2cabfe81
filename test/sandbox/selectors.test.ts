import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { compact } from "../../src/apiserver/answers/json-spacing.ts"
import { builtinResources } from "../../src/apiserver/kinds/builtin-resources.ts"
import type { KubernetesObject } from "../../src/apiserver/kinds/kubernetes-object.ts"
import { type Resource, ResourceRegistry } from "../../src/apiserver/kinds/resources.ts"
import { matchesFields, parseFieldSelector } from "../../src/apiserver/selection/field-selector.ts"
import { matchesLabels, parseLabelSelector, SelectorError } from "../../src/apiserver/selection/label-selector.ts"
import { type Change, makeChange } from "../../src/apiserver/watch/change.ts"

const selects = (selector: string, labels: Record<string, string>): boolean =>
  matchesLabels(parseLabelSelector(selector), labels)

describe("a label selector", () => {
  test.each([
    ["", {}, true],
    [" ", { a: "b" }, true],
    ["a=b", { a: "b" }, true],
    ["a==b", { a: "c" }, false],
    ["a = b , c", { a: "b", c: "" }, true],
    ["a!=b", {}, true],
    ["a!=b", { a: "b" }, false],
    ["a in (b, c)", { a: "c" }, true],
    ["a in (b)", {}, false],
    ["a in ()", { a: "" }, true],
    ["a notin (b,)", { a: "" }, false],
    ["a notin (b)", {}, true],
    ["a", { a: "" }, true],
    ["! a", { a: "" }, false],
    ["!a,b", { b: "x" }, true],
    ["a=", { a: "" }, true],
    ["in in (in)", { in: "in" }, true],
    ["a=in", { a: "in" }, true],
    ["example.com/a-b_c.d=x", { "example.com/a-b_c.d": "x" }, true],
    ["a>5", { a: "6" }, true],
    ["a>5", { a: "5" }, false],
    ["a<5", { a: "x" }, false],
    ["toString", {}, false],
  ])("%j of %j: %s", (selector, labels, expected) => {
    expect(selects(selector, labels)).toBe(expected)
  })

  test.each([
    ["a===b", "unable to parse requirement: found '=', expected: identifier"],
    ["a in web", "unable to parse requirement: found 'web' expected: '('"],
    ["a in (x y)", "unable to parse requirement: found 'y', expected: ',' or ')'"],
    ["!app,", "found '', expected: identifier after ','"],
    ["a=x y", "found 'y', expected: ',' or 'end of string'"],
    [",a", "found ',', expected: !, identifier, or 'end of string'"],
    ["(", "found '(', expected: !, identifier, or 'end of string'"],
    ["a exists", "unable to parse requirement: found 'exists', expected: in, notin, =, ==, !=, gt, lt"],
    ["a!", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"],
  ])("%j is refused in the real server's words", (selector, problem) => {
    expect(() => parseLabelSelector(selector)).toThrow(new SelectorError({ problem }))
  })

  test.each(["a=-b", "A/B/C", "a>x", `a=${"x".repeat(64)}`, `${"k".repeat(64)}=x`])("%j is refused", (selector) => {
    expect(() => parseLabelSelector(selector)).toThrow(SelectorError)
  })

  const key = fc.constantFrom("a", "b", "app", "example.com/name", "in", "notin")
  const value = fc.constantFrom("", "x", "y", "in", "v1.2_3")
  const term = fc.oneof(
    fc.record({ key, operator: fc.constantFrom("=", "==", "!="), values: fc.tuple(value) }),
    fc.record({
      key,
      operator: fc.constantFrom("in", "notin"),
      values: fc.array(value, { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ key, operator: fc.constantFrom("exists", "!"), values: fc.constant([]) }),
  )

  test("any combination of terms selects what its terms say, whatever the white space", () => {
    const labels = fc.dictionary(key, value)
    const space = fc.constantFrom("", " ", "  ", "\t")
    fc.assert(
      fc.property(fc.array(term, { maxLength: 4 }), labels, space, (terms, given, gap) => {
        const written = terms.map(({ key: name, operator, values }) => {
          if (operator === "exists") return `${gap}${name}`
          if (operator === "!") return `!${gap}${name}`
          if (operator === "in" || operator === "notin") return `${name} ${operator} (${values.join(`${gap},`)})`
          return `${name}${gap}${operator}${gap}${values[0]}`
        })
        const expected = terms.every(({ key: name, operator, values }) => {
          const present = given[name]
          if (operator === "exists") return present !== undefined
          if (operator === "!") return present === undefined
          const listed = present !== undefined && (values as string[]).includes(present)
          return operator === "!=" || operator === "notin" ? !listed : listed
        })
        expect(selects(written.join(`${gap},${gap}`), given)).toBe(expected)
      }),
    )
  })

  test("no text makes the parser fail in another way than by saying so", () => {
    const text = fc.string({
      unit: fc.constantFrom("a", "b", " ", "=", "!", "(", ")", ",", "<", ">", "in", "notin", "1"),
    })
    fc.assert(
      fc.property(text, (selector) => {
        try {
          parseLabelSelector(selector)
        } catch (error) {
          expect(error).toBeInstanceOf(SelectorError)
        }
      }),
    )
  })
})

describe("a field selector", () => {
  const resourceOf = (gvk: string): Resource => new ResourceRegistry(builtinResources).named(gvk)
  const stateOf = (gvk: string, object: KubernetesObject): Change => {
    const { name, namespace = "" } = object.metadata
    const fields = { type: "ADDED", uid: "u", namespace, name, labels: undefined, revision: 1n } as const
    return makeChange(fields, JSON.stringify(resourceOf(gvk).storedAs?.toStored(object) ?? object), compact)
  }
  const selectsFields = (gvk: string, selector: string, object: KubernetesObject): boolean =>
    matchesFields(parseFieldSelector(selector, resourceOf(gvk)), stateOf(gvk, object))

  const web = { metadata: { name: "web", namespace: "a" } }
  test.each([
    ["", true],
    ["metadata.name=web", true],
    ["metadata.name==web,metadata.namespace!=b", true],
    ["metadata.name!=web", false],
    ["metadata.namespace=b,", false],
    ["metadata.name=we\\,b", false],
  ])("%j: %s", (selector, expected) => {
    expect(selectsFields("v1.ConfigMap", selector, web)).toBe(expected)
  })

  test.each([
    ["v1.Pod", "spec.nodeName=n1,status.phase=Running", { spec: { nodeName: "n1" }, status: { phase: "Running" } }],
    ["v1.Pod", "spec.host=n1,spec.hostNetwork=true", { spec: { nodeName: "n1", hostNetwork: true } }],
    ["v1.Pod", "spec.nodeName=,spec.hostNetwork=false,status.podIPs=", { status: { podIP: "10.0.0.1" } }],
    ["v1.Pod", "status.podIP=10.0.0.1", { status: { podIPs: [{ ip: "10.0.0.1" }] } }],
    ["v1.Pod", "spec.restartPolicy=Never,spec.serviceAccountName!=x", { spec: { restartPolicy: "Never" } }],
    ["v1.Node", "spec.unschedulable=false", {}],
    ["v1.Node", "spec.unschedulable=true", { spec: { unschedulable: true } }],
    ["v1.Namespace", "status.phase=Active", { status: { phase: "Active" } }],
    ["v1.Secret", "type!=Opaque", { type: "kubernetes.io/tls" }],
    ["v1.Service", "spec.type=ClusterIP,spec.clusterIP=None", { spec: { type: "ClusterIP", clusterIP: "None" } }],
    ["v1.ReplicationController", "status.replicas=0", {}],
    ["batch/v1.Job", "status.successful=2", { status: { succeeded: 2 } }],
    ["v1.Event", "involvedObject.kind=Pod,source=x", { involvedObject: { kind: "Pod" }, source: { component: "x" } }],
    ["v1.Event", "source=c,reason=R", { reportingComponent: "c", reason: "R" }],
    [
      "events.k8s.io/v1.Event",
      "regarding.name=p,reportingController=c",
      { regarding: { name: "p" }, reportingController: "c" },
    ],
  ])("of %s, %j, selects %j and not an object that has other fields", (gvk, selector, fields) => {
    expect(selectsFields(gvk, selector, { metadata: { name: "x" }, ...fields })).toBe(true)
    const negated = selector.replace(/(!?=)(?=[^=]*$)/, (operator) => (operator === "=" ? "!=" : "="))
    expect(selectsFields(gvk, negated, { metadata: { name: "x" }, ...fields })).toBe(false)
  })

  test("no text makes the parser fail in another way than by saying so", () => {
    const text = fc.string({ unit: fc.constantFrom("metadata.name", "spec.nodeName", "=", "!", ",", "\\", "a") })
    fc.assert(
      fc.property(text, (selector) => {
        try {
          parseFieldSelector(selector, resourceOf("v1.Pod"))
        } catch (error) {
          expect(error).toBeInstanceOf(SelectorError)
        }
      }),
    )
  })
})
