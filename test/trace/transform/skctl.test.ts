/**
 * SimKube's own command line (KUBEREEL_SKCTL names its binary) transforms the same traces by the same programs: what is left of each moment is the same, but for
 * its defects (docs/facts/simkube.md): W-64 to W-68 end its run, and W-69 leaves moments out.
 */
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import fc from "fast-check"
import { afterAll, describe, expect, test } from "vitest"
import { openDecoder } from "../../../src/trace/files/codecs.ts"
import { encodeMessagePack } from "../../../src/trace/formats/simkube/message-pack/message-pack-writer.ts"
import type { TraceItem } from "../../../src/trace/trace-item.ts"
import { parseProgram } from "../../../src/trace/transform/language/parse-program.ts"
import { runBatch } from "../../../src/trace/transform/object-batch.ts"
import { noTransformation, transformedItems } from "../../../src/trace/transform/transformed-items.ts"
import { asMap } from "../../validation/as-map.ts"
import { realTraces, whyNoPublished } from "../formats/traces.ts"

const skctl = process.env.KUBEREEL_SKCTL ?? ""
const whyNot = skctl === "" ? "KUBEREEL_SKCTL does not name SimKube's skctl" : undefined

const folder = mkdtempSync(join(tmpdir(), "reel-skctl-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** SimKube's trace after the program, or why there is none. */
const theirs = async (trace: Uint8Array, program: string): Promise<ReadonlyArray<Moment> | Error> => {
  const path = (name: string): string => join(folder, name)
  writeFileSync(path("trace"), trace)
  writeFileSync(path("program"), program)
  try {
    await promisify(execFile)(skctl, ["transform", path("trace"), path("program"), "-o", path("out")])
    return momentsOf(await itemsOf(readFileSync(path("out"))))
  } catch (error) {
    return error as Error
  } finally {
    rmSync(path("out"), { force: true })
  }
}

/** The objects of one moment; `deleted`: `v1.Pod shop/web`. */
interface Moment {
  readonly time: number
  readonly applied: ReadonlyArray<unknown>
  readonly deleted: ReadonlyArray<string>
}

const itemsOf = async (trace: Uint8Array): Promise<ReadonlyArray<TraceItem>> => {
  const decoder = await openDecoder("simkube")
  return [...decoder.push(trace), ...decoder.end()]
}

/** The moments at which something happens: others are left out by SimKube (W-69). */
const momentsOf = (items: ReadonlyArray<TraceItem>): ReadonlyArray<Moment> => {
  const moments: { time: number; applied: unknown[]; deleted: string[] }[] = []
  for (const item of items) {
    if (item.type === "batch") moments.push({ time: item.time, applied: [], deleted: [] })
    if (item.type !== "event" || item.event.type !== "object") continue
    const { gvk, namespace, name, action, object } = item.event
    if (action === "applied") moments.at(-1)?.applied.push(JSON.parse(Buffer.from(object).toString()))
    else moments.at(-1)?.deleted.push(`${gvk} ${namespace}/${name}`)
  }
  return moments.filter(({ applied, deleted }) => applied.length + deleted.length > 0)
}

const ours = async (trace: Uint8Array, text: string): Promise<ReadonlyArray<Moment>> => {
  const program = parseProgram(text)
  const source = await itemsOf(trace)
  async function* chunks(): AsyncGenerator<Iterable<TraceItem>, void> {
    yield source
  }
  const items: TraceItem[] = []
  const options = { program, run: runBatch, lanes: 1, samples: 0 }
  for await (const chunk of transformedItems(chunks(), options, noTransformation(program))) items.push(...chunk)
  return momentsOf(items)
}

/** Programs as SimKube's users write them, for a trace that begins at this second. */
const programs = (begin: number): ReadonlyArray<string> => [
  "remove(status);",
  'delete(metadata.namespace == "kube-system");',
  'delete(kind == "Pod" && exists(metadata.ownerReferences));',
  'modify(@t >= 5s && kind == "Deployment", spec.replicas = 3);',
  'modify(metadata.labels."app.kubernetes.io/name" == "web", spec.template.spec.priorityClassName = "high");',
  'remove($c := spec.template.spec.containers[*] | $c.name == "istio-proxy", $c);',
  "remove($c := spec.template.spec.containers[*] | exists($c.resources), $c.resources);",
  'modify($c := spec.template.spec.containers[*] | $c.imagePullPolicy == "Always", $c.imagePullPolicy = "Never");',
  "modify($n := metadata.name | exists($n), spec.template.spec.nodeSelector.zone = $n);",
  `remove($v := spec.template.spec.volumes[*] | exists($v.persistentVolumeClaim)
    && $m := spec.template.spec.containers[*].volumeMounts[*] | $m.name == $v.name, $m);`,
  `remove(!exists(spec.template.spec.affinity) && @t < ${begin + 20}, spec.template.spec.tolerations);`,
  'delete(kind != "Deployment");',
  "remove(spec.replicas != 1, metadata.labels);",
  'remove(*, metadata.annotations); modify(metadata.labels."example.com/from" = "trace");',
  "delete(exists(spec.template.spec.containers[*].resources.limits) && @t > 1s);",
]

/** The defects of its language that end its run, with a program each. */
const defects: ReadonlyArray<readonly [defect: string, program: string]> = [
  ["W-64: a # in a string", 'modify(metadata.labels.a = "x#y");'],
  [
    "W-66: assigns to elements",
    'modify(exists(spec.template.spec.containers), spec.template.spec.containers[*].imagePullPolicy = "Never");',
  ],
  [
    "W-67: a value that an object does not have",
    "modify(spec.template.spec.schedulerName = spec.template.spec.nodeName);",
  ],
  [
    "W-68: an element that matches twice",
    "remove($c := spec.template.spec.containers[*] | exists($c.env[*].name), $c);",
  ],
]

const pod = (name: string, body: object): object => ({
  containers: [
    {
      name,
      image: `${name}:1`,
      imagePullPolicy: "Always",
      env: [{ name: "A", value: "1" }, { name: "B" }],
      volumeMounts: [
        { name: "data", mountPath: "/data" },
        { name: "tmp", mountPath: "/tmp" },
      ],
    },
    { name: "istio-proxy", image: "istio:1", ports: [{ containerPort: 80 }, { containerPort: 15_001 }] },
  ],
  volumes: [
    { name: "data", persistentVolumeClaim: { claimName: "c" } },
    { name: "tmp", emptyDir: {} },
  ],
  ...body,
})
const deployment = (name: string, replicas: number, body: object = {}): object => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { namespace: "shop", name, labels: { app: name, "example.com/tier": "gold" }, annotations: { "a/b": "c" } },
  spec: { replicas, paused: false, template: { spec: pod(name, body) } },
  status: { replicas },
})
const configMap = (name: string, namespace: string): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace, name },
  data: { replicas: "1", zone: "a" },
})
const begin = 1_710_000_000
const objects = [
  deployment("web", 2),
  deployment("api", 1, { nodeSelector: { zone: "a" }, tolerations: [] }),
  configMap("web", "shop"),
  configMap("api", "back"),
]

/** Four objects, later changes of two of them, and a deletion. */
const trace = encodeMessagePack(
  asMap({
    version: 2,
    config: {
      trackedObjects: {
        "apps/v1.Deployment": { podSpecTemplatePaths: ["/spec/template"] },
        "v1.ConfigMap": { podSpecTemplatePaths: ["/spec/template"] },
      },
    },
    events: [
      { ts: begin, applied_objs: objects, deleted_objs: [] },
      {
        ts: begin + 60,
        applied_objs: [deployment("web", 3, { nodeName: "n" }), configMap("web", "shop")],
        deleted_objs: [],
      },
      { ts: begin + 90, applied_objs: [], deleted_objs: [configMap("api", "back")] },
    ],
    index: {},
    pod_lifecycles: {},
  }),
)

type Step = string | number
/** Every place in a value, with what is there. */
const placesIn = (
  value: unknown,
  steps: ReadonlyArray<Step> = [],
): ReadonlyArray<readonly [ReadonlyArray<Step>, unknown]> => {
  const inner: ReadonlyArray<readonly [Step, unknown]> = Array.isArray(value)
    ? value.map((element, index) => [index, element] as const)
    : typeof value === "object" && value !== null
      ? Object.entries(value)
      : []
  return [[steps, value], ...inner.flatMap(([step, each]) => placesIn(each, [...steps, step]))]
}
const places = objects.flatMap((each) => placesIn(each)).filter(([steps]) => steps.length > 0)

const pathText = (steps: ReadonlyArray<Step>, stars: boolean): string =>
  steps
    .map((step) =>
      typeof step === "number" ? `[${stars ? "*" : step}]` : /^[\w-]+$/.test(step) ? `.${step}` : `."${step}"`,
    )
    .join("")
    .replace(/^\./, "")

const somePath = fc.tuple(fc.constantFrom(...places), fc.boolean()).map(([[steps], stars]) => pathText(steps, stars))
const missing = fc.constantFrom("spec.nowhere", "metadata.labels.none", "spec.template.spec.containers[7]")
const anyPath = fc.oneof({ weight: 5, arbitrary: somePath }, { weight: 1, arbitrary: missing })
const scalars = places.map(([, value]) => value).filter((value) => typeof value !== "object")
const someValue = fc
  .oneof(fc.constantFrom(...scalars), fc.constantFrom("x", 7, true))
  .map((value) => JSON.stringify(value))
const equality = fc.constantFrom("==", "!=")
const moment = fc.constantFrom("30s", "60s", "1m", "2h", String(begin), String(begin + 60), String(begin + 61))
const condition = fc.oneof(
  anyPath.map((path) => `exists(${path})`),
  anyPath.map((path) => `!exists(${path})`),
  fc.tuple(anyPath, equality, someValue).map((parts) => parts.join(" ")),
  fc.tuple(fc.constantFrom("==", "!=", "<", "<=", ">", ">="), moment).map((parts) => `@t ${parts.join(" ")}`),
)
/** Elements of a list, by something within them. */
const bound = fc
  .constantFrom(...places.filter(([steps]) => steps.some((step) => typeof step === "number")))
  .map(([steps]) => {
    const last = steps.findLastIndex((step) => typeof step === "number") + 1
    return [pathText(steps.slice(0, last), true), pathText(steps.slice(last), true)] as const
  })
const rest = (text: string): string => (text === "" || text.startsWith("[") ? text : `.${text}`)
const binding = fc
  .tuple(bound, fc.oneof(fc.constant("exists"), fc.tuple(equality, someValue)))
  .map(([[list, inner], test]) =>
    test === "exists"
      ? `$v := ${list} | exists($v${rest(inner)})`
      : `$v := ${list} | $v${rest(inner)} ${test.join(" ")}`,
  )
const selector = fc.oneof(
  fc.constant({ text: "*", variable: false }),
  fc.array(condition, { minLength: 1, maxLength: 2 }).map((parts) => ({ text: parts.join(" && "), variable: false })),
  fc.tuple(binding, fc.array(condition, { maxLength: 1 })).map(([first, more]) => ({
    text: [first, ...more].join(" && "),
    variable: true,
  })),
)
/** Without what says which object it is: SimKube loses it, and we refuse that. */
const target = (variable: boolean): fc.Arbitrary<string> => {
  const any = anyPath.filter((path) => !/^(?:apiVersion|kind|metadata(?:\.name(?:space)?)?)$/.test(path))
  return variable ? fc.oneof(fc.constantFrom("$v", "$v.name", "$v.image", "$v.more.deep"), any) : any
}
const command = selector.chain(({ text, variable }) =>
  fc.oneof(
    fc.constant(`delete(${text});`),
    target(variable).map((path) => `remove(${text}, ${path});`),
    // It makes an object of a list that is missing, and cannot assign to every element (W-66).
    fc
      .tuple(
        target(variable).filter((path) => !path.includes("[")),
        someValue,
      )
      .map(([path, value]) => `modify(${text}, ${path} = ${value});`),
  ),
)

/** Without deletions: in SimKube each goes or stays by itself, whether or not anything is left of its object (W-69). */
const statesOf = (moments: ReadonlyArray<Moment>): ReadonlyArray<Moment> =>
  moments.map((each) => ({ ...each, deleted: [] })).filter(({ applied }) => applied.length > 0)

describe("skctl transform leaves the same", () => {
  test.for(realTraces)("of %s", async ([, read, isPublished], { skip }) => {
    if (whyNot !== undefined) skip(whyNot)
    if (isPublished && whyNoPublished !== undefined) skip(whyNoPublished)
    const [first] = await itemsOf(read()).then(momentsOf)
    for (const program of programs((first?.time ?? 0) / 1_000_000))
      expect([program, await ours(read(), program)]).toEqual([program, await theirs(read(), program)])
  })

  test("by programs of all sorts in its language", async ({ skip }) => {
    if (whyNot !== undefined) skip(whyNot)
    let [compared, failed] = [0, 0]
    await fc.assert(
      fc.asyncProperty(command, async (program) => {
        const left = await theirs(trace, program)
        if (left instanceof Error) {
          failed++
          return
        }
        compared++
        const same = program.startsWith("delete") ? statesOf : (moments: ReadonlyArray<Moment>) => moments
        expect(same(await ours(trace, program))).toEqual(same(left))
      }),
      { numRuns: 150 },
    )
    expect(compared).toBeGreaterThan(failed)
  })

  test.for(defects)("except what ends its run, %s", async ([, program], { skip }) => {
    if (whyNot !== undefined) skip(whyNot)
    expect(await theirs(trace, program)).toBeInstanceOf(Error)
    expect(await ours(trace, program)).not.toEqual(await momentsOf(await itemsOf(trace)))
  })
})
