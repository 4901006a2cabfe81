/** What commands do to an object. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { formatExactJson, type JsonObject, parseExactJson } from "../../../src/trace/json/exact-json.ts"
import { parseProgram } from "../../../src/trace/transform/language/parse-program.ts"
import { CommandFailed, type Effect, runnerOf } from "../../../src/trace/transform/run-program.ts"
import { anyProgram } from "./language/program-text.ts"

const second = 1_000_000
/** µs: when the trace begins. */
const start = 1_710_000_000 * second

const web: JsonObject = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { namespace: "shop", name: "web", labels: { app: "web", "example.com/tier": "gold", zone: "a" } },
  spec: {
    replicas: 2,
    paused: null,
    template: {
      spec: {
        containers: [
          {
            name: "app",
            image: "app:1",
            env: [{ name: "A" }, { name: "B" }],
            volumeMounts: [{ name: "data" }, { name: "tmp" }],
            resources: { limits: { memory: "1Gi" } },
          },
          { name: "istio-proxy", image: "istio:1", imagePullPolicy: "Always" },
        ],
        volumes: [{ name: "data", persistentVolumeClaim: { claimName: "c" } }, { name: "tmp" }],
      },
    },
  },
  status: { replicas: 1 },
}

interface Ran {
  readonly after: JsonObject | undefined
  readonly effects: ReadonlyArray<Effect>
}

const ran = (text: string, object: JsonObject = web, time = start): Ran => {
  const effects: Effect[] = []
  const after = runnerOf(parseProgram(text), start)(object, time, (_, effect) => effects.push(effect))
  return { after, effects }
}

/** Whether a condition is met. */
const isMet = (condition: string, object = web, time = start): boolean =>
  ran(`delete(${condition});`, object, time).after === undefined

const containers = (after: JsonObject | undefined): ReadonlyArray<JsonObject> => {
  const { spec } = after as { spec: { template: { spec: { containers: ReadonlyArray<JsonObject> } } } }
  return spec.template.spec.containers
}

describe("a condition", () => {
  test.each([
    ['kind == "Deployment"', true],
    ['kind == "Deployment" && metadata.namespace == "other"', false],
    ['kind == "Pod" || metadata.name == "web"', true],
    ['!(kind == "Pod")', true],
    ['kind in ["Pod", "Deployment"]', true],
    ["metadata.name in metadata.labels.app", true],
    ['metadata.name =~ "^w.b$"', true],
    ['spec.replicas =~ "2"', false],
    ['metadata.labels."example.com/tier" == "gold"', true],
    ['spec.template.spec.containers[*].name == "istio-proxy"', true],
    ['spec.template.spec.containers[0].name == "istio-proxy"', false],
    ["spec.replicas == 2.0", true],
    ['spec.replicas == "2"', false],
    ["spec.replicas >= 2 && spec.replicas < 3 && spec.replicas > -1.5", true],
    ['spec.template.spec.containers[*].resources.limits.memory > "900Mi"', true],
    ['spec.template.spec.containers[*].resources.limits.memory > "1.5G"', false],
    ["kind > 3", false],
    ["exists(spec.paused)", true],
    ["spec.paused == null", true],
    ["exists(spec.strategy)", false],
    ["!exists(spec.strategy)", true],
    // As in SimKube, nothing is different from a value where there is none; a negation is met there.
    ["spec.strategy != 1", false],
    ["!(spec.strategy == 1)", true],
    ["spec.replicas != status.replicas", true],
    ["spec.replicas == spec.nothing", false],
    [
      'metadata == {namespace: "shop", labels: {app: "web", zone: "a", "example.com/tier": "gold"}, name: metadata.labels.app}',
      true,
    ],
    ['$c := spec.template.spec.containers[*] | !exists($c.env) && $c.name == "istio-proxy"', true],
    ['$c := spec.template.spec.containers[*] | ($c.name == "app" && exists($c.imagePullPolicy))', false],
  ])("%s: %s", (condition, expected) => {
    expect(isMet(condition)).toBe(expected)
  })

  test("about the time counts from the beginning of the trace, or in seconds since 1970, or is a date", () => {
    const at = (seconds: number) => start + seconds * second
    expect([899, 900, 901].map((seconds) => isMet("@t >= 15m", web, at(seconds)))).toEqual([false, true, true])
    expect(isMet("@t == 1710000001", web, at(1))).toBe(true)
    expect(isMet("@t < 250ms && @t >= 0s", web, start)).toBe(true)
    expect(isMet(`@t >= "2024-03-09T17:00:00+01:00"`, web, start)).toBe(true)
  })
})

describe("SimKube's examples", () => {
  test("remove(status) removes the field", () => {
    const { after, effects } = ran("remove(status);")
    const { status, ...rest } = web
    expect(status).toBeDefined()
    expect(after).toEqual(rest)
    expect(effects).toEqual(["changed"])
  })

  test("a sidecar is removed", () => {
    const { after } = ran('remove($c := spec.template.spec.containers[*] | $c.name == "istio-proxy", $c);')
    expect(containers(after).map(({ name }) => name)).toEqual(["app"])
  })

  test("a variable is a target", () => {
    const { after } = ran(
      'modify($c := spec.template.spec.containers[*] | $c.imagePullPolicy == "Always", $c.imagePullPolicy = "Never");',
    )
    expect(containers(after).map(({ imagePullPolicy }) => imagePullPolicy)).toEqual([undefined, "Never"])
  })

  test("a value is copied, with the parents that it needs", () => {
    const { after } = ran("modify($z := metadata.labels.zone | exists($z), spec.template.spec.nodeSelector.zone = $z);")
    expect(after).toMatchObject({ spec: { template: { spec: { nodeSelector: { zone: "a" } } } } })
  })

  test("two sets are joined", () => {
    const { after } = ran(
      "remove($v := spec.template.spec.volumes[*] | exists($v.persistentVolumeClaim) && $m := spec.template.spec.containers[*].volumeMounts[*] | $m.name == $v.name, $m);",
    )
    expect(containers(after)[0]?.volumeMounts).toEqual([{ name: "tmp" }])
  })
})

describe("where SimKube fails", () => {
  test("an element that matches twice is bound once (W-68)", () => {
    const { after } = ran("remove($c := spec.template.spec.containers[*] | exists($c.env[*].name), $c);")
    expect(containers(after).map(({ name }) => name)).toEqual(["istio-proxy"])
  })

  test("all elements are assigned to (W-66)", () => {
    const { after } = ran('modify(spec.template.spec.containers[*].imagePullPolicy = "Never");')
    expect(containers(after).map(({ imagePullPolicy }) => imagePullPolicy)).toEqual(["Never", "Never"])
  })

  test("a value that is missing leaves the object as it is (W-67)", () => {
    expect(ran("modify(spec.a = spec.nothing);")).toEqual({ after: web, effects: ["lacking"] })
  })

  test("an index out of range removes nothing (W-67)", () => {
    expect(ran("remove(spec.template.spec.containers[7]);").effects).toEqual(["kept"])
  })

  test("resources are in an order (W-65)", () => {
    expect(isMet('$c := spec.template.spec.containers[*] | $c.resources.limits.memory >= "1Gi"')).toBe(true)
  })

  test("$a is not replaced inside $ab (W-68)", () => {
    const { after } = ran(
      "modify($a := metadata.labels.zone | exists($a) && $ab := metadata.labels.app | exists($ab), metadata.labels.both = $ab);",
    )
    expect(after).toMatchObject({ metadata: { labels: { both: "web" } } })
  })
})

describe("modify", () => {
  test("gives each bound element its own value", () => {
    const { after } = ran("modify($c := spec.template.spec.containers[*] | exists($c), $c.image = $c.name);")
    expect(containers(after).map(({ image }) => image)).toEqual(["app", "istio-proxy"])
  })

  test("appends behind the last element, and not further", () => {
    expect(containers(ran('modify(spec.template.spec.containers[2] = {name: "new"});').after)).toHaveLength(3)
    expect(ran('modify(spec.template.spec.containers[3] = {name: "new"});').effects).toEqual(["placeless"])
    expect(ran("modify(spec.list[0].a = 1);").after).toMatchObject({ spec: { list: [{ a: 1 }] } })
  })

  test("does nothing below a text", () => {
    expect(ran("modify(metadata.name.first = 1);")).toEqual({ after: web, effects: ["placeless"] })
  })

  test("does not change what is equal", () => {
    expect(ran("modify(spec.replicas = 2);").after).toBe(web)
  })

  test("of several different values fails, and says where", () => {
    expect(() => ran("modify(spec.a = spec.template.spec.containers[*].name);")).toThrow(
      "multiple matching values: 2 different values",
    )
    expect(ran("modify(spec.a = spec.template.spec.volumes[0].name);").after).toMatchObject({ spec: { a: "data" } })
  })

  test.each([
    ["remove(kind);", "no text as its kind"],
    ["modify(metadata.labels.app = 3);", 'metadata.labels "app" would be no text'],
    ["remove(metadata);", "no metadata"],
    ["modify(metadata.name = null);", "no text as its metadata.name"],
  ])("leaves an object: %s fails", (text, detail) => {
    expect(() => ran(text)).toThrow(detail)
  })

  test("keeps 1 and 1.0, large integers and any key apart", () => {
    const object = parseExactJson(
      '{"apiVersion":"v1","kind":"A","metadata":{"name":"a"},"n":1.0,"big":9007199254740993,"__proto__":{"x":1}}',
    ) as JsonObject
    const { after } = ran('modify("__proto__".y = 2.0); modify(copy = big);', object)
    expect(formatExactJson(after ?? null)).toBe(
      '{"apiVersion":"v1","kind":"A","metadata":{"name":"a"},"n":1.0,"big":9007199254740993,"__proto__":{"x":1,"y":2.0},"copy":9007199254740993}',
    )
  })
})

describe("a program", () => {
  test("shows each command what the one before made", () => {
    expect(ran('modify(metadata.labels.app = "x"); delete(metadata.labels.app == "x"); remove(status);')).toEqual({
      after: undefined,
      effects: ["changed", "deleted"],
    })
  })

  test("never changes the object that it is given, and fails as a command only", () => {
    const json = formatExactJson(web)
    fc.assert(
      fc.property(anyProgram, fc.nat(100), (program, seconds) => {
        try {
          const after = runnerOf(program, start)(web, start + seconds * second, () => undefined)
          if (after !== undefined) formatExactJson(after)
        } catch (error) {
          expect(error).toBeInstanceOf(CommandFailed)
        }
        expect(formatExactJson(web)).toBe(json)
      }),
      { numRuns: 500 },
    )
  })
})
