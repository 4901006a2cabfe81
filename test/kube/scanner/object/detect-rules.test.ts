import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { parseJsonPointer } from "../../../../src/kube/json-pointer.ts"
import { parseGvk } from "../../../../src/kube/kinds/gvk.ts"
import {
  compileDetectRules,
  type Detect,
  defaultDetect,
  defaultIgnore,
  InvalidPointerError,
} from "../../../../src/kube/scanner/object/detect-rules.ts"
import { ObjectScanner } from "../../../../src/kube/scanner/object/object-scanner.ts"
import { recordsStatus } from "../../../../src/kube/statuses.ts"

const gvkOf = (text: string) => {
  const gvk = parseGvk(text)
  if (gvk === undefined) throw new Error(text)
  return gvk
}

/** Whether two objects of a kind count as different under the defaults of the kind. */
const differs = (kind: string, left: string, right: string): boolean => {
  const gvk = gvkOf(kind)
  const scanner = new ObjectScanner(
    compileDetectRules({ detect: "content", ignore: defaultIgnore(gvk, "content"), gvk }),
  )
  const prints = [left, right].map((text) => {
    const bytes = Buffer.from(text)
    expect(scanner.scan(bytes, 0, bytes.length)).toBe(true)
    return `${scanner.fingerprintLow}:${scanner.fingerprintHigh}`
  })
  return prints[0] !== prints[1]
}

const annotated = (annotations: Record<string, string>): string =>
  JSON.stringify({ metadata: { name: "a", annotations: { owner: "team", ...annotations } } })

describe("defaults", () => {
  test.each([
    ["v1.Pod", "all"],
    ["v1.Node", "all"],
    ["batch/v1.Job", "all"],
    ["apps/v1.Deployment", "all"],
    ["batch/v1.CronJob", "all"],
    ["example.com/v1.Pod", "all"],
    ["example.com/v1.ConfigMap", "all"],
    ["v1.ConfigMap", "content"],
    ["v1.Secret", "content"],
    ["coordination.k8s.io/v1.Lease", "content"],
    ["rbac.authorization.k8s.io/v1beta1.Role", "content"],
  ])("of %s is detect: %s", (kind, detect) => {
    expect(defaultDetect(gvkOf(kind))).toBe(detect)
  })

  test("with all, no field is ignored, so that every version counts", () => {
    expect(defaultIgnore(gvkOf("coordination.k8s.io/v1.Lease"), "all")).toEqual([])
    expect(defaultIgnore(gvkOf("coordination.k8s.io/v1.Lease"), "spec")).not.toEqual([])
  })

  test("record the status of every kind that can have one", () => {
    const recorded = (kind: string, detect: Detect, ignore: ReadonlyArray<string> = []): boolean =>
      recordsStatus(gvkOf(kind), { detect, ignore })
    expect(recorded("apps/v1.Deployment", "all")).toBe(true)
    expect(recorded("apps/v1.Deployment", "all", ["/status/observedGeneration"])).toBe(true)
    expect(recorded("apps/v1.Deployment", "all", ["/status"])).toBe(false)
    expect(recorded("apps/v1.Deployment", "content")).toBe(false)
    expect(recorded("apps/v1.Deployment", "spec")).toBe(false)
    expect(recorded("v1.Secret", "content")).toBe(true)
  })

  test("leave out leader election and autoscaler noise", () => {
    for (const annotation of [
      "control-plane.alpha.kubernetes.io/leader",
      "cluster-autoscaler.kubernetes.io/last-updated",
      "autoscaling.alpha.kubernetes.io/current-metrics",
      "autoscaling.alpha.kubernetes.io/conditions",
    ]) {
      expect(differs("v1.ConfigMap", annotated({ [annotation]: "1" }), annotated({ [annotation]: "2" }))).toBe(false)
      expect(differs("v1.ConfigMap", annotated({ [annotation]: "1" }), annotated({}))).toBe(false)
    }
    expect(differs("v1.ConfigMap", annotated({ other: "1" }), annotated({ other: "2" }))).toBe(true)
  })

  test("leave out the renewal of a Lease, but not its change of holder", () => {
    const lease = (holder: string, renewTime: string): string =>
      JSON.stringify({ metadata: { name: "a" }, spec: { holderIdentity: holder, renewTime } })
    const kind = "coordination.k8s.io/v1.Lease"
    expect(differs(kind, lease("a", "1"), lease("a", "2"))).toBe(false)
    expect(differs(kind, lease("a", "1"), lease("b", "1"))).toBe(true)
    expect(differs("example.com/v1.Lease", lease("a", "1"), lease("a", "2"))).toBe(true)
  })
})

describe("ignore", () => {
  const compile = (...ignore: string[]) => compileDetectRules({ detect: "content", ignore, gvk: gvkOf("v1.ConfigMap") })

  test("rejects what is not a pointer to a part of an object, by name", () => {
    for (const pointer of ["", "spec", "spec/a", "/a~", "/a~2b", "#/a"]) {
      expect(() => compile("/fine", pointer)).toThrow(new InvalidPointerError({ pointer }))
    }
    expect(new InvalidPointerError({ pointer: "x" }).message).toContain('"x"')
  })

  test("accepts a pointer below an ignored place, or a duplicate, without effect", () => {
    expect(compile("/spec", "/spec/a", "/spec", "/status/x")).toEqual(compile("/spec"))
    expect(compile("/spec/a", "/spec")).toEqual(compile("/spec"))
  })

  test("has no effect outside of spec when only the spec counts", () => {
    const of = (...ignore: string[]) => compileDetectRules({ detect: "spec", ignore, gvk: gvkOf("v1.Pod") })
    expect(of("/metadata/labels")).toEqual(of())
    expect(of("/spec")).not.toEqual(of())
  })
})

describe("a JSON pointer", () => {
  test("is the inverse of escaping its tokens", () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), (tokens) => {
        const pointer = tokens.map((token) => `/${token.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("")
        expect(parseJsonPointer(pointer)).toEqual(tokens)
      }),
    )
  })

  test("reads ~01 as ~1, not as a slash", () => {
    expect(parseJsonPointer("/~01")).toEqual(["~1"])
    expect(parseJsonPointer("/a~1b/~0")).toEqual(["a/b", "~"])
    expect(parseJsonPointer("/")).toEqual([""])
  })
})
