/**
 * Builds the WebAssembly modules of the project from their AssemblyScript sources. After changing one: `npm run simd`.
 *
 * The results are committed, so that bundles and tests need no compiler. `--check` writes nothing: it rebuilds the modules and fails if
 * the committed ones differ in a single byte. CI runs that. The compiler's version is pinned in package.json, because another one would
 * generate different bytes from the same sources. A test compares the hash of the sources, which is fast and so runs with all others.
 */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"

export interface SimdModule {
  /** Folder of the sources. */
  readonly sources: string
  /** The built module, committed. */
  readonly file: string
  readonly entry: string
  /** Memory, in pages of 64 KiB, most of which are touched only by objects of many hundred kB (layout.ts). */
  readonly pages: number
}

const modules: ReadonlyArray<SimdModule> = [
  {
    sources: "src/kube/scanner/simd/assembly",
    file: "src/kube/scanner/simd/simd-module.ts",
    entry: "scan.ts",
    pages: 83,
  },
  {
    sources: "src/trace/formats/simkube/simd/assembly",
    file: "src/trace/formats/simkube/simd/simkube-simd-module.ts",
    entry: "object.ts",
    pages: 22,
  },
]

const project = fileURLToPath(new URL("../", import.meta.url))

/** Compiles one module and returns its bytes. Throws the compiler's messages. */
const compile = ({ sources, entry, pages }: SimdModule): Buffer => {
  const workplace = mkdtempSync(join(tmpdir(), "kubereel-simd-"))
  try {
    const binary = join(workplace, "module.wasm")
    const options = `-O3 --noAssert --runtime stub --enable simd --initialMemory ${pages}`.split(" ")
    const compiler = join(project, "node_modules/assemblyscript/bin/asc.js")
    const parameters = [compiler, join(project, sources, entry), ...options, "--outFile", binary]
    execFileSync(process.execPath, parameters, { stdio: "inherit" })
    return readFileSync(binary)
  } finally {
    rmSync(workplace, { recursive: true, force: true })
  }
}

/** The text of the committed file, formatted as the linter wants it. */
const moduleText = (directory: string, binary: Buffer): string => {
  const lines = binary.toString("base64").match(/.{1,100}/g) ?? []
  const hash = createHash("sha256")
  for (const name of readdirSync(directory).toSorted()) hash.update(readFileSync(join(directory, name)))
  return [
    `/** Built by scripts/simd.ts from the sources in ${basename(directory)}/. Not to be edited. */`,
    "",
    "/** SHA-256 of the sources, one after the other in the order of their names. */",
    `export const simdSource = "${hash.digest("hex")}"`,
    "",
    "/** The WebAssembly module in base64. */",
    "export const simdModule =",
    lines.map((line) => `  "${line}"`).join(" +\n"),
    "",
  ].join("\n")
}

/** The files that would change, with the text they should have. */
export const staleModules = (
  wanted: ReadonlyArray<SimdModule> = modules,
  root: string = project,
  compiled: (module: SimdModule) => Buffer = compile,
): Map<string, string> => {
  const stale = new Map<string, string>()
  for (const module of wanted) {
    const { file } = module
    const text = moduleText(join(root, module.sources), compiled(module))
    const isFresh = existsSync(join(root, file)) && readFileSync(join(root, file), "utf8") === text
    if (!isFresh) stale.set(file, text)
  }
  return stale
}

if (import.meta.main) {
  const isCheck = process.argv.includes("--check")
  for (const [file, text] of staleModules()) {
    if (isCheck) {
      process.exitCode = 1
      console.error(`${file} is not what its sources compile to: run npm run simd and commit the result`)
    } else {
      writeFileSync(join(project, file), text)
      console.log(`wrote ${file}`)
    }
  }
}
