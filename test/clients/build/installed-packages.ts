/** Packages of Python, Node and Java, installed into a folder of the user's cache directory whose name says which. */

import { createHash } from "node:crypto"
import { existsSync } from "node:fs"
import { copyFile, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { buildStep, cacheFolder, type Missing } from "./build-step.ts"

export type Packages = { readonly folder: string } | Missing

const sourceOf = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))

/** A virtual environment with what the file lists. Its interpreter is {@link pythonIn}. */
export const pythonPackages = (requirements: string): Promise<Packages> =>
  installed("python", sourceOf(requirements), async (folder) => {
    const step = { cwd: folder }
    const made = await buildStep("python3", ["-m", "venv", "."], step)
    // Wheels only, unless the list says otherwise: what had to be compiled would need headers and minutes.
    const words = ["-m", "pip", "install", "--quiet", "--only-binary=:all:", "-r", sourceOf(requirements)]
    return made ?? (await buildStep(pythonIn(folder), words, step))
  })

/** What a package.json names, in its folder `node_modules`. */
export const nodePackages = (project: string): Promise<Packages> =>
  installed("node", sourceOf(project), async (folder) => {
    await copyFile(sourceOf(project), join(folder, "package.json"))
    return buildStep("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: folder })
  })

/** The archives that a Maven project needs at run time, all in one folder. */
export const javaPackages = (project: string): Promise<Packages> =>
  installed("java", sourceOf(project), (folder) => {
    const words = ["-f", sourceOf(project), "--batch-mode", "-DincludeScope=runtime", `-DoutputDirectory=${folder}`]
    return buildStep("mvn", [...words, copyDependencies], { cwd: folder })
  })

/** The interpreter of {@link pythonPackages}. */
export const pythonIn = (folder: string): string => join(folder, "bin", "python")

const copyDependencies = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

const installed = async (
  language: string,
  list: string,
  install: (folder: string) => Promise<Missing | undefined>,
): Promise<Packages> => {
  const hash = createHash("sha256")
    .update(await readFile(list))
    .digest("hex")
  const folder = await cacheFolder(`${language}-${hash.slice(0, 12)}`)
  const mark = join(folder, "complete")
  if (existsSync(mark)) return { folder }
  await rm(folder, { recursive: true })
  const missing = await install(await cacheFolder(`${language}-${hash.slice(0, 12)}`))
  if (missing === undefined) await writeFile(mark, "")
  return missing ?? { folder }
}
