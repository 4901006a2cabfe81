/** Programs in Go and Rust, in the user's cache directory. Go and cargo find out by themselves whether they are up to date. */

import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { buildStep, cacheFolder, type Missing } from "./build-step.ts"

export type Program = { readonly path: string } | Missing

const sourcesOf = (name: string): string => fileURLToPath(new URL(`../${name}/`, import.meta.url))

/** Builds the package `main` of the module in test/clients/NAME: its own, or a dependency's. */
export const goProgram = async (name: string, main = "."): Promise<Program> => {
  const path = join(await cacheFolder(""), name)
  const env = { GOTOOLCHAIN: "local", GOFLAGS: "-buildvcs=false -mod=readonly", GOWORK: "off" }
  return (await buildStep("go", ["build", "-trimpath", "-o", path, main], { cwd: sourcesOf(name), env })) ?? { path }
}

/** Builds the crate in test/clients/NAME, whose program is called like its folder. */
export const rustProgram = async (name: string): Promise<Program> => {
  const target = await cacheFolder(`${name}-target`)
  const words = ["build", "--locked", "--quiet", "--target-dir", target]
  return (await buildStep("cargo", words, { cwd: sourcesOf(name) })) ?? { path: join(target, "debug", name) }
}
