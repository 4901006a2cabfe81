/**
 * Bundles all programs into dist/: the command, one file per worker, the toy workers of the tests, and the modules that
 * package.json exports; and copies the data that modules of src/apiserver and src/sandbox read at runtime.
 *
 *   src/cli/main.ts             dist/cli.js                   `reel`; runs when it is imported
 *   src/cli/NAME.ts             dist/reel-NAME.js             one per command that src/cli/reel.ts loads
 *   src/actors/entries/NAME.ts  dist/workers/NAME.js          one per actor, read from the folder
 *   src/host/entries/NAME.ts    dist/workers/NAME.js          likewise
 *   test/FOLDER/workers/NAME.ts  dist/test-workers/NAME.js   actors and processes that only tests start
 *   exports of package.json     dist/lib/NAME.js              the package's dependencies stay imports, but for lib/index.js
 *   src/host/index.ts           dist/script-library/host.js   the same without dependencies, for scripts of a host
 *   src/kube/credentials/entries/auth-providers.ts   dist/auth-providers.js   loaded on demand
 *   licences of what is bundled dist/THIRD-PARTY.md
 *   src/apiserver/openapi/data/  dist/openapi/                 copied as they are
 *   src/sandbox/protobuf/data/  dist/protobuf/                likewise
 *
 * Guaranteed: a bundle is one file that imports nothing but Node's modules and `external` packages, except that lib/rehearsal.js imports
 * lib/host.js, so that there is one copy of each error class that controllers catch; it is replaced in
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
import { thirdPartyNotices } from "./third-party.ts"

/** Packages that never go into a bundle: piscina starts its worker threads from files beside its own. */
export const external: readonly string[] = ["piscina"]

/** The folders of workers' entry points. Their names must be unique. */
const workerFolders: readonly string[] = ["src/actors/entries", "src/host/entries"]

/** What scripts of a controller host import. Neither the image nor the place of a script has packages, so it is a bundle without imports. */
const scriptLibrary = "./host"

/**
 * A part of client-node that few users need (src/kube/credentials/auth-provider.ts): a bundle of its own, so that it costs the others nothing.
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

/**
 * The commands that src/cli/reel.ts loads on demand: otherwise a recorder would hold 10 MB of the sandbox's code in
 * memory for nothing.
 */
const commandImport = /\bimport\("\.\/(?<name>[a-z0-9-]+)\.ts"\)/g

/** What lib/rehearsal.js imports in place of a copy. */
const hostLibrary = "./host.js"

/** One bundle to make. */
interface Target {
  /** Path below dist/ without `.js`. */
  readonly name: string
  /** Path of the source below the root. */
  readonly entry: string
  readonly external: readonly string[]
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
}

interface BuildOptions {
  /** Source maps beside the bundles, for stack traces. Default true; a published package has none. */
  readonly hasMaps?: boolean
}

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
  const built: string[] = []
  const fresh: string[] = []
  const failed: Array<{ name: string; reason: string }> = []

  const isFresh = async (target: Target): Promise<boolean> => {
    const recorded = before.toolchain === toolchain ? before.inputs[target.name] : undefined
    if (recorded === undefined || recorded[target.entry] === undefined) return false
    if ((await hashOf(join("dist", `${target.name}.js`))) === "absent") return false
    const files = Object.entries(recorded)
    const same = await Promise.all(files.map(async ([file, hash]) => (await hashOf(file)) === hash))
    if (!same.every(Boolean)) return false
    inputs[target.name] = recorded
    packages[target.name] = before.packages[target.name] ?? []
    return true
  }

  await Promise.all(
    targets.map(async (target) => {
      if (await isFresh(target)) return fresh.push(target.name)
      const output = join(dist, `${target.name}.js`)
      await mkdir(dirname(output), { recursive: true })
      try {
        const bundled = await bundle(root, target)
        if (hasMaps) {
          await replace(`${output}.map`, bundled.map)
          await replace(output, `${bundled.code}\n//# sourceMappingURL=${target.name.split("/").at(-1)}.js.map\n`)
        } else {
          await rm(`${output}.map`, { force: true })
          await replace(output, `${bundled.code}\n`)
        }
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
    }),
  )

  await copyData(root, join("apiserver", "openapi", "data"), join(dist, "openapi"))
  await copyData(root, join("sandbox", "protobuf", "data"), join(dist, "protobuf"))
  await removeStrangers(dist, targets)
  const stamp: Stamp = { toolchain, inputs, packages }
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
    exports?: { [path: string]: { default: string } }
    dependencies?: { [name: string]: string }
    peerDependencies?: { [name: string]: string }
  }
  const targets: Target[] = []
  const absent: string[] = []
  const optional = [...external, ...Object.keys(manifest.peerDependencies ?? {})]
  if ((await sourcesIn(root, "src/cli")).includes("main")) {
    targets.push({ name: "cli", entry: "src/cli/main.ts", external: optional })
    const reel = await readFile(join(root, "src/cli/reel.ts"), "utf8").catch(absentAs(""))
    for (const { groups } of reel.matchAll(commandImport))
      targets.push({ name: `reel-${groups?.name}`, entry: `src/cli/${groups?.name}.ts`, external: optional })
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
  for (const path of Object.keys(manifest.exports ?? {})) {
    const folder = join("src", path)
    const name = path === "." ? "index" : path.slice(2)
    if (!(await sourcesIn(root, folder)).includes("index")) absent.push(path)
    else
      targets.push({
        name: `lib/${name}`,
        entry: join(folder, "index.ts"),
        external: path === promiseLibrary ? optional : Object.keys(manifest.dependencies ?? {}),
      })
    if (path === scriptLibrary && !absent.includes(path))
      targets.push({ name: `script-library/${name}`, entry: join(folder, "index.ts"), external: optional })
  }
  return { targets, absent }
}

/** Names, without `.ts`, of the modules directly in a folder; none if there is no such folder. */
const sourcesIn = async (root: string, folder: string): Promise<string[]> => {
  const entries = await readdir(join(root, folder)).catch(absentAs<string[]>([]))
  return entries.filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts")).map((name) => name.slice(0, -3))
}

interface Bundle {
  readonly code: string
  readonly map: string
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
    platform: "node",
    // What package.json promises: Node 22 does not know `using`.
    transform: { target: "node22.19" },
    external: target.external.flatMap((name) => [name, new RegExp(`^${name}/`)]),
    ...(target.name === authProviders.name && {
      treeshake: { moduleSideEffects: (id: string) => !id.includes("/node_modules/") },
    }),
    plugins: [
      {
        name: "one copy of what controllers use",
        resolveId: (source, importer) =>
          target.name === "lib/rehearsal" &&
          importer !== undefined &&
          join(dirname(importer), source) === join(root, "src/host/index.ts")
            ? { id: hostLibrary, external: true }
            : undefined,
      },
      {
        name: "commands in bundles of their own",
        resolveId: (source, importer, { kind }) =>
          kind === "dynamic-import" && importer?.endsWith(join("src", "cli", "reel.ts"))
            ? { id: `./reel-${source.slice(2, -3)}.js`, external: true }
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
      file: join(root, "dist", `${target.name}.js`),
      format: "esm",
      sourcemap: "hidden",
      // A stack trace needs only names and lines; with the sources in them the maps of the workers were 3 MB each.
      sourcemapExcludeSources: true,
      minify: minification(target),
      codeSplitting: false,
    })
    if (unresolved.length > 0) throw new Error(unresolved.join("; "))
    const [chunk] = output
    const allowed = (name: string): boolean =>
      isBuiltin(name) ||
      (target.name === "lib/rehearsal" && name === hostLibrary) ||
      target.external.some((known) => name === known || name.startsWith(`${known}/`))
    const strangers = chunk.imports.filter((name) => !allowed(name))
    if (strangers.length > 0) throw new Error(`it would import ${strangers.join(", ")}, which nobody installs`)
    const modules = chunk.moduleIds.filter((id) => id.startsWith(root) && !id.includes("/node_modules/"))
    const sources = modules.map((id) => relative(root, id))
    return { ...inOneByte(chunk.code, chunk.map), sources, packages: packagesOf(chunk.moduleIds) }
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
const removeStrangers = async (dist: string, targets: readonly Target[]): Promise<void> => {
  const known = new Set(targets.map(({ name }) => join(dist, `${name}.js`)))
  for (const folder of [".", "workers", "test-workers", "lib", "script-library"]) {
    const entries = await readdir(join(dist, folder)).catch(absentAs<string[]>([]))
    const outputs = entries.filter((name) => name.endsWith(".js")).map((name) => join(dist, folder, name))
    for (const output of outputs.filter((name) => !known.has(name))) {
      await rm(output, { force: true })
      await rm(`${output}.map`, { force: true })
    }
  }
}

const readStamp = async (dist: string): Promise<Stamp> => {
  const text = await readFile(join(dist, "build.json"), "utf8").catch(absentAs(""))
  return text === "" ? { toolchain: "", inputs: {}, packages: {} } : (JSON.parse(text) as Stamp)
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
