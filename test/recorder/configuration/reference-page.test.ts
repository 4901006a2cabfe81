/** docs/reference/configuration.md agrees with the code. */
import { readFile } from "node:fs/promises"
import * as Result from "effect/Result"
import { expect, test } from "vitest"
import { defaultDetect, defaultIgnore, defaultRules } from "../../../src/kube/index.ts"
import { kindKeys } from "../../../src/recorder/configuration/kind-settings.ts"
import {
  type ParsedConfiguration,
  parseConfiguration,
  redactionKeys,
} from "../../../src/recorder/configuration/parse-configuration.ts"
import { DEFAULT_TEMPLATE_PATHS } from "../../../src/trace/index.ts"

const page = await readFile(new URL("../../../docs/reference/configuration.md", import.meta.url), "utf8")

const parse = (text: string): ParsedConfiguration =>
  Result.getOrThrow(
    parseConfiguration(Buffer.from(text), { source: "page.yml", defaults: { defaultDetect, defaultIgnore } }),
  )

test("its examples are accepted without a warning", () => {
  const examples = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = ""]) => text)
  expect(examples).toHaveLength(4)
  for (const example of examples) expect(parse(example).warnings).toEqual([])
})

test("it has a row for every setting", () => {
  for (const key of [...kindKeys, "podSpecTemplatePath", ...redactionKeys]) expect(page).toContain(`\n| \`${key}\` | `)
})

test("it names every default rule of redaction, and what each replaces", () => {
  for (const [name, { env = [], annotations = [], toolAnnotations = [], headers = [], ...rule }] of defaultRules) {
    const row = page.split("\n").find((line) => line.startsWith(`| \`${name}\` | `))
    expect(row).toBeDefined()
    for (const pattern of [...env, ...annotations, ...toolAnnotations, ...headers, ...(rule.arguments ?? [])]) {
      const [, family, ending] = /^(\*[A-Z]+\*)(_UR[IL])$/.exec(pattern) ?? []
      for (const part of family === undefined ? [pattern] : [family, ending]) expect(row).toContain(`\`${part}\``)
    }
  }
})

test("it states the actual defaults", () => {
  for (const [kind, paths] of DEFAULT_TEMPLATE_PATHS) {
    expect(page).toContain(`\`${kind}\``)
    for (const path of paths) expect(page).toContain(path)
  }
  const { kinds } = parse("trackedObjects: {v1.Pod: {}, v1.Node: {}, batch/v1.Job: {}, v1.ConfigMap: {}}").configuration
  expect(kinds.map(({ detect }) => detect)).toEqual(["all", "all", "all", "content"])
  const leases = defaultIgnore({ group: "coordination.k8s.io", version: "v1", kind: "LeaseCandidate" }, "content")
  const named = leases.filter((pointer) => !pointer.endsWith("~1conditions"))
  expect(named).toHaveLength(leases.length - 1)
  for (const pointer of named) expect(page).toContain(`\`${pointer}\``)
})
