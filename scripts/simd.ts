/**
 * Builds src/kube/scanner/simd-module.ts from its AssemblyScript sources. After changing one:
 *
 *   npx --package assemblyscript@0.28.20 -- node scripts/simd.ts
 *
 * The result is committed with the hash of its sources, which a test compares: nobody needs the compiler but who changes
 * them. It is no dependency for that reason: it brings 100 MB, and the module is 1 kB.
 */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const here = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))

const sources = here("src/kube/scanner/simd")
const directory = mkdtempSync(join(tmpdir(), "kubereel-simd-"))
try {
  const binary = join(directory, "module.wasm")
  // Pages of 64 KiB, most of which are touched only by objects of many hundred kB (simd/layout.ts).
  const options = "-O3 --noAssert --runtime stub --enable simd --initialMemory 83".split(" ")
  execFileSync("asc", [join(sources, "scan.ts"), ...options, "--outFile", binary], { stdio: "inherit" })
  const lines =
    readFileSync(binary)
      .toString("base64")
      .match(/.{1,100}/g) ?? []
  const hash = createHash("sha256")
  for (const name of readdirSync(sources).toSorted()) hash.update(readFileSync(join(sources, name)))
  const text = [
    "/** Built by scripts/simd.ts from the sources in simd/. Not to be edited. */",
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
  writeFileSync(here("src/kube/scanner/simd-module.ts"), text.join("\n"))
} finally {
  rmSync(directory, { recursive: true, force: true })
}
