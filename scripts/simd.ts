/**
 * Builds src/kube/scanner/simd-module.ts from its AssemblyScript source. After changing that source:
 *
 *   npx --package assemblyscript@0.28.20 -- node scripts/simd.ts
 *
 * The result is committed with the hash of its source, which a test compares: nobody needs the compiler but who changes the
 * source. It is no dependency for that reason: it brings 100 MB, and the module is 1 kB.
 */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const here = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))

const source = here("src/kube/scanner/simd/skip-value.ts")
const directory = mkdtempSync(join(tmpdir(), "kubereel-simd-"))
try {
  const binary = join(directory, "module.wasm")
  // A page for the stack of brackets, a page and 1 MiB for the bytes (simd-skip.ts says how they are used).
  const options = "-O3 --noAssert --runtime stub --enable simd --initialMemory 18".split(" ")
  execFileSync("asc", [source, ...options, "--outFile", binary], { stdio: "inherit" })
  const lines =
    readFileSync(binary)
      .toString("base64")
      .match(/.{1,100}/g) ?? []
  const hash = createHash("sha256").update(readFileSync(source)).digest("hex")
  const text = [
    "/** Built by scripts/simd.ts from simd/skip-value.ts. Not to be edited. */",
    "",
    "/** SHA-256 of the source. */",
    "export const simdSource =",
    `  "${hash}"`,
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
