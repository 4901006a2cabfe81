/** The generated program is one of SimKube's transform language: its grammar (docs/facts/simkube.md) as regular expressions, command by command. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { transformProgram } from "../../src/validation/repair.ts"
import { rounds } from "../harness/effort.ts"
import { anyEvents } from "./any-trace.ts"
import { programOf } from "./program-runs.ts"
import { type Body, container, deployment, object, reportOf } from "./traces.ts"

const part = `(?:[A-Za-z0-9_-]+|"[A-Za-z0-9_./-]+")`
const variable = String.raw`\$[A-Za-z_][A-Za-z0-9_]*`
const path = String.raw`(?:${part}|${variable})(?:\.${part}|\[(?:\d+|\*)\])*`
// Without # and spaces at the ends, which SimKube's own reader does not keep (W-64).
const string = String.raw`"[^"#\s](?:[^"#]*[^"#\s])?"`
const condition = String.raw`(?:${variable} := ${path} \| )?${path} == (?:${string}|${path})`
const command = new RegExp(String.raw`^remove\((?:${condition}(?: && ${condition})*, )?${path}\);$`)

const program = (...applied: ReadonlyArray<Body>): ReadonlyArray<string> => [
  ...transformProgram(reportOf([{ applied }]).rules),
]
const commands = (lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.filter((line) => line !== "" && !line.startsWith("#"))

const web = 'apiVersion == "apps/v1" && kind == "Deployment" && metadata.namespace == "shop" && metadata.name == "web"'

describe("a generated program", () => {
  test("consists of commands of the language and comments", () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const { rules } = reportOf(events)
        for (const line of commands([...transformProgram(rules)])) expect(line).toMatch(command)
      }),
    )
  })

  test("leaves nothing that has a fix when it is run", () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const lines = [...transformProgram(reportOf(events).rules)]
        const after = programOf(lines)
        const run = (bodies: ReadonlyArray<Body> = []) => bodies.map(after)
        const left = reportOf(events.map(({ applied, deleted }) => ({ applied: run(applied), deleted: run(deleted) })))
        expect(left.rules.filter(({ rule }) => rule.fix !== undefined).map(({ rule }) => rule.code)).toEqual([])
      }),
      { numRuns: rounds(300) },
    )
  })

  test("changes an object as a repair does", () => {
    const spec = {
      ...container({
        envFrom: [{ secretRef: { name: "a" } }, { secretRef: { name: "there" } }],
        volumeMounts: [{ name: "v" }, { name: "w" }],
      }),
      volumes: [
        { name: "v", secret: { secretName: "a" } },
        { name: "w", secret: { secretName: "there" } },
      ],
      priorityClassName: "fast",
      priority: 7,
    }
    const lines = program(deployment(spec), object("v1.Secret", "there"))
    expect(programOf(lines)(deployment(spec))).toEqual(
      deployment({
        ...container({ envFrom: [{ secretRef: { name: "there" } }], volumeMounts: [{ name: "w" }] }),
        volumes: [{ name: "w", secret: { secretName: "there" } }],
      }),
    )
  })

  test("removes variables, and mounts before their volumes", () => {
    const spec = {
      ...container({ env: [{ name: "A", valueFrom: { secretKeyRef: { name: "db", key: "k" } } }] }),
      volumes: [{ name: "v", configMap: { name: "settings" } }],
      serviceAccountName: "robot",
    }
    expect(program(deployment(spec))).toMatchSnapshot()
  })

  test("removes every status with one command", () => {
    expect(commands(program(object("v1.Pod", "a", { status: {} }), object("v1.Pod", "b", { status: {} })))).toEqual([
      "remove(status);",
    ])
  })

  test("defines each variable once in a command", () => {
    const lines = program(deployment({ volumes: [{ name: "v", persistentVolumeClaim: { claimName: "c" } }] }))
    for (const line of commands(lines)) {
      const defined = [...line.matchAll(/\$(\w+) :=/g)].map(([, name]) => name)
      expect(new Set(defined).size).toBe(defined.length)
      expect(line.startsWith(`remove(${web} && $v := `)).toBe(true)
    }
  })

  test("turns wildcards and odd names of template paths into paths of the language", () => {
    const gvk = "ml.example.com/v1.Training"
    const training = object(gvk, "x", { spec: { "a.b/c": [{ spec: { serviceAccountName: "s" } }] } })
    const trackedObjects = { [gvk]: { podSpecTemplatePaths: ["/spec/a.b~1c/*"] } }
    const lines = [...transformProgram(reportOf([{ applied: [training] }], { trackedObjects }).rules)]
    expect(commands(lines)).toHaveLength(1)
    expect(commands(lines)[0]).toMatch(command)
    expect(commands(lines)[0]).toContain(
      '$s := spec."a.b/c"[*].spec | $s.serviceAccountName == "s", $s.serviceAccountName',
    )
  })

  test.each(['a"b', "a#b", " a", "a\nremove(kind);", "ä"])("says in a comment that it cannot name %j", (name) => {
    const lines = program(
      deployment({ serviceAccountName: name }),
      object("v1.Pod", name, { spec: { serviceAccountName: "x" } }),
    )
    expect(commands(lines)).toEqual([])
    expect(lines.filter((line) => line.startsWith("# not expressible"))).toHaveLength(2)
    expect(lines.every((line) => !line.includes("\n"))).toBe(true)
  })
})
