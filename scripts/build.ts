/**
 * Bundles all programs into dist/: the command, one file per worker, the toy workers of the tests, and the modules that
 * package.json exports; and copies the data that modules of src/apiserver and src/sandbox read at runtime.
 *
 *   src/cli/main.ts             dist/cli.js                   `reel`; runs when it is imported. Its commands, which src/cli/reel.ts loads on
 *                               dist/part-NAME-HASH.js        demand, share what several of them need
 *   src/actors/entries/NAME.ts  dist/workers/NAME.js          one per actor, read from the folder
 *   src/fleet/entries/NAME.ts   dist/workers/NAME.js          likewise
 *   src/host/entries/NAME.ts    dist/workers/NAME.js          likewise
 *   src/trace/transform/entries/NAME.ts  dist/workers/NAME.js  code of piscina's threads
 *   test/FOLDER/workers/NAME.ts  dist/test-workers/NAME.js   actors and processes that only tests start
 *   exports of package.json     dist/lib/NAME.js              the package's dependencies stay imports, but for lib/index.js
 *   src/ui/page.tsx             dist/ui/page.js               the page, for browsers; what it loads on demand is beside it (plot.js)
 *   src/ui/file.tsx             dist/ui/file.js               the page of one file, which loads nothing
 *   style sheets below src/ui   dist/ui/page.css              one, page.css first
 *   src/library/host.ts         dist/script-library/host.js   the same without dependencies, for scripts of a host
 *   src/kube/credentials/entries/auth-providers.ts   dist/auth-providers.js   loaded on demand
 *   licences of what is bundled dist/THIRD-PARTY.md
 *   src/apiserver/openapi/data/  dist/openapi/                 copied as they are
 *   src/sandbox/protobuf/data/  dist/protobuf/                likewise
 *
 * Modules of src are taken to have no side effects: what imports a room's door gets the modules that it uses and no others.
 *
 * Guaranteed: a bundle is one file that imports nothing but Node's modules and `external` packages, except that lib/rehearsal.js imports
 * lib/host.js, so that there is one copy of each error class that controllers catch, that lib/recorder.js loads on demand what reads a
 * recording, and that the command is split into parts, which together have a sixth of the bytes of a bundle for each command, and are
 * built in a tenth of the time; a bundle is replaced in
 * one step, so a process that starts meanwhile loads either the old or the new one completely, even if several builds
 * run at once; a bundle whose inputs have the same content is left alone. A bundle that fails to build is replaced by a
 * module that throws the reason, so that programs without it still work and outdated code never runs.
 *
 * Workers are bundled and minified for memory: four deep imports of Effect cost a worker 22–29 MB as modules and 10 MB
 * as one minified file, which also starts in 23 ms.
 */

import { createHash, randomUUID } from "node:crypto"

import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { isBuiltin } from "node:module"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { decode, encode } from "@jridgewell/sourcemap-codec"
import type { OutputOptions } from "rolldown"
import { messageOf } from "../src/message-of.ts"
import { makeParser } from "./grammar.ts"
import { thirdPartyNotices } from "./third-party.ts"

/** Packages that never go into a bundle: piscina starts its worker threads from files beside its own. */
export const external: readonly string[] = ["piscina"]

/** The folders of workers' entry points. Their names must be unique. */
const workerFolders: readonly string[] = [
  ...["src/actors/entries", "src/fleet/entries", "src/host/entries", "src/trace/transform/entries"],
]

/** One module for each export of package.json. */
const libraryFolder = "src/library"

/** What scripts of a controller host import. Neither the image nor the place of a script has packages, so it is a bundle without imports. */
const scriptLibrary = "./host"

/**
 * A part of client-node that few users need (src/kube/credentials/identity.ts): a bundle of its own, so that it costs the others nothing.
 * Its packages are taken to be free of side effects, without which all of client-node's API types, 980 modules, would be in it.
 */
const authProviders = { name: "auth-providers", folder: "src/kube/credentials/entries" } as const

/**
 * What programs without Effect import. With Effect in the bundle it takes 33 MB and 75 ms to load, with Effect's modules out of node_modules
 * 63 MB and 195 ms; the other libraries exchange Effect's values with their users and must have their copy of it.
 */
const promiseLibrary = "."

/** The folders of programs that only tests start. Their names must be unique. */
const testFolders: readonly string[] = ["test/runtime/workers", "test/recorder/workers", "test/archive/workers"]

/** A recorder that is embedded opens copies of pinned windows on demand, and only then what reads a recording. */
const splitLibrary = "./recorder"

/** What lib/rehearsal.js imports in place of a copy. */
const hostLibrary = "./host.js"

/** One bundle to make. */
interface Target {
  /** Path below dist/ without `.js`. */
  readonly name: string
  /** Path of the source below the root. */
  readonly entry: string
  readonly external: readonly string[]
  /**
   * Whether what it imports on demand becomes files of its own: its parts. They lie beside it, because modules find data and workers by
   * their own place. The hash of the content is in their names, so the parts of two builds do not mix.
   */
  readonly isSplit?: boolean
  /** Whether it runs in a browser. What it loads on demand is then named after its module: a page is asked for by name. */
  readonly isPage?: boolean
}

/** The result of a build; the three lists contain every bundle once. */
export interface BuildReport {
  readonly built: readonly string[]
  readonly fresh: readonly string[]
  readonly failed: ReadonlyArray<{ readonly name: string; readonly reason: string }>
  /** Exports of package.json whose source does not exist yet. */
  readonly absent: readonly string[]
  readonly milliseconds: number
}

/** dist/build.json: for each bundle the content hash of every source in it and the packages in it, and the hash of what all bundles depend on. */
interface Stamp {
  readonly toolchain: string
  readonly inputs: { [name: string]: { [file: string]: string } }
  /** Folders below the root, such as `node_modules/yaml`. */
  readonly packages: { [name: string]: ReadonlyArray<string> }
  /** Names of the files below dist/ that the bundle imports. */
  readonly parts: { [name: string]: ReadonlyArray<string> }
}

interface BuildOptions {
  /** Source maps beside the bundles, for stack traces. Default true; a published package has none. */
  readonly hasMaps?: boolean
}

/** All 30 at once took 2.1 GB instead of 1.0, 3 s of CPU more, and no less time on two cores. */
const BUNDLES_AT_ONCE = 4

const projectRoot = fileURLToPath(new URL("..", import.meta.url))

/**
 * Brings dist/ up to date. Never rejects for a source that fails to build: it is listed in `failed`.
 *
 * @param root the directory with package.json; default this project. Tests build small ones.
 */
export const build = async (
  root: string = projectRoot,
  { hasMaps = true }: BuildOptions = {},
): Promise<BuildReport> => {
  const start = performance.now()
  const dist = join(root, "dist")
  const hashes = new Map<string, Promise<string>>()
  const hashOf = (file: string): Promise<string> => {
    const known = hashes.get(file) ?? contentHash(join(root, file))
    hashes.set(file, known)
    return known
  }

  const { targets, absent } = await findTargets(root)
  const before = await readStamp(dist)
  const toolchain = [
    await contentHash(fileURLToPath(import.meta.url)),
    await hashOf("package-lock.json"),
    ...(hasMaps ? [] : ["without maps"]),
  ].join(" ")
  const inputs: Stamp["inputs"] = {}
  const packages: Stamp["packages"] = {}
  const parts: Stamp["parts"] = {}
  const built: string[] = []
  const fresh: string[] = []
  const failed: Array<{ name: string; reason: string }> = []
  await makeParser(root).catch((cause: unknown) => failed.push({ name: "grammar", reason: messageOf(cause) }))

  const isFresh = async (target: Target): Promise<boolean> => {
    const recorded = before.toolchain === toolchain ? before.inputs[target.name] : undefined
    if (recorded === undefined || recorded[target.entry] === undefined) return false
    const outputs = [`${target.name}.js`, ...(before.parts[target.name] ?? [])]
    if ((await Promise.all(outputs.map((file) => hashOf(join("dist", file))))).includes("absent")) return false
    const files = Object.entries(recorded)
    const same = await Promise.all(files.map(async ([file, hash]) => (await hashOf(file)) === hash))
    if (!same.every(Boolean)) return false
    inputs[target.name] = recorded
    packages[target.name] = before.packages[target.name] ?? []
    parts[target.name] = before.parts[target.name] ?? []
    return true
  }

  const make = async (target: Target): Promise<void> => {
    if (await isFresh(target)) {
      fresh.push(target.name)
      return
    }
    const output = join(dist, `${target.name}.js`)
    await mkdir(dirname(output), { recursive: true })
    try {
      const bundled = await bundle(root, target)
      // The bundle itself comes last: what it imports is there when it is.
      for (const { file, code, map } of bundled.files) {
        const path = join(dirname(output), file)
        if (hasMaps) {
          await replace(`${path}.map`, map)
          await replace(path, `${code}\n//# sourceMappingURL=${file}.map\n`)
        } else {
          await rm(`${path}.map`, { force: true })
          await replace(path, `${code}\n`)
        }
      }
      parts[target.name] = bundled.files.slice(0, -1).map(({ file }) => join(dirname(target.name), file))
      const recorded = bundled.sources.map(async (file) => [file, await hashOf(file)] as const)
      inputs[target.name] = Object.fromEntries(await Promise.all(recorded))
      packages[target.name] = bundled.packages
      built.push(target.name)
    } catch (cause) {
      const reason = messageOf(cause)
      const message = `${target.entry} does not build: ${reason}`
      await replace(output, `throw new Error(${JSON.stringify(message)})\n`)
      await rm(`${output}.map`, { force: true })
      failed.push({ name: target.name, reason })
    }
  }
  const waiting = targets.values()
  const maker = async (): Promise<void> => {
    for (const target of waiting) await make(target)
  }
  await Promise.all(Array.from({ length: BUNDLES_AT_ONCE }, maker))

  await joinStyles(root, join(dist, "ui", "page.css"))
  await copyData(root, join("apiserver", "openapi", "data"), join(dist, "openapi"))
  await copyData(root, join("sandbox", "protobuf", "data"), join(dist, "protobuf"))
  // Parts of the build before stay: a process that was started from it may not have loaded them yet.
  const known = new Set([...Object.values(parts), ...Object.values(before.parts)].flat())
  for (const { name } of targets) known.add(`${name}.js`)
  await removeStrangers(dist, known)
  const stamp: Stamp = { toolchain, inputs, packages, parts }
  if (built.length + failed.length > 0) {
    const shipped = Object.entries(packages).flatMap(([name, folders]) => (name.startsWith("test-") ? [] : folders))
    await replace(join(dist, "THIRD-PARTY.md"), await thirdPartyNotices(root, shipped))
    await replace(join(dist, "build.json"), JSON.stringify(stamp))
  }
  return { built, fresh, failed, absent, milliseconds: performance.now() - start }
}

/** The report as lines for people; the last one is the summary. */
export const describeReport = (report: BuildReport): string => {
  const lines = report.failed.map(({ name, reason }) => `dist/${name}.js: ${reason}`)
  if (report.absent.length > 0) lines.push(`exported but not written yet: ${report.absent.join(", ")}`)
  const counts = `${report.built.length} built, ${report.fresh.length} up to date, ${report.failed.length} failed`
  return [...lines, `build: ${counts} (${Math.round(report.milliseconds)} ms)`].join("\n")
}

const findTargets = async (root: string): Promise<{ targets: Target[]; absent: string[] }> => {
  const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    exports?: { [path: string]: string | { types?: string; default?: string } }
    dependencies?: { [name: string]: string }
    peerDependencies?: { [name: string]: string }
  }
  const targets: Target[] = []
  const absent: string[] = []
  const optional = [...external, ...Object.keys(manifest.peerDependencies ?? {})]
  if ((await sourcesIn(root, "src/cli")).includes("main"))
    targets.push({ name: "cli", entry: "src/cli/main.ts", external: optional, isSplit: true })
  if ((await readdir(join(root, "src/ui")).catch(absentAs<string[]>([]))).includes("page.tsx")) {
    targets.push({ name: "ui/page", entry: "src/ui/page.tsx", external: [], isSplit: true, isPage: true })
    targets.push({ name: "ui/file", entry: "src/ui/file.tsx", external: [], isPage: true })
  }
  if ((await sourcesIn(root, authProviders.folder)).includes(authProviders.name))
    targets.push({
      name: authProviders.name,
      entry: `${authProviders.folder}/${authProviders.name}.ts`,
      external: [],
    })
  for (const folder of workerFolders)
    for (const name of await sourcesIn(root, folder))
      targets.push({ name: `workers/${name}`, entry: `${folder}/${name}.ts`, external })
  for (const folder of testFolders)
    for (const name of await sourcesIn(root, folder))
      targets.push({ name: `test-workers/${name}`, entry: `${folder}/${name}.ts`, external })
  const library = await sourcesIn(root, libraryFolder)
  for (const [path, exported] of Object.entries(manifest.exports ?? {})) {
    // One of types only.
    if (typeof exported === "object" && exported.types !== undefined && exported.default === undefined) continue
    const name = path === "." ? "index" : path.slice(2)
    const entry = `${libraryFolder}/${name}.ts`
    if (!library.includes(name)) absent.push(path)
    else
      targets.push({
        name: `lib/${name}`,
        entry,
        external: path === promiseLibrary ? optional : Object.keys(manifest.dependencies ?? {}),
        isSplit: path === splitLibrary,
      })
    if (path === scriptLibrary && !absent.includes(path))
      targets.push({ name: `script-library/${name}`, entry, external: optional })
  }
  return { targets, absent }
}

/** Names, without `.ts`, of the modules directly in a folder; none if there is no such folder. */
const sourcesIn = async (root: string, folder: string): Promise<string[]> => {
  const entries = await readdir(join(root, folder)).catch(absentAs<string[]>([]))
  return entries.filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts")).map((name) => name.slice(0, -3))
}

interface Bundle {
  /** Its parts, and then itself. */
  readonly files: ReadonlyArray<{ readonly file: string; readonly code: string; readonly map: string }>
  readonly sources: ReadonlyArray<string>
  readonly packages: ReadonlyArray<string>
}

const bundle = async (root: string, target: Target): Promise<Bundle> => {
  // Loading rolldown costs more than the rest of a build with nothing to do.
  const { rolldown } = await import("rolldown")
  const unresolved: string[] = []
  const bundler = await rolldown({
    cwd: root,
    input: join(root, target.entry),
    // Everything is said here: an image is built from src without the files beside it.
    tsconfig: false,
    platform: target.isPage === true ? "browser" : "node",
    // What package.json promises: Node 22 does not know `using`. Browsers: those of the last two years.
    transform:
      target.isPage === true
        ? { target: "es2023", jsx: { runtime: "automatic", importSource: "preact" } }
        : { target: "node22.19" },
    external: target.external.flatMap((name) => [name, new RegExp(`^${name}/`)]),
    treeshake: {
      moduleSideEffects: [
        { test: /\/src\//, sideEffects: false },
        ...(target.name === authProviders.name ? [{ test: /\/node_modules\//, sideEffects: false }] : []),
      ],
    },
    plugins: [
      {
        name: "one copy of what controllers use",
        resolveId: (source, importer) =>
          target.name === "lib/rehearsal" &&
          importer !== undefined &&
          join(dirname(importer), source) === join(root, "src/host/controllers.ts")
            ? { id: hostLibrary, external: true }
            : // A file draws its plots without a library.
              target.name === "ui/file" && source === "./plot.ts"
              ? { id: "./plot.js", external: true }
              : undefined,
      },
    ],
    onLog: (_level, log) => {
      // Rolldown leaves an unresolved module as an import and only warns.
      if (log.code === "UNRESOLVED_IMPORT") unresolved.push(log.message)
    },
  })
  try {
    const { output } = await bundler.generate({
      // Nothing is written here; the source map needs the base of its paths.
      ...(target.isSplit === true
        ? {
            dir: join(root, "dist"),
            entryFileNames: `${target.name}.js`,
            chunkFileNames: join(dirname(target.name), target.isPage === true ? "[name].js" : "part-[name]-[hash].js"),
            codeSplitting: true,
          }
        : { file: join(root, "dist", `${target.name}.js`), codeSplitting: false }),
      format: "esm",
      sourcemap: "hidden",
      // A stack trace needs only names and lines; with the sources in them the maps of the workers were 3 MB each.
      sourcemapExcludeSources: true,
      minify: minification(target),
    })
    if (unresolved.length > 0) throw new Error(unresolved.join("; "))
    const chunks = output
      .filter((each) => each.type === "chunk")
      .sort((one, other) => Number(one.isEntry) - Number(other.isEntry))
    // A part that imported its bundle would wait for it for ever: the bundle ends when its command does.
    const parts = new Set(chunks.filter(({ isEntry }) => !isEntry).map(({ fileName }) => fileName))
    const allowed = (name: string): boolean =>
      isBuiltin(name) ||
      parts.has(name) ||
      (target.name === "lib/rehearsal" && name === hostLibrary) ||
      target.external.some((known) => name === known || name.startsWith(`${known}/`))
    const strangers = chunks.flatMap(({ imports }) => imports).filter((name) => !allowed(name))
    if (strangers.length > 0) throw new Error(`it would import ${strangers.join(", ")}, which nobody installs`)
    const moduleIds = chunks.flatMap((chunk) => chunk.moduleIds)
    // What a bundle is made of, and the modules that only pass on: a door that names another module changes the bundle, and is not in it.
    const isOwn = (id: string): boolean => id.startsWith(root) && !id.includes("/node_modules/")
    const modules = new Set(moduleIds.filter(isOwn))
    for (const id of (await bundler.watchFiles).filter(isOwn))
      if (/^export\b.*\bfrom "|^\} from "/m.test(await readFile(id, "utf8"))) modules.add(id)
    const sources = [...modules].map((id) => relative(root, id)).toSorted()
    const files = chunks.map(({ fileName, code, map }) => ({
      file: fileName.split("/").at(-1) ?? fileName,
      ...inOneByte(code, map),
    }))
    return { files, sources, packages: packagesOf(moduleIds) }
  } finally {
    await bundler.close()
  }
}

/** The folders of the packages that modules are from, without repetition: of a package within another one, the inner. */
const packagesOf = (moduleIds: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set(
    moduleIds.flatMap((id) => /\bnode_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? []),
  ),
]

/**
 * Escapes what is not Latin-1: a single ellipsis makes an engine keep the whole file with two bytes a character, 2.3 MB in the four threads
 * of a small recorder. The columns of the map move along.
 */
const inOneByte = (
  code: string,
  map: { readonly mappings: string; toString(): string } | null,
): { code: string; map: string } => {
  const wide = /[^\0-\xff]/g
  const escaped = code.replace(wide, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
  if (map === null || escaped === code) return { code, map: map?.toString() ?? "" }
  const lines = code.split("\n")
  const mappings = decode(map.mappings)
  for (const [index, segments] of mappings.entries()) {
    const columns = [...(lines[index] ?? "").matchAll(wide)].map((match) => match.index)
    for (const segment of segments) segment[0] += 5 * columns.filter((column) => column < segment[0]).length
  }
  return { code: escaped, map: JSON.stringify({ ...JSON.parse(map.toString()), mappings: encode(mappings) }) }
}

/**
 * There are many workers, and each pays for every byte. The command runs once and contains the client library: only its
 * white space is removed, because shortening its names took half of the whole build; so it is for the library that contains Effect. Other exported
 * modules are left readable.
 */
const minification = (target: Target): NonNullable<OutputOptions["minify"]> => {
  const isLarge = target.entry.startsWith("src/cli/") || target.name === "lib/index"
  if (target.name.startsWith("lib/") && !isLarge) return false
  return isLarge ? { compress: false, mangle: false, codegen: true } : true
}

/** Writes beside the file and renames, because a worker may be loading it. */
const replace = async (file: string, text: string | Uint8Array): Promise<void> => {
  const fresh = `${file}.${randomUUID()}`
  await writeFile(fresh, text)
  await rename(fresh, file)
}

/** The page's style sheets as one, without the space between rules. */
const joinStyles = async (root: string, target: string): Promise<void> => {
  const found = await readdir(join(root, "src/ui"), { recursive: true }).catch(absentAs<string[]>([]))
  const names = found.filter((name) => name.endsWith(".css"))
  if (names.length === 0) return
  const ordered = names.toSorted(
    (one, other) => Number(other === "page.css") - Number(one === "page.css") || (one < other ? -1 : 1),
  )
  const texts = await Promise.all(ordered.map((name) => readFile(join(root, "src/ui", name), "utf8")))
  const style = texts.join("\n").replaceAll(/^\s+|\/\*[\s\S]*?\*\//gm, "")
  await mkdir(dirname(target), { recursive: true })
  if ((await readFile(target, "utf8").catch(absentAs(""))) !== style) await replace(target, style)
}

/** Copies data beside the bundles; files with the same content are left alone, those without a source are removed. */
const copyData = async (root: string, folder: string, target: string): Promise<void> => {
  const source = join(root, "src", folder)
  const names = await readdir(source).catch(absentAs<string[]>([]))
  if (names.length > 0) await mkdir(target, { recursive: true })
  for (const name of names) {
    if ((await contentHash(join(source, name))) === (await contentHash(join(target, name)))) continue
    await replace(join(target, name), await readFile(join(source, name)))
  }
  const copied = await readdir(target).catch(absentAs<string[]>([]))
  // Except for files that another build is writing: they have a random suffix.
  const strangers = copied.filter((name) => /\.(?:json|zst)$/.test(name) && !names.includes(name))
  for (const name of strangers) await rm(join(target, name), { force: true })
}

/** Removes workers and commands whose source is gone, so that they are no longer found. */
const removeStrangers = async (dist: string, known: ReadonlySet<string>): Promise<void> => {
  for (const folder of [".", "workers", "test-workers", "lib", "script-library"]) {
    const entries = await readdir(join(dist, folder)).catch(absentAs<string[]>([]))
    const outputs = entries.filter((name) => name.endsWith(".js")).map((name) => join(folder, name))
    for (const output of outputs.filter((name) => !known.has(name))) {
      await rm(join(dist, output), { force: true })
      await rm(join(dist, `${output}.map`), { force: true })
    }
  }
}

const readStamp = async (dist: string): Promise<Stamp> => {
  const text = await readFile(join(dist, "build.json"), "utf8").catch(absentAs(""))
  const empty: Stamp = { toolchain: "", inputs: {}, packages: {}, parts: {} }
  return text === "" ? empty : { ...empty, ...(JSON.parse(text) as Partial<Stamp>) }
}

const contentHash = async (file: string): Promise<string> => {
  const bytes = await readFile(file).catch(absentAs(undefined))
  return bytes === undefined ? "absent" : createHash("sha256").update(bytes).digest("base64url").slice(0, 16)
}

const absentAs =
  <Value>(value: Value) =>
  (cause: NodeJS.ErrnoException): Value => {
    if (cause.code !== "ENOENT") throw cause
    return value
  }

if (import.meta.main) {
  const report = await build(projectRoot, { hasMaps: !process.argv.includes("--without-maps") })
  console.log(describeReport(report))
  process.exitCode = report.failed.length > 0 ? 1 : 0
}
