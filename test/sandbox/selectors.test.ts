import { describe, expect, test } from "vitest"
import {
  builtinResources,
  type Change,
  compact,
  type KubernetesObject,
  makeChange,
  type Resource,
  ResourceRegistry,
} from "../../src/apiserver/index.ts"
import { fieldSelectorOf, selectsFields } from "../../src/apiserver/selection/selection.ts"

describe("a field selector", () => {
  const resourceOf = (gvk: string): Resource => new ResourceRegistry(builtinResources).named(gvk)
  const stateOf = (gvk: string, object: KubernetesObject): Change => {
    const { name, namespace = "" } = object.metadata
    const fields = { type: "ADDED", uid: "u", namespace, name, labels: undefined, revision: 1n } as const
    return makeChange(fields, JSON.stringify(resourceOf(gvk).storedAs?.toStored(object) ?? object), compact)
  }
  const selects = (gvk: string, text: string, object: KubernetesObject): boolean => {
    const selector = fieldSelectorOf(text, resourceOf(gvk))
    return !("problem" in selector) && selectsFields(selector, stateOf(gvk, object))
  }

  const web = { metadata: { name: "web", namespace: "a" } }
  test.each([
    ["", true],
    ["metadata.name=web", true],
    ["metadata.name==web,metadata.namespace!=b", true],
    ["metadata.name!=web", false],
    ["metadata.namespace=b,", false],
    ["metadata.name=we\\,b", false],
  ])("%j: %s", (selector, expected) => {
    expect(selects("v1.ConfigMap", selector, web)).toBe(expected)
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
    expect(selects(gvk, selector, { metadata: { name: "x" }, ...fields })).toBe(true)
    const negated = selector.replace(/(!?=)(?=[^=]*$)/, (operator) => (operator === "=" ? "!=" : "="))
    expect(selects(gvk, negated, { metadata: { name: "x" }, ...fields })).toBe(false)
  })

  test.each([
    ["metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
    ["metadata.name=a=b", "invalid field selector: unescaped character in value: 61"],
    [String.raw`metadata.name=a\b`, String.raw`invalid field selector: invalid escape sequence: \b`],
    ["spec.foo=x", '"spec.foo" cannot be selected by'],
    ["=x", '"" cannot be selected by'],
  ])("%j is refused as the server does: %s", (selector, problem) => {
    expect(fieldSelectorOf(selector, resourceOf("v1.Pod"))).toEqual({ problem })
  })
})
