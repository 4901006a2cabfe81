/**
 * The layers of `src`: the only definition of which room (folder of `src`) may import which, and of the doors of each.
 *
 * A room is imported through its door, `index.ts`, which says what the room guarantees and exports what others may use; a second door is named here with
 * its reason. `npm run lint` includes this check; test/structure.test.ts shows that it finds violations of each rule.
 */
import { fileURLToPath } from "node:url"
import type { Counted } from "./sources.ts"

export interface Layer {
  /** A folder of `src`. */
  readonly folder: string
  /** Other folders of `src` that it may import through their doors, or single doors of them (`kube/offline.ts`). */
  readonly imports: ReadonlyArray<string>
  /** Doors beside `index.ts`, and why each is needed. */
  readonly doors?: Readonly<Record<string, string>>
  /** Why it may import so little. */
  readonly reason?: string
}

/** The part of `kube` that does not talk to a server. */
const offline = "kube/offline.ts"

const cli = [
  "k8s",
  "replicas",
  "recorder",
  "rehearsal",
  "simulation",
  "serve",
  "sandbox",
  "apiserver",
  "host",
  "facts",
  "fleet",
  "archive",
  "audit",
  "validation",
  "trace",
  "timeline",
  "page",
  "kube",
  "text",
  "blob",
  "runtime",
]

/** From the bottom up: a folder imports only folders above its own line. */
export const layers: ReadonlyArray<Layer> = [
  { folder: "runtime", imports: [], reason: "Actors know nothing of Kubernetes." },
  { folder: "text", imports: [], reason: "It knows only text." },
  { folder: "timeline", imports: [], reason: "It runs in a browser too." },
  {
    folder: "kube",
    imports: ["text"],
    doors: { "offline.ts": "a trace is read without the client and its 2 MB of modules" },
  },
  { folder: "blob", imports: [] },
  {
    folder: "page",
    imports: [],
    doors: { "document.ts": "what the page draws of a report, as types that a browser's code may import" },
    reason: "It is how a page looks and is escaped, whatever is on it.",
  },
  {
    folder: "trace",
    imports: ["page", "text", "timeline", offline],
    doors: { "transform/index.ts": "the parser of the language is loaded with the first program" },
    reason: "A trace is read and written without a cluster.",
  },
  { folder: "validation", imports: ["trace", offline], reason: "A trace is judged without a cluster." },
  { folder: "audit", imports: ["trace", "kube"], reason: "A log is imported without a cluster." },
  { folder: "wire", imports: ["trace", offline] },
  { folder: "archive", imports: ["wire", "trace", "timeline", offline], reason: "A recording is read without actors." },
  {
    folder: "fleet",
    imports: ["archive", "text", "blob"],
    reason: "A stream is read and written without a recorder.",
  },
  {
    folder: "facts",
    imports: ["fleet", "archive", "trace", "blob", offline],
    reason: "Facts are made and asked without a recorder.",
  },
  { folder: "actors", imports: ["fleet", "archive", "wire", "trace", "timeline", "kube", "blob", "runtime"] },
  {
    folder: "host",
    imports: ["kube", "runtime"],
    doors: { "controllers.ts": "what controllers are written with; scripts and rehearsals share one copy of it" },
  },
  { folder: "apiserver", imports: ["kube", "runtime"], reason: "Its Backend may be a sandbox or an archive." },
  {
    folder: "serve",
    imports: ["apiserver", "archive", "trace", "page", "kube", "runtime"],
    reason: "It shows the past, and loads no sandbox.",
  },
  { folder: "sandbox", imports: ["apiserver", "host", "trace", "kube", "runtime"] },
  {
    folder: "recorder",
    imports: ["actors", "fleet", "archive", "audit", "wire", "trace", "page", "kube", "text", "blob", "runtime"],
    doors: { "embedded/index.ts": "the same recorder for programs without Effect, with the same names" },
  },
  {
    folder: "replicas",
    imports: ["recorder", "kube", "runtime"],
    reason: "Recorders of shards are processes; it reads no recording.",
  },
  {
    folder: "simulation",
    imports: ["recorder", "host", "archive", "trace", "page", "kube"],
    reason: "A replay works with any client, and knows no sandbox.",
  },
  {
    folder: "rehearsal",
    imports: ["simulation", "sandbox", "apiserver", "host", "archive", "trace", "kube", "text"],
    reason: "Controllers meet recorded history; in production they need none of it.",
  },
  {
    folder: "k8s",
    imports: ["recorder", "host", "kube"],
    reason: "Manifests are computed from what is recorded, and from what controllers need.",
  },
  { folder: "ui", imports: ["timeline", "page/document.ts"], reason: "It runs in a browser." },
  { folder: "cli", imports: cli },
  { folder: "library", imports: [...cli, "actors", "wire"], reason: "One module for each export of package.json." },
]

/** Modules of `src` itself that every folder may import, because they import nothing of `src`. */
export const foundations: ReadonlyArray<string> = [
  "clock.ts",
  "is-record.ts",
  "local-time.ts",
  "message-of.ts",
  "own-member.ts",
]

/** The folder of `src` that a file lies in; undefined for other files, and for those directly in `src`. */
export const roomOf = (file: string): string | undefined => /^src\/([^/]+)\//.exec(file)?.[1]

/** Whether a file of `src` is one that other rooms, and tests of other rooms, import. */
export const isDoor = (file: string, table: ReadonlyArray<Layer> = layers): boolean => {
  const [src, room = "", ...rest] = file.split("/")
  const module = rest.join("/")
  if (src !== "src" || rest.length === 0) return false
  return (
    module === "index.ts" ||
    room === "library" ||
    table.some(({ folder, doors }) => folder === room && doors?.[module] !== undefined)
  )
}

/** What is wrong with the imports of a module, one sentence each: none if the table allows them. */
export const violations = (
  { file, imports }: Pick<Counted, "file" | "imports">,
  table: ReadonlyArray<Layer> = layers,
): ReadonlyArray<string> => {
  const layer = table.find(({ folder }) => folder === roomOf(file))
  return imports.flatMap(({ file: target }) => {
    const room = roomOf(target)
    const path = target.slice("src/".length)
    if (foundations.includes(file.slice("src/".length)))
      return [`${file} imports ${target}: every folder may import it, so it imports nothing of src.`]
    if (layer === undefined || room === undefined) return []
    if (room === layer.folder)
      return path === `${room}/index.ts`
        ? [`${file} imports the door of its own room; it imports the module that the door passes on.`]
        : []
    if (!layer.imports.includes(room) && !layer.imports.includes(path)) {
      const allowed = layer.imports.length === 0 ? "no other folder" : `only ${layer.imports.join(", ")}`
      return [`${file} imports ${target}: src/${layer.folder} may import ${allowed}. ${layer.reason ?? ""}`.trimEnd()]
    }
    return isDoor(target, table) ? [] : [`${file} imports ${target}, which is not a door of src/${room}.`]
  })
}

if (import.meta.main) {
  const { readSources } = await import("./sources.ts")
  const files = readSources(fileURLToPath(new URL("../", import.meta.url)))
  const found = files.filter(({ file }) => file.startsWith("src/")).flatMap((file) => violations(file))
  for (const each of found) console.error(each)
  if (found.length > 0) process.exitCode = 1
}
