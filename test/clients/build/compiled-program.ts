/** Programs and modules in Go and Rust, in the user's cache directory. Go and cargo find out by themselves whether they are up to date. */

import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { buildStep, cacheFolder, type Missing } from "./build-step.ts"

export type Program = { readonly path: string } | Missing

const sourcesOf = (name: string): string => fileURLToPath(new URL(`../${name}/`, import.meta.url))

/** Builds a package of the module in test/clients/go, or of its dependencies. One module, so that its programs share what is compiled. */
export const goProgram = async (name: string, main: string): Promise<Program> => {
  const path = join(await cacheFolder(""), name)
  const env = { GOTOOLCHAIN: "local", GOFLAGS: "-buildvcs=false -mod=readonly", GOWORK: "off" }
  return (await buildStep("go", ["build", "-trimpath", "-o", path, main], { cwd: sourcesOf("go"), env })) ?? { path }
}

/** Builds a package below the project's root as a guest of the controller host. */
export const goGuest = async (name: string, folder: string): Promise<Program> => {
  const path = join(await cacheFolder(""), `${name}.wasm`)
  const env = { GOOS: "wasip1", GOARCH: "wasm", GOTOOLCHAIN: "local", GOFLAGS: "-buildvcs=false", GOWORK: "off" }
  const words = ["build", "-buildmode=c-shared", "-ldflags=-s -w -checklinkname=0", "-o", path, "."]
  const cwd = fileURLToPath(new URL(`../../../${folder}/`, import.meta.url))
  return (await buildStep("go", words, { cwd, env })) ?? { path }
}

/** Builds the crate in a folder of test/clients, whose program is called like its folder. */
export const rustProgram = async (name: string): Promise<Program> => {
  const target = await cacheFolder(`${name}-target`)
  const words = ["build", "--locked", "--quiet", "--target-dir", target]
  return (await buildStep("cargo", words, { cwd: sourcesOf(name) })) ?? { path: join(target, "debug", name) }
}

/** Builds the crate in a folder of test/clients as a module, with the script that its users have. It takes some minutes the first time. */
export const rustModule = async (name: string): Promise<Program> => {
  const target = await cacheFolder(`${name}-target`)
  const script = fileURLToPath(new URL("../../../guests/rust/build", import.meta.url))
  const words = [join(sourcesOf(name), "Cargo.toml"), target, "--locked", "--quiet"]
  const path = join(target, "wasm32-wasip1/debug", `${name.replaceAll("-", "_")}.wasm`)
  return (await buildStep(script, words, { cwd: sourcesOf(name) })) ?? { path }
}
