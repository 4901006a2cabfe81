/**
 * The layers of `src`: the only definition of which folder may import which. The import rules in biome.json are generated from it;
 * they are repetitive because the options of a rule in one Biome override replace those of another.
 *
 * `npm run layers` writes them into biome.json; `npm run layers -- --check` fails if biome.json differs.
 *
 * `npm run lint` includes the check. test/structure.test.ts shows that Biome finds violations of the table.
 */
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { isDeepStrictEqual } from "node:util"

export interface Layer {
  /** A folder of `src`. */
  readonly folder: string
  /** Other folders of `src` that it may import, or single modules of them (`kube/gvk.ts`). */
  readonly imports: ReadonlyArray<string>
  /** Why it may import so little, shown with the rule. */
  readonly reason?: string
}

/** The modules of `kube` that do not talk to a server, so a trace may use them. */
const names = [
  "kube/gvk.ts",
  "kube/label-selector.ts",
  "kube/quantity.ts",
  "kube/resource-version.ts",
  "kube/redaction/redacted-values.ts",
]

/** From the bottom up: a folder imports only folders above its own line. */
export const layers: ReadonlyArray<Layer> = [
  { folder: "runtime", imports: [], reason: "Actors know nothing of Kubernetes." },
  { folder: "text", imports: [], reason: "It knows only text." },
  { folder: "kube", imports: ["text"] },
  { folder: "blob", imports: [] },
  { folder: "page", imports: [], reason: "It is how a page looks and is escaped, whatever is on it." },
  { folder: "trace", imports: ["page", "text", ...names], reason: "A trace is read and written without a cluster." },
  { folder: "validation", imports: ["trace", ...names], reason: "A trace is judged without a cluster." },
  { folder: "audit", imports: ["trace", "kube"], reason: "A log is imported without a cluster." },
  { folder: "wire", imports: ["trace", ...names] },
  {
    folder: "archive",
    imports: ["wire", "trace", ...names, "kube/field-selector.ts", "kube/statuses.ts"],
    reason: "A recording is read without actors.",
  },
  { folder: "actors", imports: ["archive", "wire", "trace", "kube", "blob", "runtime"] },
  { folder: "host", imports: ["kube", "runtime"] },
  { folder: "apiserver", imports: ["kube", "runtime"], reason: "Its Backend may be a sandbox or an archive." },
  {
    folder: "serve",
    imports: ["apiserver", "archive", "trace", "kube", "runtime"],
    reason: "It shows the past, and loads no sandbox.",
  },
  { folder: "sandbox", imports: ["apiserver", "host", "trace", "kube", "runtime"] },
  { folder: "recorder", imports: ["actors", "archive", "wire", "trace", "kube", "text", "blob", "runtime"] },
  {
    folder: "simulation",
    imports: ["recorder", "host", "archive", "trace", "page", "kube"],
    reason: "A replay works with any client, and knows no sandbox.",
  },
  {
    folder: "rehearsal",
    imports: ["simulation", "sandbox", "host", "archive", "trace", "kube"],
    reason: "Controllers meet recorded history; whoever runs them in production needs none of it.",
  },
  {
    folder: "k8s",
    imports: ["recorder", "host", "kube"],
    reason: "Manifests are computed from what is recorded, and from what controllers need.",
  },
  {
    folder: "cli",
    imports: [
      "k8s",
      "recorder",
      "rehearsal",
      "simulation",
      "serve",
      "sandbox",
      "apiserver",
      "host",
      "archive",
      "audit",
      "validation",
      "trace",
      "page",
      "kube",
      "text",
      "blob",
      "runtime",
    ],
  },
]

/** Modules of `src` itself that every folder may import, because they import nothing. */
export const foundations: ReadonlyArray<string> = [
  "clock.ts",
  "is-record.ts",
  "local-time.ts",
  "message-of.ts",
  "own-member.ts",
]

const project = fileURLToPath(new URL("../", import.meta.url))

const everywhere = {
  effect: 'The barrel costs a worker 49 MB; import the module itself, such as "effect/Effect".',
}
const clientLibrary = {
  group: ["@kubernetes/client-node", "@kubernetes/client-node/**"],
  message: "Only src/kube/credentials loads the client library: it costs a worker 78 MB.",
}

interface Override {
  readonly includes: ReadonlyArray<string>
  readonly linter: unknown
}

const override = (includes: ReadonlyArray<string>, patterns: ReadonlyArray<unknown>): Override => {
  const noRestrictedImports = { level: "error", options: { paths: everywhere, patterns } }
  return { includes, linter: { rules: { style: { noRestrictedImports } } } }
}

/** The rule of a folder; none if it may import everything. */
const rulesOf = (table: ReadonlyArray<Layer>, { folder, imports, reason }: Layer) => {
  const others = table.map((layer) => layer.folder).filter((other) => other !== folder && !imports.includes(other))
  if (others.length === 0) return []
  const modules = imports.filter((path) => path.includes("/")).map((path) => `!../**/${path}`)
  const rule = imports.length === 0 ? "no other folder" : `${imports.join(", ")} and nothing else`
  const message = [`src/${folder} imports ${rule} (scripts/layers.ts).`, reason].filter(Boolean).join(" ")
  return [{ group: [...others.map((other) => `../**/${other}/**`), ...modules], message }]
}

/** The overrides of biome.json that concern `src`. */
const overridesOf = (table: ReadonlyArray<Layer>): ReadonlyArray<Override> => [
  override(["src/**"], [clientLibrary]),
  ...table.map((layer) => override([`src/${layer.folder}/**`], [clientLibrary, ...rulesOf(table, layer)])),
  ...table
    .filter(({ folder }) => folder === "kube")
    .map((layer) => override(["src/kube/credentials/**"], rulesOf(table, layer))),
  override(
    foundations.map((file) => `src/${file}`),
    [{ group: ["**"], message: "Every folder may import it, so it imports nothing (scripts/layers.ts)." }],
  ),
]

interface Configuration {
  readonly overrides: ReadonlyArray<Override>
}

/** The configuration with the overrides for `src` replaced by the generated ones. */
export const withLayers = (configuration: Configuration): Configuration => ({
  ...configuration,
  overrides: [
    ...overridesOf(layers),
    ...configuration.overrides.filter(({ includes }) => !includes.every((path) => path.startsWith("src/"))),
  ],
})

if (import.meta.main) {
  const file = join(project, "biome.json")
  const present = JSON.parse(readFileSync(file, "utf8")) as Configuration
  const wanted = withLayers(present)
  if (process.argv.includes("--check")) {
    if (!isDeepStrictEqual(present, wanted)) {
      console.error("biome.json is not what scripts/layers.ts generates: run npm run layers")
      process.exitCode = 1
    }
  } else {
    writeFileSync(file, JSON.stringify(wanted, undefined, 2))
    execFileSync(join(project, "node_modules/.bin/biome"), ["format", "--write", "biome.json"], {
      cwd: project,
      stdio: "inherit",
    })
  }
}
