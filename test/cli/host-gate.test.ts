/** `reel host --replay` as a gate: what modules reach is compared with what was recorded and expected, and the exit code says it. */
import { appendFileSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { beforeEach, describe, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { hostCommand } from "../../src/cli/host.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { type Recorded, simplePod, simplePodDefinition, traceFile } from "../rehearsal/history.ts"
import { ran } from "./commands-in.ts"

let modules: string
beforeEach(() => {
  modules = temporaryDirectory()
  writeFileSync(join(modules, "labels.yaml"), "name: labels\n")
})

const definition = { at: 0, isSnapshot: true, object: simplePodDefinition }
const labelled = (at: number, value: string): Recorded => ({
  at,
  object: simplePod("web", "nginx", { labels: { seen: value } }),
})

/** Sets the label to this value; writes a record of the cluster in the directory. */
const given = (value: string, history: ReadonlyArray<Recorded>): string => {
  writeFileSync(
    join(modules, "labels.js"),
    `export default {
      name: "labels", for: { kind: "slinky.dev/v1.SimplePod" }, owns: [], watches: [], reads: [], indexes: [], writes: [], concurrency: 1,
      reconcile: async ({ object, cluster }) => {
        if (object !== undefined && object.metadata.labels?.seen !== "${value}")
          await cluster.patch(object, "merge", { metadata: { labels: { seen: "${value}" } } })
      },
    }`,
  )
  return traceFile(modules, [definition, ...history])
}

const replay = (...options: ReadonlyArray<string>) =>
  ran(
    hostCommand(() => import("../../src/cli/host-replay.ts")),
    [modules, "--replay", ...options],
  )

describe("reel host --replay compares", () => {
  test("the state reached with the recorded one, names the first step that differs, and exits with 1", async () => {
    const history = [{ at: 1, object: simplePod("web", "nginx") }, labelled(2, "yes"), labelled(3, "yes")]
    const same = await replay(given("yes", history))
    expect([same.code, same.output.trimEnd().split("\n").at(-1)]).toEqual([exitCodes.ok, "1 of 1 rehearsals passed"])
    const other = await replay(given("no", history))
    expect(other.code).toBe(exitCodes.failed)
    expect(other.output).toMatch(
      /^undisturbed +loses-an-update +slinky\.dev\/v1\.SimplePod shop\/web +2026-01-01T00:00:01\.000000Z change 1, slinky\.dev\/v1\.SimplePod shop\/web applied$/m,
    )
    expect(other.output).toMatch(/^undisturbed: labels loses an update of .*\/metadata\/labels\/seen/m)
    expect(other.output).toMatch(/^0 of 1 rehearsals passed$/m)
  })

  test("nothing but what is expected, if the file of expectations says so", async () => {
    const file = join(modules, "expected.txt")
    const expecting = async (text: string) => {
      writeFileSync(file, `recorded: ignore\n${text}`)
      return replay(given("no", [{ at: 1, object: simplePod("web", "nginx") }, labelled(2, "yes")]), "--expect", file)
    }
    expect(
      (await expecting('objects: [{ kind: slinky.dev/v1.SimplePod, name: shop/web, where: spec.image == "nginx" }]'))
        .code,
    ).toBe(exitCodes.ok)
    const { code, output } = await expecting("counts: [{ kind: slinky.dev/v1.SimplePod, atLeast: 2 }]")
    expect(code).toBe(exitCodes.failed)
    expect(output).toContain("expected at least 2 of slinky.dev/v1.SimplePod: there are 1 (shop/web)")
  })

  test("the same for programs: JSON on standard output, and JUnit's XML in a file", async () => {
    const junit = join(modules, "report.xml")
    const trace = given("no", [{ at: 1, object: simplePod("web", "nginx") }, labelled(2, "yes")])
    const { code, output } = await replay(trace, "-o", "json", "--junit", junit)
    expect(code).toBe(exitCodes.failed)
    expect(JSON.parse(output)).toMatchObject({
      version: 1,
      passed: false,
      rehearsals: [
        {
          name: "undisturbed",
          failures: [
            {
              failure: "loses-an-update",
              object: "shop/web",
              since: { time: "2026-01-01T00:00:01.000000Z" },
              differences: [{ path: "/metadata/labels/seen", before: "yes", after: "no" }],
            },
          ],
        },
      ],
    })
    const report = readFileSync(junit, "utf8")
    expect(report).toContain('<testsuites tests="1" failures="1" errors="0" skipped="0">')
    expect(report).toMatch(/<failure type="loses-an-update" message="labels loses an update [^"]*&quot;no&quot;/)
  })
})

test("A module that cannot be loaded and a last run that fails are failures for people and for programs", async () => {
  const junit = join(modules, "report.xml")
  const trace = given("yes", [{ at: 1, object: simplePod("web", "nginx") }, labelled(2, "yes")])
  writeFileSync(join(modules, "broken.js"), "export default {")
  writeFileSync(join(modules, "broken.yaml"), "name: broken\n")
  writeFileSync(
    join(modules, "failing.js"),
    `export default {
      name: "failing", for: { kind: "slinky.dev/v1.SimplePod" }, owns: [], watches: [], reads: [], indexes: [], writes: [], concurrency: 1,
      reconcile: async () => { throw new Error("no way") },
    }`,
  )
  writeFileSync(join(modules, "failing.yaml"), "name: failing\n")
  const { code, output } = await replay(trace, "-o", "json", "--junit", junit)
  expect(code).toBe(exitCodes.failed)
  const failures = [{ failure: "not-run" }, { failure: "run-fails" }]
  expect(JSON.parse(output)).toMatchObject({ passed: false, rehearsals: [{ name: "undisturbed", failures }] })
  const report = readFileSync(junit, "utf8")
  expect(report).toMatch(/<failure type="not-run" message="[^"]*broken/)
  // One element for each rehearsal: its type is that of the first failure, its text has all.
  expect(report).toContain("undisturbed: the last run failed: failing shop/web: no way")
})

describe("reel host --replay disturbs the modules", () => {
  test("with restarts and seeds, and gives one failure again, in few steps, with the text that it printed", async () => {
    writeFileSync(
      join(modules, "labels.js"),
      `let made = 0
      export default {
        name: "labels", for: { kind: "slinky.dev/v1.SimplePod" }, owns: [], watches: [], reads: [], indexes: [], writes: [], concurrency: 1,
        reconcile: async ({ object, cluster }) => {
          if (object !== undefined && made++ === 0)
            await cluster.create({ apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "made-", namespace: "shop" } })
        },
      }`,
    )
    const names = Array.from({ length: 12 }, (_, index) => `web-${index}`)
    const history = names.map((name, index) => ({ at: index + 1, object: simplePod(name, "nginx") }))
    const trace = traceFile(modules, [definition, ...history])
    const { code, output } = await replay(trace, "--restart-at", "every-write", "--seeds", "5")
    expect(code).toBe(exitCodes.failed)
    expect(output).toMatch(/^restart 1: labels creates v1\.ConfigMap again: shop\/made-\w+ besides shop\/made-\w+; /m)
    expect(output).toMatch(/^\d of 7 rehearsals passed$/m)
    const again = /^again with the seed "(1: restart .*)"$/m.exec(output)?.[1] ?? ""
    expect(again).toBe("1: restart create v1.ConfigMap shop/made-* #1 for 1; changes 12")
    // This process has loaded the file before; another content is loaded anew.
    appendFileSync(join(modules, "labels.js"), "// again")
    const shrunk = await replay(trace, "--seed", again)
    expect(shrunk.code).toBe(exitCodes.failed)
    expect(shrunk.output).toMatch(/^seed 1: labels creates v1\.ConfigMap again/m)
    expect(shrunk.output).toMatch(/^1 of 2 rehearsals passed$/m)
    expect((await replay(trace, "--seed", "1: restart")).code).toBe(exitCodes.usage)
    const { error } = await replay(trace, "--restart-at", "99")
    expect(error).toMatch(/restart-at: there are \d writes/)
  })
})
