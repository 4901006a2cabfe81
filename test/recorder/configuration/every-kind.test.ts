/** `"*"` in trackedObjects: how it is read, and what it means on a server. */
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { type DiscoveredKind, defaultDetect, defaultIgnore } from "../../../src/kube/index.ts"
import { parseGvk } from "../../../src/kube/offline.ts"
import { defaultExceptions } from "../../../src/recorder/configuration/every-kind.ts"
import { parseConfiguration } from "../../../src/recorder/configuration/parse-configuration.ts"
import { WantedKinds } from "../../../src/recorder/configuration/reload/server-kinds.ts"
import { type GivenLimits, retentionSettings } from "../../../src/recorder/configuration/retention-limits.ts"

const defaults = { defaultDetect, defaultIgnore }
const parse = (text: string) => parseConfiguration(Buffer.from(text), { source: "all.yml", defaults })
const problemsOf = (text: string): ReadonlyArray<string> => {
  const parsed = parse(text)
  return Result.isFailure(parsed) ? parsed.failure.message.split("\n") : []
}

const kind = (text: string, more: Partial<DiscoveredKind> = {}): DiscoveredKind => {
  const gvk = parseGvk(text)
  if (gvk === undefined) throw new Error(text)
  return { gvk, plural: `${gvk.kind.toLowerCase()}s`, verbs: ["get", "list", "watch"], isNamespaced: true, ...more }
}

const server = [
  kind("v1.ConfigMap"),
  kind("v1.Endpoints"),
  kind("v1.Event"),
  kind("v1.Namespace", { isNamespaced: false }),
  kind("v1.Pod"),
  kind("v1.Secret"),
  kind("v1.ComponentStatus", { verbs: ["get", "list"] }),
  kind("v1.Binding", { verbs: ["create"] }),
  kind("apps/v1.Deployment"),
  kind("autoscaling/v2.HorizontalPodAutoscaler"),
  kind("autoscaling/v1.HorizontalPodAutoscaler"),
  kind("coordination.k8s.io/v1.Lease"),
  kind("events.k8s.io/v1.Event"),
  kind("metrics.k8s.io/v1beta1.PodMetrics", { verbs: ["get", "list"] }),
  kind("example.com/v1.Widget"),
]

const recorded = (text: string, { secretsInPlainText = false, namespaces = [] as string[] } = {}) => {
  const wanted = new WantedKinds(Result.getOrThrow(parse(text)).configuration, {
    secretsInPlainText,
    namespaces,
    defaults,
  })
  wanted.discover(server)
  return { gvks: wanted.kinds.map(({ gvkText }) => gvkText), wanted }
}

describe("every kind", () => {
  test("is each that can be watched, once, in the preferred version, without noise", () => {
    const { gvks, wanted } = recorded('trackedObjects: {"*": {}}')
    expect(gvks).toEqual([
      "v1.ConfigMap",
      "v1.Event",
      "v1.Namespace",
      "v1.Pod",
      "v1.Secret",
      "apps/v1.Deployment",
      "autoscaling/v2.HorizontalPodAutoscaler",
      "example.com/v1.Widget",
    ])
    expect(wanted.kinds.find(({ gvkText }) => gvkText === "apps/v1.Deployment")).toMatchObject({
      podSpecTemplatePaths: ["/spec/template"],
      detect: "all",
      trackLifecycle: false,
    })
    expect(wanted.kinds.find(({ gvkText }) => gvkText === "v1.ConfigMap")?.detect).toBe("content")
  })

  test("is redacted by the rules of the file, whenever it is discovered", () => {
    const text = `redact: {pointers: {v1.ConfigMap: [/data/password], example.com/v1.Widget: [/spec/key]}}
trackedObjects: {"*": {}}`
    const redactionOf = (gvk: string, options = {}) =>
      recorded(text, options).wanted.kinds.find(({ gvkText }) => gvkText === gvk)?.redaction
    expect(redactionOf("v1.Secret")).toMatchObject({ secret: true })
    expect(redactionOf("v1.ConfigMap")).toMatchObject({ secret: false, pointers: ["/data/password"] })
    expect(redactionOf("example.com/v1.Widget")).toMatchObject({ pointers: ["/spec/key"] })
    expect(redactionOf("v1.Pod")?.env).toContain("*PASSWORD*")
    expect(redactionOf("v1.Namespace")).toMatchObject({ secret: false, env: [], addresses: true })
    expect(redactionOf("v1.Secret", { secretsInPlainText: true })?.secret ?? false).toBe(false)
  })

  test("includes whatever the exceptions do not name", () => {
    const { gvks } = recorded('trackedObjects: {"*": {except: [v1.Event, example.com/*]}}')
    expect(gvks).toContain("coordination.k8s.io/v1.Lease")
    expect(gvks).toContain("v1.Endpoints")
    expect(gvks.filter((gvk) => gvk.includes("Event") || gvk.includes("example.com"))).toEqual([])
  })

  test("has its settings, and a kind that is named its own, whatever its version", () => {
    const { gvks, wanted } = recorded(
      'trackedObjects: {autoscaling/v1.HorizontalPodAutoscaler: {detect: all}, "*": {detect: spec, keepManagedFields: false}}',
    )
    expect(gvks[0]).toBe("autoscaling/v1.HorizontalPodAutoscaler")
    expect(gvks).not.toContain("autoscaling/v2.HorizontalPodAutoscaler")
    expect(wanted.kinds[0]).toMatchObject({ detect: "all", keepManagedFields: true })
    expect(new Set(wanted.kinds.slice(1).map(({ detect }) => detect))).toEqual(new Set(["spec"]))
    expect(new Set(wanted.kinds.slice(1).map(({ keepManagedFields }) => keepManagedFields))).toEqual(new Set([false]))
  })

  test("has no cluster-scoped kinds if it is restricted to namespaces", () => {
    const { gvks, wanted } = recorded('trackedObjects: {"*": {}}', { namespaces: ["shop"] })
    expect(gvks).not.toContain("v1.Namespace")
    expect(new Set(wanted.kinds.map(({ namespaces }) => namespaces?.join()))).toEqual(new Set(["shop"]))
  })

  test("is only asked for with the star", () => {
    const { gvks, wanted } = recorded("trackedObjects: {v1.Pod: {}}")
    expect(gvks).toEqual(["v1.Pod"])
    expect(wanted.isEvery).toBe(false)
    wanted.configure(Result.getOrThrow(parse('trackedObjects: {"*": {}}')).configuration)
    expect([wanted.isEvery, wanted.kinds.length]).toEqual([true, 8])
  })
})

describe("limits of the star", () => {
  const hour = 3_600_000_000
  const settings = (text: string, given?: GivenLimits) =>
    retentionSettings(Result.getOrThrow(parse(`trackedObjects: ${text}`)).configuration, given)

  test("are those of each kind that the file does not name, whether or not the server has it", () => {
    const text = '{"*": {retainFor: 12h, retainBytes: 500Mi}, v1.Pod: {}, v1.Event: {retainFor: 1h}}'
    expect(settings(text)).toEqual({
      each: { forMicros: 12 * hour, bytes: 500 * 1024 * 1024 },
      kinds: [{ gvk: "v1.Pod" }, { gvk: "v1.Event", forMicros: hour }],
    })
    const { wanted } = recorded(`trackedObjects: ${text}`)
    // So no watcher starts anew because a limit changed.
    expect(wanted.kinds.filter((each) => each.retainFor ?? each.retainBytes).map(({ gvkText }) => gvkText)).toEqual([
      "v1.Event",
    ])
  })

  test("leave what the command line says of one kind, and keep the other limit of it", () => {
    const kinds = new Map([["v1.Event", { retainFor: hour }]])
    expect(settings('{"*": {retainBytes: 500Mi}}', { kinds, retainFor: 2 * hour })).toEqual({
      forMicros: 2 * hour,
      each: { bytes: 500 * 1024 * 1024 },
      kinds: [{ gvk: "v1.Event", forMicros: hour, bytes: 500 * 1024 * 1024 }],
    })
  })

  test("are none if it has none: named kinds without limits need no mention", () => {
    expect(settings('{"*": {}, v1.Pod: {}}')).toEqual({ kinds: [] })
  })
})

describe("the star in the file", () => {
  test("has the documented exceptions by default", () => {
    for (const text of ['{"*": {}}', '{"*": }', '{"*": null}'])
      expect(Result.getOrThrow(parse(`trackedObjects: ${text}`)).configuration).toMatchObject({
        kinds: [],
        every: { except: defaultExceptions },
      })
  })

  test.each([
    ["{exept: []}", 'unknown key "exept" in *; did you mean "except"? allowed: except, skipOwned, detect'],
    ["{trackLifecycle: true}", 'unknown key "trackLifecycle" in *'],
    ["{podSpecTemplatePath: /spec}", 'unknown key "podSpecTemplatePath" in *'],
    ["{except: [Event]}", 'except[0] of * is "Event": write a kind as group/version.Kind or v1.Kind'],
    ["{except: v1.Event}", 'except of * is "v1.Event"; it must be a list of strings'],
    ["{retainFor: 5m}", 'retainFor of * is "5m": it must be at least 10m'],
    ["{retainBytes: 1Ki}", 'retainBytes of * is "1Ki": it must be at least 1Mi'],
    ["{detect: some}", 'detect of * is "some": it must be one of all, content, spec'],
  ])("%s is a mistake", (settings, problem) => {
    const problems = problemsOf(`trackedObjects:\n  "*": ${settings}\n`)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(problem)
  })
})
