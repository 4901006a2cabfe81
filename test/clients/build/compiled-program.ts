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

/** cargo's profiles: the first compiles soonest, the second is what one would measure. */
export type RustProfile = "debug" | "release"

/** Builds a program of the crate in a folder of test/clients. By default it is called like the folder. */
export const rustProgram = async (
  folder: string,
  name: string = folder,
  profile: RustProfile = "debug",
): Promise<Program> => {
  const target = await cacheFolder(`${folder}-target`)
  const words = ["build", "--bin", name, "--locked", "--quiet", "--target-dir", target, ...optionsOf(profile)]
  return (await buildStep("cargo", words, { cwd: sourcesOf(folder) })) ?? { path: join(target, profile, name) }
}

/**
 * Builds the crate in a folder of test/clients as a module, or one of its examples, with the script that its users have. It takes some minutes the first
 * time.
 */
export const rustModule = async (
  folder: string,
  example?: string,
  profile: RustProfile = "debug",
): Promise<Program> => {
  const target = await cacheFolder(`${folder}-target`)
  const script = fileURLToPath(new URL("../../../guests/rust/build", import.meta.url))
  const which = example === undefined ? ["--lib"] : ["--example", example]
  const words = [join(sourcesOf(folder), "Cargo.toml"), target, ...which, "--locked", "--quiet", ...optionsOf(profile)]
  const file = example === undefined ? `${folder.replaceAll("-", "_")}.wasm` : `examples/${example}.wasm`
  const path = join(target, "wasm32-wasip1", profile, file)
  return (await buildStep(script, words, { cwd: sourcesOf(folder) })) ?? { path }
}

const optionsOf = (profile: RustProfile): ReadonlyArray<string> => (profile === "release" ? ["--release"] : [])
