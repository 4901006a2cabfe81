/**
 * Reads a directory of modules: each is `NAME.yaml` with `NAME.wasm`, `NAME.ts` or `NAME.js` beside it.
 *
 * Guaranteed: never rejects; a module that cannot be loaded is a refusal and hinders no other; the order is that of the file names. Hidden
 * files are ignored, so that a mounted ConfigMap works, and so are scripts without a YAML, which modules may import, manifests of Kubernetes objects,
 * such as a CustomResourceDefinition, and other files. Files
 * whose signature has not changed are not read again. What a script imports relatively, wherever that lies, belongs to its code.
 */
import { createHash } from "node:crypto"
import { dirname, extname, join } from "node:path"
import * as Result from "effect/Result"
import { codeOf, type DirectoryIo } from "./directory-io.ts"
import { type ModuleFile, parseModuleFile } from "./module-file.ts"
import type { ModuleRefusal } from "./module-problem.ts"
import { largestModuleFile } from "./module-yaml.ts"

/** A module that can be loaded. */
export interface ModuleSource {
  readonly file: ModuleFile
  /** Of the YAML. */
  readonly path: string
  readonly codePath: string
  readonly form: "wasm" | "ts" | "js"
  /** SHA-256 of the code, in hexadecimal, for the later load of a script; of a script with what it imports relatively. */
  readonly codeHash: string
  /** Differs whenever YAML or code differ. */
  readonly hash: string
}

export interface RefusedModule {
  /** The file that the refusal is about. */
  readonly path: string
  readonly refusal: ModuleRefusal
}

export interface ModuleListing {
  readonly modules: ReadonlyArray<ModuleSource>
  readonly refusals: ReadonlyArray<RefusedModule>
}

/** Bytes of code; the largest guests of the original host have 20 MB. */
const largestCode = 256 * 1024 * 1024

const forms = ["wasm", "ts", "js"] as const

/** What was read of files, by path. */
export type ReadCache = Map<string, ReadFile & { readonly signature: string }>

interface ReadFile {
  /** Of a YAML. */
  readonly bytes: Uint8Array | undefined
  readonly hash: string
  /** Of a script: the files that it imports relatively, in the order of the text. */
  readonly imports: ReadonlyArray<string>
}

/** The error of the operating system if the directory itself cannot be read. `cache` is brought up to date. */
export const listModules = async (
  io: DirectoryIo,
  directory: string,
  cache: ReadCache = new Map(),
): Promise<Result.Result<ModuleListing, string>> => {
  let names: ReadonlyArray<string>
  try {
    names = (await io.list(directory)).filter((name) => !name.startsWith(".")).sort()
  } catch (cause) {
    return Result.fail(codeOf(cause))
  }
  const modules: ModuleSource[] = []
  const refusals: RefusedModule[] = []
  const present = new Set(names)
  const read = new Set<string>()
  for (const name of names) {
    const extension = extname(name)
    const stem = name.slice(0, name.length - extension.length)
    const path = join(directory, name)
    if (extension === ".yml") {
      refusals.push({ path, refusal: { _tag: "WrongExtension", expected: `${stem}.yaml` } })
    } else if (extension === ".wasm" && !present.has(`${stem}.yaml`)) {
      refusals.push({ path, refusal: { _tag: "FileMissing", expected: `${stem}.yaml` } })
    } else if (extension === ".yaml") {
      const result = await readModule(io, directory, stem, present, cache, read)
      if (result === undefined) continue
      if (Result.isSuccess(result)) modules.push(result.success)
      else refusals.push(result.failure)
    }
  }
  for (const path of cache.keys()) if (!read.has(path)) cache.delete(path)
  return Result.succeed({ modules, refusals })
}

const readModule = async (
  io: DirectoryIo,
  directory: string,
  stem: string,
  present: ReadonlySet<string>,
  cache: ReadCache,
  read: Set<string>,
): Promise<Result.Result<ModuleSource, RefusedModule> | undefined> => {
  const path = join(directory, `${stem}.yaml`)
  const refuse = (refusal: ModuleRefusal, about = path) => Result.fail({ path: about, refusal })
  const yaml = await readCached(io, path, largestModuleFile + 1, cache, read)
  if (typeof yaml === "string") return refuse({ _tag: "Unreadable", code: yaml })
  if (isManifest(yaml.bytes)) return undefined
  const parsed = parseModuleFile(yaml.bytes ?? new Uint8Array(0))
  if (Result.isFailure(parsed)) return refuse({ _tag: "Invalid", problems: parsed.failure })
  const found = forms.filter((one) => present.has(`${stem}.${one}`))
  const [form] = found
  if (form === undefined) return refuse({ _tag: "CodeMissing", expected: forms.map((one) => `${stem}.${one}`) })
  if (found.length > 1) return refuse({ _tag: "SeveralCodes", found: found.map((one) => `${stem}.${one}`) })
  if (form === "wasm" && parsed.success.abi === undefined) {
    const advice = "a WebAssembly module needs it: add abi: rust_v1alpha1"
    return refuse({ _tag: "Invalid", problems: [{ _tag: "MissingKey", line: 1, column: 1, key: "abi", advice }] })
  }
  const codePath = join(directory, `${stem}.${form}`)
  const code = await readCached(io, codePath, largestCode, cache, read)
  if (typeof code === "string") return refuse({ _tag: "Unreadable", code }, codePath)
  const codeHash = code.imports.length === 0 ? code.hash : await hashOfAll(io, code, cache, read)
  return Result.succeed({
    file: parsed.success,
    path,
    codePath,
    form,
    codeHash,
    hash: `${yaml.hash} ${form} ${codeHash}`,
  })
}

/** Of a script and all that it imports, also through others. A file that is missing counts as that, so the script is read anew once it is there. */
const hashOfAll = async (io: DirectoryIo, script: ReadFile, cache: ReadCache, seen: Set<string>): Promise<string> => {
  const all = createHash("sha256").update(script.hash)
  const paths = new Set(script.imports)
  // The set grows while it is walked.
  for (const path of paths) {
    const file = await readCached(io, path, largestCode, cache, seen)
    all.update(` ${path} ${typeof file === "string" ? file : file.hash}`)
    if (typeof file !== "string") for (const further of file.imports) paths.add(further)
  }
  return all.digest("hex")
}

/** `import … from "./a.ts"`, `import "./a.ts"`, `export … from`, `import("./a.ts")`. In a comment it costs a look at a file. */
const relativeImports = /\b(?:from|import)\s*\(?\s*(["'])(\.{1,2}\/[^"'\n?]+)\1/g

const importsOf = (path: string, bytes: Uint8Array): ReadonlyArray<string> =>
  /\.[cm]?[jt]s$/.test(path)
    ? [...Buffer.from(bytes).toString().matchAll(relativeImports)].map(([, , to = ""]) => join(dirname(path), to))
    : []

const isManifest = (bytes: Uint8Array = new Uint8Array(0)): boolean => {
  const text = Buffer.from(bytes).toString()
  return /^apiVersion:/m.test(text) && /^kind:/m.test(text)
}

/** The hash of a file, with its bytes if it is a YAML, and what it imports; or the error of the operating system. */
const readCached = async (
  io: DirectoryIo,
  path: string,
  limit: number,
  cache: ReadCache,
  read: Set<string>,
): Promise<ReadFile | string> => {
  try {
    // Before the content: if the file changes in between, the next look sees another signature.
    const signature = await io.signature(path)
    const known = cache.get(path)
    read.add(path)
    if (known?.signature === signature) return known
    const bytes = await io.read(path, limit)
    // The system's name for a file that is too large; a YAML that is has a problem of its own.
    if (bytes.length >= limit && limit === largestCode) return "EFBIG"
    const hash = createHash("sha256").update(bytes).digest("hex")
    const entry = {
      signature,
      bytes: path.endsWith(".yaml") ? bytes : undefined,
      hash,
      imports: importsOf(path, bytes),
    }
    cache.set(path, entry)
    return entry
  } catch (cause) {
    return codeOf(cause)
  }
}
