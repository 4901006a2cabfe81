/** The installed packages that bundles need: those that they import and that cannot be part of a bundle. */
import { access, readdir, readFile } from "node:fs/promises"
import { isBuiltin } from "node:module"
import { dirname, join } from "node:path"

/** Folders of packages that only their authors use, and files that only tools read. */
const uselessFolder = /^(?:test|tests|test-jest|docs?|examples?|benchmarks?|scripts|\.github)$/
/** The same program once more, for bundlers and browsers: 1,700 of 4,100 files. */
const otherPlatforms = /\/(?:dist-es|dist\/(?:browser|react-native))$/
const uselessFile = /(?:\.map|\.[cm]?ts|\.md|\.markdown|\.flow|\.tsbuildinfo)$|^(?:\.|tsconfig)/i

/** The SDKs for exports to object stores: imported by names that are not visible in a bundle (src/blob/providers/provider.ts). */
const sdks: ReadonlyArray<string> = ["@aws-sdk/client-s3", "@azure/storage-blob", "@google-cloud/storage"]

/** Loaded by the sandbox with the first expression (src/sandbox/cel/values.ts), which a bundle does not show either. */
const grammars: ReadonlyArray<string> = ["@marcbachmann/cel-js"]

/**
 * Files below `root` of every package that the scripts import or load by name, and of what those depend on. Optional packages that
 * are not installed are omitted, as are the optional dependencies of others: piscina's changes the priority of threads, which is not
 * used here.
 */
export const packageFiles = async (root: string, scripts: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const files: string[] = []
  const folders = new Set<string>()
  for (const name of [...sdks, ...grammars]) {
    const folder = await findPackage(root, "", name)
    if (folder === undefined) throw new Error(`${name} is not installed: run "npm ci"`)
    folders.add(folder)
  }
  for (const script of scripts) {
    for (const name of importsOf(await readFile(join(root, script), "utf8"))) {
      const folder = await findPackage(root, "", name)
      if (folder !== undefined) folders.add(folder)
    }
  }
  for (const folder of folders) {
    files.push(...(await filesBelow(root, folder, true)))
    const manifest = JSON.parse(await readFile(join(root, folder, "package.json"), "utf8")) as {
      readonly dependencies?: Readonly<Record<string, string>>
      readonly optionalDependencies?: Readonly<Record<string, string>>
    }
    for (const name of Object.keys(manifest.dependencies ?? {})) {
      if (manifest.optionalDependencies?.[name] !== undefined) continue
      const needed = await findPackage(root, folder, name)
      if (needed === undefined) throw new Error(`${folder} needs ${name}, which is not installed: run "npm ci"`)
      folders.add(needed)
    }
  }
  return files
}

/** Names of the packages that a bundle imports, now or later: `@aws-sdk/client-s3` of `@aws-sdk/client-s3/x`. */
const importsOf = (bundle: string): ReadonlySet<string> => {
  const found = bundle.matchAll(
    /\b(?:from|import)\s*\(?\s*(["'`])((?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*)(?:\/[^"'`]*)?\1/g,
  )
  return new Set([...found].map(([, , name = ""]) => name).filter((name) => name !== "" && !isBuiltin(name)))
}

/** Searches as Node does: in the folder's own node_modules, then in those above it. */
const findPackage = async (root: string, from: string, name: string): Promise<string | undefined> => {
  const folder = join(from, "node_modules", name)
  const isThere = await access(join(root, folder, "package.json")).then(
    () => true,
    () => false,
  )
  if (isThere) return folder
  return from === "" ? undefined : findPackage(root, dirname(from) === "." ? "" : dirname(from), name)
}

const filesBelow = async (root: string, folder: string, isTop: boolean): Promise<string[]> => {
  const entries = await readdir(join(root, folder), { withFileTypes: true })
  const nested = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name)
      // Nested packages are found separately if they are needed.
      if (entry.isDirectory())
        return entry.name === "node_modules" || (isTop && uselessFolder.test(entry.name)) || otherPlatforms.test(path)
          ? []
          : filesBelow(root, path, false)
      return entry.isFile() && !uselessFile.test(entry.name) ? [path] : []
    }),
  )
  return nested.flat()
}
