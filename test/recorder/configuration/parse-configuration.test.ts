import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { defaultRules } from "../../../src/kube/index.ts"
import {
  type ParsedConfiguration,
  parseConfiguration,
} from "../../../src/recorder/configuration/parse-configuration.ts"
import {
  type ConfigurationInvalidError,
  formatProblem,
  formatWarning,
} from "../../../src/recorder/configuration/problem.ts"
import type { DetectionDefaults, TrackedKind } from "../../../src/recorder/configuration/tracked-kind.ts"

const defaults: DetectionDefaults = {
  defaultDetect: (gvk) => (gvk.kind === "Pod" ? "all" : "content"),
  defaultIgnore: () => ["/metadata/annotations/leader"],
}

const parse = (
  text: string | Uint8Array,
  secretsInPlainText = false,
): Result.Result<ParsedConfiguration, ConfigurationInvalidError> =>
  parseConfiguration(typeof text === "string" ? new TextEncoder().encode(text) : text, {
    source: "tracer.yml",
    secretsInPlainText,
    defaults,
  })

const accept = (text: string | Uint8Array, secretsInPlainText = false): ParsedConfiguration =>
  Result.getOrThrowWith(parse(text, secretsInPlainText), (error) => error)

const kindsOf = (text: string): readonly TrackedKind[] => accept(text).configuration.kinds

const problemsOf = (text: string | Uint8Array): ConfigurationInvalidError["problems"] => {
  const result = parse(text)
  if (Result.isSuccess(result)) throw new Error(`accepted: ${JSON.stringify(result.success)}`)
  expect(result.failure._tag).toBe("ConfigurationInvalidError")
  return result.failure.problems
}

const mistakesOf = (text: string | Uint8Array): readonly string[] =>
  problemsOf(text).map((problem) => formatProblem("tracer.yml", problem))

/** Each mistake with its line and column. */
const placesOf = (text: string | Uint8Array): readonly string[] =>
  problemsOf(text).map(({ _tag, line, column }) => `${_tag} ${line}:${column}`)

const warningsOf = (text: string): readonly string[] =>
  accept(text).warnings.map((warning) => formatWarning("tracer.yml", warning))

/** One kind with the given settings, in flow style. */
const withSettings = (settings: string, kind = "example.com/v1.Thing"): string =>
  `trackedObjects:\n  ${kind}: {${settings}}\n`

describe("what SimKube accepts", () => {
  test("the example of its documentation is read as by SimKube", () => {
    expect(
      kindsOf(`
trackedObjects:
  apps/v1.Deployment: {}
  ml.example.com/v1.Training:
    podSpecTemplatePaths: ["/spec/roles/*/template"]
    trackLifecycle: true
    skipOwned: false
`),
    ).toEqual([
      {
        gvk: { group: "apps", version: "v1", kind: "Deployment" },
        gvkText: "apps/v1.Deployment",
        podSpecTemplatePaths: ["/spec/template"],
        trackLifecycle: false,
        skipOwned: false,
        keepManagedFields: true,
        detect: "content",
        ignore: ["/metadata/annotations/leader"],
        redaction: expect.objectContaining({ secret: false }),
      },
      {
        gvk: { group: "ml.example.com", version: "v1", kind: "Training" },
        gvkText: "ml.example.com/v1.Training",
        podSpecTemplatePaths: ["/spec/roles/*/template"],
        trackLifecycle: true,
        skipOwned: false,
        keepManagedFields: true,
        detect: "content",
        ignore: ["/metadata/annotations/leader"],
        redaction: expect.objectContaining({ secret: false }),
      },
    ])
  })

  test.each([
    ["batch/v1.CronJob", "/spec/jobTemplate/spec/template"],
    ["apps/v1.DaemonSet", "/spec/template"],
    ["apps/v1.Deployment", "/spec/template"],
    ["batch/v1.Job", "/spec/template"],
    ["apps/v1.ReplicaSet", "/spec"],
    ["apps/v1.StatefulSet", "/spec/template"],
    ["v1.Pod", ""],
  ])("%s has its pod template at %j, given or not", (kind, path) => {
    for (const settings of [
      "",
      "podSpecTemplatePaths: null",
      "podSpecTemplatePaths: []",
      `podSpecTemplatePaths: ["${path}"]`,
      `podSpecTemplatePath: "${path}"`,
      `podSpecTemplatePath: ~`,
    ])
      expect(kindsOf(withSettings(settings, kind))[0]?.podSpecTemplatePaths).toEqual([path])
  })

  test("a leading slash of a core kind's name is dropped", () => {
    expect(kindsOf("trackedObjects: {/v1.Pod: {}}")[0]?.gvkText).toBe("v1.Pod")
  })

  test("the deprecated path is used, with a warning, if the plural is missing or empty", () => {
    const text = withSettings('podSpecTemplatePath: "/spec/template", podSpecTemplatePaths: []')
    expect(kindsOf(text)[0]?.podSpecTemplatePaths).toEqual(["/spec/template"])
    expect(warningsOf(text)).toEqual([
      "tracer.yml:2:26: podSpecTemplatePath of example.com/v1.Thing is deprecated; write podSpecTemplatePaths with a list",
    ])
  })

  test("the deprecated path is ignored, with a warning, if there is a plural", () => {
    const text = withSettings("podSpecTemplatePath: /old, podSpecTemplatePaths: [/new]")
    expect(kindsOf(text)[0]?.podSpecTemplatePaths).toEqual(["/new"])
    expect(warningsOf(text)).toEqual([
      "tracer.yml:2:26: podSpecTemplatePath of example.com/v1.Thing is ignored because podSpecTemplatePaths is given; remove it",
    ])
  })

  test("paths of unknown kinds are never checked, but cause a warning", () => {
    const text = withSettings("podSpecTemplatePaths: [spec, /a~b, 404]")
    expect(kindsOf(text)[0]?.podSpecTemplatePaths).toEqual(["spec", "/a~b", "404"])
    expect(warningsOf(text)).toEqual([
      'tracer.yml:2:49: podSpecTemplatePaths of example.com/v1.Thing names "spec", which does not start with /; no pod template will be found there',
      'tracer.yml:2:55: podSpecTemplatePaths of example.com/v1.Thing names "/a~b", which has a ~ that is neither ~0 (for ~) nor ~1 (for /); no pod template will be found there',
      'tracer.yml:2:61: podSpecTemplatePaths of example.com/v1.Thing names "404", which does not start with /; no pod template will be found there',
    ])
  })

  test.each(["true", "True", "TRUE", "!!bool true"])("%s is true", (word) => {
    expect(kindsOf(withSettings(`trackLifecycle: ${word}`))[0]?.trackLifecycle).toBe(true)
  })

  test("if a kind appears twice, the last one wins, with a warning", () => {
    const text = "trackedObjects:\n  v1.Pod: {trackLifecycle: true}\n  /v1.Pod: {skipOwned: true}\n"
    expect(kindsOf(text)).toMatchObject([{ gvkText: "v1.Pod", trackLifecycle: false, skipOwned: "export" }])
    expect(warningsOf(text)).toEqual([
      "tracer.yml:3:3: v1.Pod appears twice, first in line 2; the last one wins, as in SimKube",
    ])
  })

  test("unknown keys at the top are ignored, with a warning that says what was probably intended", () => {
    expect(
      warningsOf(
        "trackedObjects: {v1.Pod: {}}\ntrackedObject: {}\ndetect: all\napps/v1.Deployment: {}\nnotes: [a, b]\n",
      ),
    ).toEqual([
      'tracer.yml:2:1: the key "trackedObject" has no effect here; did you mean trackedObjects?',
      'tracer.yml:3:1: the key "detect" has no effect here; it belongs inside a kind below trackedObjects',
      'tracer.yml:4:1: the key "apps/v1.Deployment" has no effect here; indent it below trackedObjects to record that kind',
      'tracer.yml:5:1: the key "notes" has no effect here; only trackedObjects and redact are read',
    ])
  })

  test("an empty list of kinds is accepted, with a warning", () => {
    expect(warningsOf("trackedObjects: {}")).toEqual([
      "tracer.yml:1:1: trackedObjects is empty: nothing will be recorded",
    ])
  })

  test("anchors and aliases share settings between kinds", () => {
    const text =
      "trackedObjects:\n  apps/v1.Deployment: &all {detect: all, ignore: &none []}\n  apps/v1.StatefulSet: *all\n  v1.Pod: {ignore: *none}\n"
    expect(kindsOf(text)).toMatchObject([
      { gvkText: "apps/v1.Deployment", detect: "all", ignore: [] },
      { gvkText: "apps/v1.StatefulSet", detect: "all", ignore: [] },
      { gvkText: "v1.Pod", detect: "all", ignore: [] },
    ])
  })

  test("an alias of a redefined anchor means the last definition before it", () => {
    const text = "a: &x all\ntrackedObjects: {v1.Node: {detect: &x spec}, v1.Pod: {detect: *x}}\nb: &x content\n"
    expect(kindsOf(text)[1]?.detect).toBe("spec")
  })
})

describe("what kubereel adds", () => {
  test.each(["{}", "", "~", "null"])("a kind without pod templates needs no path: v1.ConfigMap: %s", (value) => {
    expect(kindsOf(`trackedObjects:\n  v1.ConfigMap: ${value}\n`)).toMatchObject([{ podSpecTemplatePaths: [] }])
  })

  test("every setting of a kind is read", () => {
    expect(
      kindsOf(`
trackedObjects:
  example.com/v1.Thing:
    detect: spec
    ignore: [/metadata/labels/a~1b, "/status"]
    keepManagedFields: false
    labelSelector: app=web,tier notin (cache)
    fieldSelector: metadata.name!=x
    namespaces: [shop, shop, pay]
    skipOwned: ingest
`),
    ).toEqual([
      {
        gvk: { group: "example.com", version: "v1", kind: "Thing" },
        gvkText: "example.com/v1.Thing",
        podSpecTemplatePaths: [],
        trackLifecycle: false,
        skipOwned: "ingest",
        detect: "spec",
        ignore: ["/metadata/labels/a~1b", "/status"],
        keepManagedFields: false,
        labelSelector: "app=web,tier notin (cache)",
        fieldSelector: "metadata.name!=x",
        namespaces: ["shop", "pay"],
        redaction: expect.objectContaining({ secret: false }),
      },
    ])
  })

  test("defaults depend on the kind; a given ignore list replaces the default one", () => {
    expect(kindsOf("trackedObjects: {v1.Pod: {}, v1.Node: {ignore: [/a]}}")).toMatchObject([
      { detect: "all", ignore: ["/metadata/annotations/leader"] },
      { detect: "content", ignore: ["/a"] },
    ])
  })

  test("values of Secrets are redacted, however the kind is spelled, unless that is switched off", () => {
    const redactions = (text: string, secretsInPlainText: boolean) =>
      accept(text, secretsInPlainText).configuration.kinds.map(({ redaction }) => redaction?.secret)
    for (const kind of ["v1.Secret", "/v1.Secret"]) {
      expect(redactions(`trackedObjects: {${kind}: {}}`, false)).toEqual([true])
      expect(redactions(`trackedObjects: {${kind}: {}}`, true)).toEqual([false])
    }
  })

  test("redaction rules are those of the kind: only kinds with pods have variables, headers and command lines", () => {
    const kinds = kindsOf(`
redact:
  env: ["*_DSN2"]
  annotations: [example.com/key]
  pointers: {v1.ConfigMap: [/data/*], "*": [/spec/token]}
  without: [env-tokens]
trackedObjects: {v1.ConfigMap: {}, v1.Pod: {}, example.com/v1.Thing: {}}
`)
    expect(kinds.map(({ redaction }) => redaction?.pointers)).toEqual([
      ["/spec/token", "/data/*"],
      ["/spec/token"],
      ["/spec/token"],
    ])
    expect(kinds.map(({ redaction }) => redaction?.env.includes("*_DSN2"))).toEqual([false, true, true])
    expect(kinds.some(({ redaction }) => redaction?.env.includes("*TOKEN*"))).toBe(false)
    expect(kinds.every(({ redaction }) => redaction?.annotations.includes("example.com/key"))).toBe(true)
    const plain = kindsOf("trackedObjects: {v1.ConfigMap: {}, v1.Node: {}, apps/v1.Deployment: {}}")
    const { env, headers, arguments: words, annotations, addresses } = plain[0]?.redaction ?? {}
    expect([env, headers, words, addresses, (annotations ?? []).length > 0]).toEqual([[], [], [], true, true])
    expect(plain.map(({ redaction }) => (redaction?.headers ?? []).length > 0)).toEqual([false, false, true])
    const names = [...defaultRules.keys()]
    const none = kindsOf(`redact: {without: [${names.join(", ")}]}\ntrackedObjects: {v1.Pod: {}, v1.ConfigMap: {}}`)
    expect(none.map(({ redaction }) => redaction)).toEqual([undefined, undefined])
  })

  test("mistakes in redaction rules are reported with their positions", () => {
    expect(
      mistakesOf(`
redact:
  envs: [A]
  env: [""]
  pointers: {ConfigMap: [/data], v1.Pod: [data, /metadata/name, /*, /kind]}
  without: [env-token]
trackedObjects: {v1.Pod: {}}
redact: {}
`),
    ).toEqual([
      'tracer.yml:3:3: unknown key "envs" in redact; did you mean "env"? allowed: env, annotations, pointers, without',
      'tracer.yml:4:9: env[0] of redact is "": it names nothing; write a name such as *_DSN, in which * is any text',
      'tracer.yml:5:14: "ConfigMap" is not a kind: write a kind as group/version.Kind, as version.Kind for the core group, or * for every kind; did you mean "v1.ConfigMap"?',
      'tracer.yml:5:43: pointers.v1.Pod[0] of redact is "data": it does not start with /; it must be a JSON pointer such as /data/password or /spec/users/*/token',
      'tracer.yml:5:49: pointers.v1.Pod[1] of redact is "/metadata/name": it names metadata other than annotations, without which the object cannot be told from others; it must be a JSON pointer such as /data/password or /spec/users/*/token',
      'tracer.yml:5:65: pointers.v1.Pod[2] of redact is "/*": it names the object as a whole; it must be a JSON pointer such as /data/password or /spec/users/*/token',
      'tracer.yml:5:69: pointers.v1.Pod[3] of redact is "/kind": it names what kind of object it is; it must be a JSON pointer such as /data/password or /spec/users/*/token',
      'tracer.yml:6:13: without[0] of redact is "env-token": it is not a default rule; they are env-auth, env-passwords, env-tokens, env-keys, env-connections, env-docker, annotation-copies, annotation-tokens, annotation-names, headers, arguments, addresses; did you mean "env-tokens"?',
      'tracer.yml:8:1: the key "redact" appears twice in the file, first in line 2; remove one of them',
    ])
  })

  test("a misspelt built-in kind is accepted, with a warning; custom resources are not second-guessed", () => {
    expect(
      warningsOf(
        "trackedObjects: {apps/v1.Deploymnet: {}, autoscaling/v1.HorizontalPodAutoscaler: {}, example.com/v1.Deployments: {}}",
      ),
    ).toEqual([
      'tracer.yml:1:18: apps/v1.Deploymnet is not a built-in kind that kubereel knows; did you mean "apps/v1.Deployment"? It will be recorded once the cluster has it',
    ])
  })
})

test("a pointer with a wildcard causes a warning, and fields can be ignored with any detect", () => {
  expect(
    warningsOf(
      "trackedObjects: {v1.Pod: {ignore: [/a]}, v1.Node: {detect: all, ignore: []}, v1.Event: {ignore: ['/a/*/b']}}",
    ),
  ).toEqual(['tracer.yml:1:98: ignore[0] of v1.Event is "/a/*/b"; * is not a wildcard here, but the name of a member'])
})

describe("files that are not configurations", () => {
  test.each<[name: string, file: string | Uint8Array, mistake: string]>([
    ["an empty file", "", "MissingKey 1:1"],
    ["a byte order mark alone", "\uFEFF", "MissingKey 1:1"],
    ["only comments", "# kubereel\n---\n", "MissingKey 1:1"],
    ["a list", "- apps/v1.Deployment\n", "WrongType 1:1"],
    ["a word", "hello", "WrongType 1:1"],
    ["a number", "42", "WrongType 1:1"],
    ["tabs", "trackedObjects:\n\tv1.Pod: {}\n", "Syntax 2:1"],
    ["two documents", "trackedObjects: {}\n---\ntrackedObjects: {}\n", "Syntax 2:1"],
    ["an unclosed bracket", "trackedObjects: {v1.Pod: {}\n", "Syntax 2:1"],
    ["a kubeconfig", "apiVersion: v1\nkind: Config\nclusters: []\nusers: [{user: {token: hush}}]\n", "MissingKey 1:1"],
    ["an object", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", "MissingKey 1:1"],
    ["kinds not indented", "apps/v1.Deployment: {}\n", "MissingKey 1:1"],
    ["a misspelt first key", "trackedobjects:\n  v1.Pod: {}\n", "MissingKey 1:1"],
    ["the first key without kinds", "trackedObjects:\n", "WrongType 1:1"],
    ["kinds as a list", "trackedObjects:\n  - v1.Pod\n", "WrongType 2:3"],
    ["the first key twice", "trackedObjects: {}\ntrackedObjects: {}\n", "DuplicateKey 2:1"],
    ["gzip", Uint8Array.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]), "NotText 1:1"],
    ["a text with a control character", "trackedObjects:\n  v1.Pod: \u001b[2J\n", "NotText 2:11"],
    ["random bytes", Uint8Array.from([0xc3, 0x28, 0xa0, 0xa1]), "NotText 1:1"],
    ["a file that is too large", new Uint8Array(256 * 1024 + 1).fill(0x20), "TooLarge 1:1"],
    ["an alias without an anchor", "trackedObjects: {v1.Pod: *nothing}\n", "WrongType 1:26"],
    ["an anchor inside itself", "trackedObjects: &a\n  v1.Pod: *a\n", "UnknownKey 2:3"],
  ])("%s is refused", (_, file, mistake) => {
    expect(placesOf(file)).toEqual([mistake])
  })

  test.each([
    ["", "begin the file with trackedObjects: and indent the kinds below it"],
    ["apiVersion: v1\nkind: Config\nclusters: []\n", "this looks like a kubeconfig; pass it with --kubeconfig"],
    ["apiVersion: v1\nkind: Pod\n", "this looks like a Kubernetes object, not a configuration"],
    ["apps/v1.Deployment: {}\n", "write trackedObjects: above the kinds and indent them below it"],
    ["trackedobjects:\n  v1.Pod: {}\n", 'rename "trackedobjects" in line 1'],
  ])("without the first key, %j gets the advice: %s", (file, advice) => {
    expect(mistakesOf(file)).toEqual([expect.stringContaining(advice)])
  })

  test("deep nesting is rejected with advice, at the depth that the thread's stack allows", () => {
    expect(mistakesOf("[".repeat(20_000))).toEqual([
      expect.stringMatching(
        /^tracer\.yml:1:\d+: not valid YAML: it is nested too deeply; a configuration has four levels$/,
      ),
    ])
  })

  test("UTF-16, as PowerShell writes it, is read", () => {
    const text = "\uFEFFtrackedObjects: {v1.Pod: {}}\r\n"
    const little = Buffer.from(text, "utf16le")
    const big = Buffer.from(little).swap16()
    expect(accept(little).configuration.kinds).toHaveLength(1)
    expect(accept(big).configuration.kinds).toHaveLength(1)
    expect(accept(`\uFEFFtrackedObjects: {v1.Pod: {}}`).configuration.kinds).toHaveLength(1)
  })

  test("aliases cannot multiply work", () => {
    const things = Array.from({ length: 3000 }, (_, index) => `  example.com/v1.Thing${index}: *settings\n`).join("")
    const list = Array.from({ length: 3000 }, () => "/a").join(",")
    const text = `settings: &settings {ignore: [${list}]}\ntrackedObjects:\n${things}`
    expect(mistakesOf(text)).toEqual([
      "tracer.yml:1:1: the file contains more than 100000 values after expanding aliases; use fewer aliases",
    ])
  })

  test("the thousand laughs are rejected at once", () => {
    const levels = Array.from(
      { length: 20 },
      (_, n) => `a${n + 1}: &a${n + 1} [${"*a".concat(String(n), ",").repeat(9)}]`,
    )
    const text = `a0: &a0 [lol]\n${levels.join("\n")}\ntrackedObjects:\n  v1.Pod:\n    ignore: *a20\n`
    expect(mistakesOf(text)[0]).toMatch(/ignore\[0\] of v1\.Pod is a list; it must be text/)
  })
})

describe("mistakes inside a kind", () => {
  test.each([
    ["a misspelt key", "trackLifecyle: true", "UnknownKey 2:26"],
    ["a key of another case", "TrackLifecycle: true", "UnknownKey 2:26"],
    ["an unknown key", "colour: red", "UnknownKey 2:26"],
    ["a merge key", "<<: {detect: all}", "UnknownKey 2:26"],
    ["a repeated key", "trackLifecycle: true, trackLifecycle: false", "DuplicateKey 2:48"],
    ["yes for true", "trackLifecycle: yes", "WrongType 2:42"],
    ["a quoted boolean", 'trackLifecycle: "true"', "WrongType 2:42"],
    ["an empty boolean", "trackLifecycle: ", "WrongType 2:42"],
    ["a list for a boolean", "keepManagedFields: [true]", "WrongType 2:45"],
    ["an unknown way to skip", "skipOwned: export", "WrongType 2:37"],
    ["a misspelt detect", "detect: contents", "InvalidValue 2:34"],
    ["an unknown detect", "detect: everything", "InvalidValue 2:34"],
    ["an empty detect", "detect: ", "InvalidValue 2:34"],
    ["a text for a list", "ignore: /metadata/labels", "WrongType 2:34"],
    ["a path that is no pointer", "ignore: [/a, metadata.labels]", "InvalidValue 2:39"],
    ["a pointer with a wrong escape", "ignore: [/a~2b]", "InvalidValue 2:35"],
    ["a pointer to everything", 'ignore: [""]', "InvalidValue 2:35"],
    ["a mapping for a pointer", "ignore: [{path: /a}]", "WrongType 2:35"],
    ["an empty selector", 'labelSelector: ""', "InvalidValue 2:41"],
    ["a selector without a value list", "labelSelector: app in web", "InvalidValue 2:41"],
    ["a selector with a bad key", "labelSelector: 'a b=c'", "InvalidValue 2:41"],
    ["a field selector without a value", "fieldSelector: metadata.name", "InvalidValue 2:41"],
    ["a namespace with a capital letter", "namespaces: [Shop]", "InvalidValue 2:39"],
    ["no namespaces", "namespaces: []", "WrongType 2:38"],
    ["one namespace without a list", "namespaces: shop", "WrongType 2:38"],
    ["a list for the settings", "] ", "WrongType 1:26"],
  ])("%s is named with its place", (_, settings, mistake) => {
    const text = settings === "] " ? "trackedObjects: {v1.Pod: [a]}" : withSettings(settings)
    expect(placesOf(text)).toEqual([mistake])
  })

  test.each([
    "Deployment",
    "deployments.apps",
    "apps/v1/Deployment",
    "apps.v1.Deployment",
    "apps/v1.Deployment.spec",
    "Apps/v1.Deployment",
    "apps/V1.Deployment",
    "apps/v1.",
    "v1.Po d",
    "<<",
  ])("%j is not a kind", (kind) => {
    expect(placesOf(`trackedObjects: {${JSON.stringify(kind)}: {}}`)).toEqual(["InvalidKind 1:18"])
  })

  test("a path with which SimKube would reject the trace is rejected, with the reason", () => {
    expect(mistakesOf(withSettings("podSpecTemplatePaths: [/spec/template]", "apps/v1.ReplicaSet"))).toEqual([
      'tracer.yml:2:47: podSpecTemplatePaths of apps/v1.ReplicaSet is "/spec/template"; SimKube fixes it at "/spec" and rejects traces with other paths. Omit the key',
    ])
    expect(mistakesOf(withSettings("podSpecTemplatePath: /x", "v1.Pod"))).toHaveLength(1)
  })

  test("all mistakes are reported at once, in the order of the file", () => {
    expect(
      placesOf(`trackedObjects:
  Deployment: {}
  v1.Node:
    detect: al
    colour: red
    namespaces: shop
  v1.Secret:
    ignore: [x, y]
`),
    ).toEqual([
      ...["InvalidKind 2:3", "InvalidValue 4:13", "UnknownKey 5:5"],
      ...["WrongType 6:17", "InvalidValue 8:14", "InvalidValue 8:17"],
    ])
  })

  test("at most a hundred mistakes are reported", () => {
    const kinds = Array.from({ length: 500 }, (_, index) => `  thing${index}: {}\n`).join("")
    expect(mistakesOf(`trackedObjects:\n${kinds}`)).toHaveLength(100)
  })

  test("the content of the file cannot control a terminal or fill a log", () => {
    const [message = ""] = mistakesOf(`trackedObjects: {v1.Pod: {"\\e]0;owned\\a\\u202e${"x".repeat(5000)}": 1}}`)
    expect(message).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    expect(message.length).toBeLessThan(400)
  })
})
