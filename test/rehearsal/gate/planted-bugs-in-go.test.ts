/** The same bugs in a module in Go: examples/host/go with one of them planted. */
import { cpSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { compileGuest } from "../../../src/host/index.ts"
import { gate, HostedModule, linesOf, loadedParts } from "../../../src/rehearsal/index.ts"
import { examples, toolchains } from "../../examples/host/toolchains.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { podOf, type Recorded, simplePod, simplePodDefinition, traceOf } from "../history.ts"

const go = toolchains.find(({ language }) => language === "go")

/** Replacements, by default in simplepod.go. */
type Planted = ReadonlyArray<readonly [text: string, by: string, file?: string]>

const owned = 'OwnerReferences: []owner{{"slinky.dev/v1", "SimplePod", wanted.Name, wanted.UID, true}},'
const notOwned: Planted[number] = [owned, ""]
const remembered: Planted[number] = ["type write struct", "var made = map[key]bool{}\n\ntype write struct"]

const built = (planted: Planted) => {
  const directory = temporaryDirectory()
  cpSync(join(examples, "go"), directory, { recursive: true })
  for (const [text, by, name = "simplepod.go"] of planted) {
    const file = join(directory, name)
    const source = readFileSync(file, "utf8")
    expect(source).toContain(text)
    writeFileSync(file, source.replace(text, by))
  }
  const output = join(directory, "planted.wasm")
  go?.build(output, directory)
  return compileGuest(readFileSync(output), "planted")
}

const messageFor = async (
  planted: Planted,
  history: ReadonlyArray<Recorded>,
  order: { readonly restartAt?: "every-write"; readonly seeds?: ReadonlyArray<string> },
): Promise<string> => {
  const compiled = built(planted)
  const module = () =>
    new HostedModule({
      name: "simplepod",
      compiled,
      env: [{ name: "NAMESPACE", value: "" }],
      maximumMemoryBytes: 256 * 1024 * 1024,
      limits: {},
      subjects: [{ kind: "slinky.dev/v1.SimplePod", owns: ["v1.Pod"] }],
    })
  const items = await loadedParts(
    (async function* () {
      yield traceOf([{ at: 0, isSnapshot: true, object: simplePodDefinition }, ...history])
    })(),
  )
  const rehearsal = {
    ignored: [
      { kind: "v1.Pod", path: "/spec" },
      { kind: "v1.Pod", path: "/metadata/labels" },
      { kind: "v1.Pod", path: "/metadata/annotations" },
    ],
  }
  const lines: string[] = []
  for await (const trial of gate({
    items,
    cast: async () => [module()],
    rehearsal,
    comparedWith: "recorded",
    ...order,
  }))
    lines.push(...linesOf(trial))
  return lines.join("\n")
}

const web = simplePod("web", "nginx")
const living: ReadonlyArray<Recorded> = [
  { at: 1, object: web },
  { at: 1.2, object: podOf("web", "nginx") },
]

describe.skipIf(go?.missing() !== undefined)("A rehearsal finds a module in Go that", () => {
  test(
    "creates again after a restart",
    async () => {
      const planted: Planted = [
        remembered,
        ["case !isPresent:", "case !isPresent && !made[of]:\n\t\tmade[of] = true"],
        [
          'Name              string            `json:"name"`',
          'Name string `json:"name,omitempty"`\n\tGenerateName string `json:"generateName,omitempty"`',
        ],
        ["Name:            wanted.Name,", 'GenerateName: wanted.Name + "-",'],
      ]
      const generated = podOf("web", "nginx", { name: "web-x7k2p", generateName: "web-" })
      const message = await messageFor(
        planted,
        [
          { at: 1, object: web },
          { at: 1.2, object: generated },
          { at: 3, object: simplePod("api", "nginx") },
        ],
        { restartAt: "every-write" },
      )
      expect(message).toMatch(/^restart 1: simplepod creates v1\.Pod again: shop\/web-\w+ besides shop\/web-\w+; /m)
    },
    patient(120_000),
  )

  test(
    "does not own its child",
    async () => {
      const planted: Planted = [notOwned, [" || !present.isControlledBy(wanted.UID)", ""]]
      expect(await messageFor(planted, living, {})).toMatch(
        /^undisturbed: simplepod does not own its child v1\.Pod shop\/web: /m,
      )
    },
    patient(120_000),
  )

  test(
    "loses an update",
    async () => {
      const planted: Planted = [
        // Its requests have no other type.
        remembered,
        [
          'e.text("application/json")',
          'e.text(map[bool]string{true: "application/merge-patch+json", false: "application/json"}[method == "PATCH"])',
          "guest/requests.go",
        ],
        [
          "case !isPresent:",
          `case !made[of]:
		made[of] = true
		return &write{"PATCH", "/apis/slinky.dev/v1/namespaces/" + of.namespace + "/simplepods/" + of.name, map[string]any{
			"metadata": map[string]any{"labels": map[string]string{"seen": "yes"}},
			"spec":     map[string]any{"image": wanted.Spec.Image},
		}}
	case !isPresent:`,
        ],
      ]
      const changed = [
        { at: 1, object: web },
        { at: 2, object: simplePod("web", "nginx:2", { generation: 2 }) },
      ]
      const seeds = ["1: race patch slinky.dev/v1.SimplePod shop/web #1"]
      expect(await messageFor(planted, changed, { seeds })).toMatch(
        /^seed 1: simplepod loses an update of slinky\.dev\/v1\.SimplePod shop\/web: .* had set \/spec\/image to "nginx:2"/m,
      )
    },
    patient(120_000),
  )

  test(
    "misses deletions while it is down",
    async () => {
      const planted: Planted = [
        remembered,
        notOwned,
        [" || !present.isControlledBy(wanted.UID)", ""],
        [
          "if !isWanted ||",
          `if _, isThere := pods[of]; !isWanted && isThere && made[of] {
		return &write{"DELETE", "/api/v1/namespaces/" + of.namespace + "/pods/" + of.name, nil}
	}
	if !isWanted ||`,
        ],
        ["case !isPresent:", "case !isPresent:\n\t\tmade[of] = true"],
      ]
      const ended = [
        { at: 1, object: web },
        { at: 2, deleted: true, object: web },
      ]
      expect(await messageFor(planted, ended, { restartAt: "every-write" })).toMatch(
        /^restart 1: simplepod misses a deletion: v1\.Pod shop\/web, which it made, is still there/m,
      )
    },
    patient(120_000),
  )
})
