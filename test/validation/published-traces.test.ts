/**
 * Real traces: those that SimKube recorded for this project, and its published ones. Where `KUBEREEL_SKCTL` names SimKube's own command line, it finds the
 * same by the rules that both have, but for its defects (docs/facts/simkube.md): W-70, and W-71 that it ends with 0.
 */
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { encodeMessagePack } from "../../src/trace/index.ts"
import { TraceValidation } from "../../src/validation/trace-validation.ts"
import { realTraces, whyNoPublished } from "../trace/formats/traces.ts"
import { asMap } from "./as-map.ts"
import { container, decode, deployment } from "./traces.ts"

/** The findings of a SimKube trace: code → number of states with each, added up. */
const countsOf = async (bytes: Uint8Array): Promise<Readonly<Record<string, number>>> => {
  const validation = new TraceValidation({ namespacePrefix: "virtual" })
  for (const item of await decode("simkube", bytes)) validation.add(item)
  return Object.fromEntries(
    validation
      .finish()
      .rules.map(({ rule, findings }) => [rule.code, findings.reduce((sum, { count }) => sum + count, 0)]),
  )
}

const expected: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  recording: { W0000: 8, E0003: 3, E0005: 3, W0008: 8 },
  "recording-2": { W0000: 5, W0008: 7, E0009: 2 },
  "bare-pods.sktrace": { W0008: 4 },
  // Its objects are in namespace default.
  "cronjob.sktrace": {},
  "dsb-scaling.sktrace": { W0008: 46 },
}

describe("a real trace", () => {
  test.for(realTraces)("%s", async ([name, read, isPublished], { skip }) => {
    if (isPublished && whyNoPublished !== undefined) skip(whyNoPublished)
    expect(await countsOf(read())).toEqual(expected[name])
  })
})

/** One violation of each rule that SimKube has, none of which its defects concern: names are also keys. */
const violations = (): Uint8Array => {
  const key = (name: string) => ({ name, key: name })
  const spec = {
    ...container({
      env: [
        { name: "A", valueFrom: { secretKeyRef: key("a") } },
        { name: "B", valueFrom: { configMapKeyRef: key("b") } },
      ],
    }),
    volumes: [
      { name: "c", secret: { secretName: "c" } },
      { name: "d", configMap: { name: "d" } },
    ],
    serviceAccountName: "robot",
  }
  return encodeMessagePack(
    asMap({
      version: 2,
      config: { trackedObjects: { "apps/v1.Deployment": { podSpecTemplatePaths: ["/spec/template"] } } },
      events: [
        { ts: 1_700_000_000, applied_objs: [{ ...deployment(spec), status: { replicas: 1 } }], deleted_objs: [] },
      ],
      index: { "apps/v1.Deployment": { "shop/web": 5 } },
      pod_lifecycles: {},
    }),
  )
}

/** `name (code) ..... count` */
const reported = (output: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...output.matchAll(/\(([WE]\d{4})\)[ .]*(\d+)\s*$/gm)].map(([, code = "", count]) => [code, Number(count)]),
  )

const shared = (counts: Readonly<Record<string, number>>): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(counts).filter(([code]) => Number(code.slice(1)) <= 5))

/** What SimKube finds on its own account: it takes the key for the name, so it may find more or less by these rules (W-70). */
const withoutKeys = ({ E0002: _secrets, E0003: _configMaps, ...others }: Readonly<Record<string, number>>) => others

/** The account that every namespace has, each time that SimKube finds it missing: in both fields of an applied object's pod template (W-70). */
const defaultAccounts = async (bytes: Uint8Array): Promise<number> => {
  const states = (await decode("simkube", bytes)).flatMap((item) =>
    item.type === "event" && item.event.type === "object" && item.event.action === "applied" ? [item.event.object] : [],
  )
  return (
    states
      .map((state) => Buffer.from(state).toString())
      .join("")
      .match(/"serviceAccount(?:Name)?":"default"/g)?.length ?? 0
  )
}

test("violations of every rule of SimKube's are found once each", async () => {
  expect(shared(await countsOf(violations()))).toEqual({ W0000: 1, E0001: 1, E0002: 1, E0003: 1, E0004: 1, E0005: 1 })
})

describe("skctl validate finds the same", () => {
  const skctl = process.env.KUBEREEL_SKCTL ?? ""
  const traces = [["violations", violations, false] as const, ...realTraces]
  test.for(traces)("in %s", async ([name, read, isPublished], { skip }) => {
    if (skctl === "") skip("KUBEREEL_SKCTL does not name SimKube's skctl")
    if (isPublished && whyNoPublished !== undefined) skip(whyNoPublished)
    const folder = mkdtempSync(join(tmpdir(), "reel-skctl-"))
    try {
      writeFileSync(join(folder, "trace"), read())
      // Its exit code is 0 even with findings (W-71).
      const { stdout } = await promisify(execFile)(skctl, ["validate", "check", join(folder, "trace")])
      const [theirs, ours] = [reported(stdout), shared(await countsOf(read()))]
      if (name === "violations") return expect(theirs).toEqual(ours)
      const { E0001: accounts = 0, ...others } = withoutKeys(theirs)
      const missing = accounts - (await defaultAccounts(read()))
      expect({ ...others, ...(missing > 0 && { E0001: missing }) }).toEqual(withoutKeys(ours))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
