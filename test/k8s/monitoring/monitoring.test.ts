/** Alerts and dashboard use metrics and labels that a recorder has. */
import { readFile } from "node:fs/promises"
import { afterAll, beforeAll, expect, test } from "vitest"
import alerts from "../../../src/k8s/monitoring/alerts.json" with { type: "json" }
import dashboard from "../../../src/k8s/monitoring/dashboard.json" with { type: "json" }
import { Sandbox } from "../../../src/sandbox/index.ts"
import { type ParsedSample, parsePrometheusText } from "../../recorder/recorder/prometheus-text.ts"
import { Workplace } from "../../recorder/recorder/recorder-command.ts"
import { printed } from "../printed.ts"

let sandbox: Sandbox
let samples: ReadonlyArray<ParsedSample>
beforeAll(async () => {
  sandbox = await Sandbox.start()
  await using workplace = new Workplace()
  const recorder = workplace.record({
    cluster: { server: sandbox.url },
    kinds: { "apps/v1.Deployment": "{trackLifecycle: true}" },
    more: ["--pin-export-to", "s3://traces/pins", "--archive-to", workplace.path("stream")],
  })
  await recorder.ready()
  sandbox.put("v1.Pod", {
    metadata: {
      name: "owned",
      namespace: "default",
      ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "none", uid: "1" }],
    },
  })
  // An actor's metrics arrive with its first reply.
  await recorder.until(async () => (await recorder.get("/metrics")).text.includes("kubereel_mailbox_"), "mailboxes")
  samples = parsePrometheusText((await recorder.get("/metrics")).text)
})
afterAll(() => sandbox?.close())

/** Labels that Prometheus adds to what it scrapes from a pod. */
const scraped = ["namespace", "pod"]

/** A metric, and the labels that are used with it. */
const usesOf = (expression: string): ReadonlyArray<{ readonly name: string; readonly labels: ReadonlyArray<string> }> =>
  [...expression.matchAll(/\b((?:kubereel|process)_[a-z_]+)(?:\{([^}]*)\})?/g)].map(
    ([, name = "", selectors = ""]) => ({
      name,
      labels: [...selectors.matchAll(/([a-z_]+)\s*[=!]/g)].map(([, label = ""]) => label),
    }),
  )

/** Only functions and operators may remain of an expression without its metrics. */
const strangers = (expression: string): ReadonlyArray<string> =>
  expression
    .replace(/"[^"]*"/g, "")
    .replace(/\{[^}]*\}/g, "")
    .replace(/\[[^\]]*\]/g, "")
    .match(/[a-z_]{2,}/g)
    ?.filter(
      (word) =>
        !/^(?:kubereel_|process_)|^(?:absent|abs|increase|predict_linear|rate|resets|sum|time|by|and|or|unless|offset|on|state|namespace|pod)$/.test(
          word,
        ),
    ) ?? []

const targets = dashboard.panels.flatMap((panel) => ("targets" in panel ? (panel.targets ?? []) : []))
const expressions = [...alerts, ...targets].map(({ expr }) => expr)

test.each(expressions)("%s", (expression) => {
  const uses = usesOf(expression)
  expect(uses.length).toBeGreaterThan(0)
  for (const { name, labels } of uses) {
    const sample = samples.find((each) => each.name === name)
    expect(sample?.name).toBe(name)
    expect([...Object.keys(sample?.labels ?? {}), ...scraped]).toEqual(expect.arrayContaining([...labels]))
  }
  expect(strangers(expression)).toEqual([])
})

test("texts of alerts and legends use labels that their metrics have", () => {
  const check = (text: string, expression: string, pattern: RegExp): void => {
    const known = usesOf(expression).flatMap(({ name }) =>
      Object.keys(samples.find((each) => each.name === name)?.labels ?? {}),
    )
    for (const [, label = ""] of text.matchAll(pattern)) expect(known, `${label} in ${text}`).toContain(label)
  }
  for (const { annotations, expr } of alerts)
    check(annotations.summary + annotations.description, expr, /\$labels\.([a-z_]+)/g)
  for (const { expr, legendFormat } of targets) check(legendFormat, expr, /\{\{([a-z_]+)\}\}/g)
})

test("counters are queried for their increase, never for their value", () => {
  for (const expression of expressions)
    for (const [, name = ""] of expression.matchAll(/\b((?:kubereel|process)_[a-z_]+_total)/g))
      expect(expression).toMatch(new RegExp(`(?:increase|rate|resets)\\(${name}`))
})

test("every state in an alert exists", () => {
  const states = new Set(samples.filter(({ name }) => name === "kubereel_kind_state").map(({ labels }) => labels.state))
  for (const { expr } of alerts)
    for (const [, named = ""] of expr.matchAll(/state=~"([^"]*)"/g))
      for (const state of named.split("|")) expect(states).toContain(state)
})

test("every alert is explained in the guide", async () => {
  const guide = await readFile(new URL("../../../docs/guides/in-cluster.md", import.meta.url), "utf8")
  for (const { alert } of alerts) expect(guide).toContain(`\`${alert}\``)
})

test("every metric is in the reference", async () => {
  const page = await readFile(new URL("../../../docs/reference/http-api.md", import.meta.url), "utf8")
  // `…_recorded_total` continues the previous name, `x_{a,b}` are two, and other braces contain labels.
  const documented = [...page.matchAll(/`((?:kubereel_|process_|…_)[^`]*)`/g)].flatMap(([, token = ""]) => {
    const [, head = "", choices = "", tail = ""] = /^(.*_)\{(.*)\}(.*)$/.exec(token) ?? []
    return choices === "" ? [token.replace(/\{.*/, "")] : choices.split(",").map((each) => head + each + tail)
  })
  const isDocumented = (name: string): boolean =>
    documented.some((each) => each === name || (each.startsWith("…") && name.endsWith(each.slice(1))))
  expect([...new Set(samples.map(({ name }) => name))].filter((name) => !isDocumented(name))).toEqual([])
})

test("--monitoring prints the operator's objects and gives Prometheus access", async () => {
  const { objects, one } = await printed(
    "--offline",
    "--auth",
    "none",
    "--monitoring",
    "--monitoring-namespace",
    "metrics",
  )
  expect(one("PrometheusRule").spec.groups[0].rules).toHaveLength(alerts.length)
  const port = one("ServiceMonitor").spec.endpoints[0].port
  expect(one("Service").spec.ports.map(({ name }: { name: string }) => name)).toContain(port)
  expect(one("ServiceMonitor").spec.selector.matchLabels).toEqual(one("Service").spec.selector)
  expect(JSON.stringify(one("NetworkPolicy").spec.ingress)).toContain(`"kubernetes.io/metadata.name":"metrics"`)
  const maps = objects.filter(({ kind }) => kind === "ConfigMap")
  expect(JSON.parse(maps[1]?.data["kubereel.json"])).toEqual(dashboard)
})
