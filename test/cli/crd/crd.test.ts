/** `reel crd`: what it prints about Simulations is checked against k8s/, the types that it makes by the compiler. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import fc from "fast-check"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { exitCodes } from "../../../src/cli/command-line/exit-codes.ts"
import { definitionTypes } from "../../../src/cli/crd/definition-types.ts"
import { crdCommand } from "../../../src/cli/crd.ts"
import { objectsOf } from "../../k8s/printed.ts"
import { ran } from "../commands-in.ts"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const simplePod = join(root, "examples/host/simplepod-crd.yaml")

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reel-crd-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const run = (...argv: ReadonlyArray<string>) => ran(crdCommand(), argv)

const version = (name: string, properties: object, more: object = {}) => ({
  name,
  served: true,
  storage: name === "v1",
  schema: { openAPIV3Schema: { type: "object", properties, required: ["spec"], ...more } },
})

const definition = (...versions: ReadonlyArray<object>) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "records.example.com" },
  // A kind that is also the name of a type of the language.
  spec: { group: "example.com", names: { plural: "records", kind: "Record" }, versions },
})

const every = {
  type: "object",
  required: ["port", "mode", "weird-name"],
  properties: {
    port: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] },
    mode: { type: "string", enum: ["Fast", "Slow"], description: "How it runs.\nSlow */ is safe.", default: "Slow" },
    "weird-name": { type: "boolean" },
    maybe: { type: "string", nullable: true },
    labels: { type: "object", additionalProperties: { type: "string" } },
    lists: { type: "array", items: { type: "array", items: { type: "string", nullable: true } } },
    open: { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { known: { type: "integer" } } },
    anything: { "x-kubernetes-preserve-unknown-fields": true },
    template: { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
    items: { type: "array", items: { type: "object", required: ["a"], properties: { a: { type: "number" } } } },
  },
}

describe("reel crd", () => {
  test("prints the definitions that k8s/crds has", async () => {
    const { code, output, error } = await run()
    expect({ code, error }).toEqual({ code: exitCodes.ok, error: "" })
    // After an intended change, the option -u writes the file.
    await expect(output).toMatchFileSnapshot(join(root, "k8s/crds/simulations.yaml"))
    const names = objectsOf(output).map(({ kind, metadata }) => `${kind}/${metadata.name}`)
    expect(names).toEqual([
      "CustomResourceDefinition/simulations.simkube.io",
      "CustomResourceDefinition/simulationroots.simkube.io",
    ])
    const file = join(folder, "crds.yaml")
    expect(await run("-o", file)).toEqual({ code: exitCodes.ok, output: "", error: "" })
    expect(readFileSync(file, "utf8")).toBe(output)
  })

  test.each([
    [["print"], "only types can be printed"],
    [["types"], "needs the FILE"],
    [["types", "a", "b"], 'unexpected argument "b"'],
  ])("refuses the arguments %j", async (argv, problem) => {
    const { code, output, error } = await run(...argv)
    expect({ code, output }).toEqual({ code: exitCodes.usage, output: "" })
    expect(error).toContain(problem)
  })
})

describe("reel crd types", () => {
  test("prints what the example has, or writes it to a file that it does not overwrite unasked", async () => {
    const expected = readFileSync(join(root, "examples/host/typescript/simplepod-types.ts"), "utf8")
    expect(await run("types", simplePod)).toEqual({ code: exitCodes.ok, output: expected, error: "" })
    const file = join(folder, "types.ts")
    expect(await run("types", simplePod, "-o", file)).toEqual({ code: exitCodes.ok, output: "", error: "" })
    expect(readFileSync(file, "utf8")).toBe(expected)
    expect(await run("types", simplePod, "-o", file)).toMatchObject({ code: exitCodes.usage })
    expect(await run("types", simplePod, "-fo", file)).toMatchObject({ code: exitCodes.ok })
  })

  test("makes types that accept what the server serves, and nothing else", async () => {
    writeFileSync(
      join(folder, "types.ts"),
      definitionTypes(JSON.stringify(definition(version("v1", { spec: every, status: { type: "object" } })))),
    )
    const spec = `{ port: "http", mode: "Fast", "weird-name": true, maybe: null, labels: { a: "b" }, lists: [["a", null]],
      open: { known: 1, more: [1] }, anything: 5, items: [{ a: 1 }], template: { apiVersion: "v1", kind: "Pod", metadata: { name: "p" } } }`
    const lines = [
      `import type { Record, RecordSpec } from "./types.ts"`,
      `const spec: RecordSpec = ${spec}`,
      `export const whole: Record = { apiVersion: "example.com/v1", kind: "Record", metadata: { name: "r" }, spec }`,
      `export const least: RecordSpec = { port: 80, mode: "Slow", "weird-name": false, maybe: undefined }`,
      `const text: string | null | undefined = spec.lists?.[0]?.[0]`,
      `// @ts-expect-error: no value of the enum`,
      `export const wrongMode: RecordSpec = { port: 80, mode: "Other", "weird-name": false }`,
      `// @ts-expect-error: a required member is missing`,
      `export const incomplete: RecordSpec = { port: 80, mode: "Slow" }`,
      `// @ts-expect-error: another version`,
      `export const old: Record["apiVersion"] = "example.com/v2"`,
      `// @ts-expect-error: read-only`,
      `spec.port = 5`,
      `// @ts-expect-error: a number is needed`,
      `export const item: RecordSpec = { port: 1, mode: "Slow", "weird-name": true, items: [{ a: "1" }] }`,
      `export default text`,
    ]
    writeFileSync(join(folder, "use.ts"), lines.join("\n"))
    const compilerOptions = {
      typeRoots: [join(root, "node_modules/@types")],
      paths: { "kubereel/host": [join(root, "src/library/host.ts")] },
    }
    const include = ["*.ts", join(root, "src/**/*.d.ts")]
    const settings = { extends: join(root, "tsconfig.json"), compilerOptions, include, exclude: [] }
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings))
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }))
    const tsc = join(root, "node_modules/.bin/tsc")
    const { stdout } = spawnSync(process.execPath, [tsc, "-p", folder], { encoding: "utf8" })
    expect(stdout).toBe("")
  })

  test("keeps descriptions and defaults as comments that cannot be left", () => {
    const text = definitionTypes(JSON.stringify(definition(version("v1", { spec: every }))))
    expect(text).toContain(
      '  /**\n   * How it runs.\n   * Slow *\\/ is safe.\n   * Default: "Slow"\n   */\n  readonly mode:',
    )
  })

  test("names the versions if several are served, and the stored one without its version", () => {
    const spec = { spec: { type: "object", properties: { a: { type: "string" } } } }
    const unserved = { ...version("v1alpha1", spec), served: false }
    const text = definitionTypes(JSON.stringify(definition(version("v1beta1", spec), version("v1", spec), unserved)))
    expect(text.match(/^export (?:interface|type) \S+/gm)).toEqual([
      "export interface RecordV1beta1Spec",
      "export interface RecordV1beta1",
      "export interface RecordV1Spec",
      "export interface RecordV1",
      "export type Record",
    ])
    expect(text).toContain("export type Record = RecordV1\n")
  })

  test("finds definitions among other objects and in lists", () => {
    const one = definition(version("v1", {}))
    const list = { apiVersion: "v1", kind: "List", items: [{ kind: "Namespace" }, one] }
    expect(definitionTypes(`kind: Namespace\n---\n${JSON.stringify(one)}`)).toBe(definitionTypes(JSON.stringify(list)))
  })

  test.each([
    ["has no CustomResourceDefinition", "kind: Pod"],
    ["is not YAML", "a: [1"],
    ["no served version", JSON.stringify(definition())],
    ["only apiextensions.k8s.io/v1", JSON.stringify({ ...definition(), apiVersion: "apiextensions.k8s.io/v1beta1" })],
    ["without spec.group or spec.names.kind", "kind: CustomResourceDefinition"],
    [
      "defines the kind Record twice",
      `${JSON.stringify(definition(version("v1", {})))}\n---\n${JSON.stringify(definition(version("v1", {})))}`,
    ],
  ])("refuses a file that %s", async (problem, text) => {
    const file = join(folder, "bad.yaml")
    writeFileSync(file, text)
    const { code, output, error } = await run("types", file)
    expect({ code, output }).toEqual({ code: exitCodes.failed, output: "" })
    expect(error).toContain(`reel crd: ${file}`)
    expect(error).toContain(problem)
  })

  test("refuses an absent file and another word than types", async () => {
    expect((await run("types", join(folder, "none"))).error).toContain("none does not exist")
    expect(await run("print", simplePod)).toMatchObject({ code: exitCodes.usage })
  })
})

const anyText = fc.oneof(
  fc.string(),
  fc.constantFrom("*/", "`", "${", "\n", "\u2028", "__proto__", "constructor", "a-b", ""),
)
const anySchema: (depth?: number) => fc.Arbitrary<object> = fc.memo((depth) => {
  const inner: fc.Arbitrary<object> = depth > 1 ? anySchema(depth - 1) : fc.constant({ type: "string" })
  return fc.record(
    {
      type: fc.constantFrom("string", "integer", "number", "boolean", "array", "object", "other", 5),
      description: anyText,
      default: fc.jsonValue({ maxDepth: 1 }),
      enum: fc.array(fc.jsonValue({ maxDepth: 1 }), { maxLength: 3 }),
      nullable: fc.boolean(),
      items: inner,
      properties: fc.dictionary(anyText, inner, { maxKeys: 3 }),
      required: fc.array(anyText, { maxLength: 2 }),
      additionalProperties: fc.oneof(fc.boolean(), inner),
      "x-kubernetes-preserve-unknown-fields": fc.boolean(),
      "x-kubernetes-int-or-string": fc.boolean(),
    },
    { requiredKeys: [] },
  )
})

test("Any schema becomes TypeScript that parses", () => {
  fc.assert(
    fc.property(anySchema(3), (schema) => {
      const text = definitionTypes(
        JSON.stringify(definition(version("v1", { spec: schema, other: schema }, { description: "*/" }))),
      )
      // Only types and comments: nothing is left to run.
      const left = stripTypeScriptTypes(text).replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "")
      expect(left.trim()).toBe("")
    }),
  )
})
