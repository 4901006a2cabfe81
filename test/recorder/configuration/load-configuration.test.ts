import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type LoadOptions, loadConfiguration } from "../../../src/recorder/configuration/load-configuration.ts"
import {
  type ParsedConfiguration,
  parseConfiguration,
} from "../../../src/recorder/configuration/parse-configuration.ts"
import type { ConfigurationError } from "../../../src/recorder/configuration/problem.ts"
import {
  type DetectionDefaults,
  RecorderConfiguration,
  withinNamespaces,
} from "../../../src/recorder/configuration/tracked-kind.ts"
import { rounds } from "../../harness/effort.ts"

const defaults: DetectionDefaults = { defaultDetect: () => "content", defaultIgnore: () => [] }

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "kubereel-configuration-"))
})
afterAll(() => rm(folder, { recursive: true }))

const load = (file: string, options: Partial<LoadOptions> = {}): Promise<ParsedConfiguration> =>
  Effect.runPromise(loadConfiguration(file, { defaults, ...options }))
const failure = (file: string, options: Partial<LoadOptions> = {}): Promise<ConfigurationError> =>
  Effect.runPromise(Effect.flip(loadConfiguration(file, { defaults, ...options })))

const failingWith =
  (code: string): LoadOptions["readBeginning"] & {} =>
  () =>
    Promise.reject(Object.assign(new Error(`${code}: no`), { code }))

describe("a configuration file", () => {
  test("is read from disk and remembers its name", async () => {
    const file = join(folder, "tracer.yml")
    await writeFile(file, "trackedObjects: {v1.Pod: {}}\n")
    expect((await load(file)).configuration).toMatchObject({ source: file, kinds: [{ gvkText: "v1.Pod" }] })
  })

  test("that is missing, a directory or forbidden is reported with advice", async () => {
    const missing = join(folder, "none.yml")
    expect((await failure(missing)).message).toBe(
      `cannot read the configuration ${missing}: file not found. Pass its path with --config`,
    )
    expect((await failure(folder)).message).toBe(
      `cannot read the configuration ${folder}: it is a directory. Name the file inside it`,
    )
    expect((await failure("a.yml", { readBeginning: failingWith("EACCES") })).message).toBe(
      "cannot read the configuration a.yml: permission denied. Change its permissions, or run as its owner",
    )
    expect((await failure("a.yml", { readBeginning: failingWith("EIO") })).message).toBe(
      "cannot read the configuration a.yml: reading failed (EIO)",
    )
  })

  test("that never ends is rejected after the largest allowed size", async () => {
    const error = await failure("/dev/zero")
    expect(error._tag).toBe("ConfigurationInvalidError")
    expect(error.message).toMatch(/larger than 262144 bytes/)
  })
})

test("namespaces of the command line apply to kinds without their own", async () => {
  const text = "trackedObjects: {v1.Pod: {}, v1.Service: {namespaces: [shop]}}"
  const { configuration } = await load("a.yml", { readBeginning: () => Promise.resolve(Buffer.from(text)) })
  expect(withinNamespaces(configuration, [])).toEqual(configuration)
  expect(withinNamespaces(configuration, ["a", "b"]).kinds.map(({ namespaces }) => namespaces)).toEqual([
    ["a", "b"],
    ["shop"],
  ])
})

describe("for any damage to the file", () => {
  const good = `# what to record
trackedObjects:
  apps/v1.Deployment: &plain {trackLifecycle: true, detect: spec}
  apps/v1.StatefulSet: *plain
  v1.ConfigMap:
    ignore:
      - /metadata/labels/a~1b
      - "/data"
    labelSelector: 'app in (web, api),!canary'
    namespaces: [shop, pay]
  ml.example.com/v1.Training:
    podSpecTemplatePaths: ["/spec/roles/*/template"]
    skipOwned: ingest
    keepManagedFields: false
`
  const snippets = fc.constantFrom(
    "",
    " ",
    "\t",
    "\n",
    "  ",
    ": ",
    "- ",
    "? ",
    "&a ",
    "*a",
    "*plain",
    "<<: *plain\n",
    "{",
    "}",
    "[",
    "]",
    ",",
    "'",
    '"',
    "|\n",
    ">-\n",
    "!!map ",
    "!x ",
    "%YAML 1.1\n---\n",
    "---\n",
    "...\n",
    "#",
    "null",
    "yes",
    "0x1",
    "\u0000",
    "\u0085",
    "\uD800",
    "\uFEFF",
    "é漢😀",
    "v1.Pod:\n",
    "trackedObjects:\n",
  )
  const edit = fc.record({ at: fc.nat(good.length), remove: fc.nat(30), insert: fc.oneof(snippets, fc.string()) })
  const damaged = fc
    .array(edit, { minLength: 1, maxLength: 6 })
    .map((edits) =>
      edits.reduce((text, { at, remove, insert }) => text.slice(0, at) + insert + text.slice(at + remove), good),
    )

  const isConfiguration = Schema.is(RecorderConfiguration)

  const checkBytes = (bytes: Uint8Array): void => {
    const error = Effect.runSync(
      Effect.match(Effect.fromResult(parseConfiguration(bytes, { source: "a.yml", defaults })), {
        onSuccess: ({ configuration }) => {
          expect(isConfiguration(configuration)).toBe(true)
          expect(new Set(configuration.kinds.map(({ gvkText }) => gvkText)).size).toBe(configuration.kinds.length)
          return undefined
        },
        onFailure: (failure) => failure,
      }),
    )
    if (error === undefined) return
    expect(error._tag).toBe("ConfigurationInvalidError")
    expect(error.problems.length).toBeGreaterThan(0)
    for (const line of error.message.split("\n")) expect(line).toMatch(/^a\.yml:\d+:\d+: [^\p{Cc}\p{Cf}]+$/u)
  }

  test("the undamaged file is accepted", () => {
    expect(
      Effect.runSync(Effect.fromResult(parseConfiguration(Buffer.from(good), { source: "", defaults }))).warnings,
    ).toEqual([])
  })

  test("the result is a configuration or a list of mistakes with positions, never anything else", () => {
    fc.assert(
      fc.property(damaged, (text) => checkBytes(Buffer.from(text))),
      { numRuns: rounds(500) },
    )
  })

  test("the same holds for bytes that never were YAML", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 300 }),
          fc.array(snippets).map((parts) => Buffer.from(parts.join(""))),
        ),
        checkBytes,
      ),
      { numRuns: rounds(500) },
    )
  })
})
