/**
 * Builds the WebAssembly modules of the project from their AssemblyScript sources. After changing one:
 *
 *   npx --package assemblyscript@0.28.20 -- node scripts/simd.ts
 *
 * The results are committed with the hash of their sources, which a test compares: nobody needs the compiler but who changes
 * them. It is no dependency for that reason: it brings 100 MB, and the modules are a few kB.
 */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"

interface SimdModule {
  /** Where the sources lie; the built module stands beside it, with `-module.ts` behind its name. */
  readonly sources: string
  readonly entry: string
  /** Memory, in pages of 64 KiB, most of which are touched only by objects of many hundred kB (layout.ts). */
  readonly pages: number
}

const modules: ReadonlyArray<SimdModule> = [
  { sources: "src/kube/scanner/simd/assembly", entry: "scan.ts", pages: 83 },
  { sources: "src/trace/formats/simkube/simd/assembly", entry: "object.ts", pages: 22 },
]

const here = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))

const build = ({ sources, entry, pages }: SimdModule, binary: string): void => {
  const directory = here(sources)
  const options = `-O3 --noAssert --runtime stub --enable simd --initialMemory ${pages}`.split(" ")
  execFileSync("asc", [join(directory, entry), ...options, "--outFile", binary], { stdio: "inherit" })
  const lines =
    readFileSync(binary)
      .toString("base64")
      .match(/.{1,100}/g) ?? []
  const hash = createHash("sha256")
  for (const name of readdirSync(directory).toSorted()) hash.update(readFileSync(join(directory, name)))
  const text = [
    `/** Built by scripts/simd.ts from the sources in ${basename(sources)}/. Not to be edited. */`,
    "",
    "/** SHA-256 of the sources, one after the other in the order of their names. */",
    "export const simdSource =",
    `  "${hash.digest("hex")}"`,
    "",
    "/** The WebAssembly module in base64. */",
    "export const simdModule =",
    lines.map((line) => `  "${line}"`).join(" +\n"),
    "",
  ]
  writeFileSync(here(`${sources}-module.ts`), text.join("\n"))
}

const workplace = mkdtempSync(join(tmpdir(), "kubereel-simd-"))
try {
  for (const module of modules) build(module, join(workplace, "module.wasm"))
} finally {
  rmSync(workplace, { recursive: true, force: true })
}
