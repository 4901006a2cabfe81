/**
 * The images of unloaded modules, one compressed file each: an image of 3.3 MB of a Go guest takes 0.33 MB, in 8 ms. Only this process can use
 * them, so they are in the form in which V8 passes data between threads, and are not synced to disk. The creator of the directory removes it.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { deserialize, serialize } from "node:v8"
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib"
import type { GuestImage } from "../../guest/guest-image.ts"
import type { ImageStore } from "./module-runner.ts"

/** With a checksum, so that a damaged file is not read. */
const compression = { params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 } }

/** Keeps the image of one instance. No two instances of a host have both numbers, so that what is left of one is never taken for another's. */
export const imageFile = (
  directory: string,
  { slot, incarnation }: { readonly slot: number; readonly incarnation: number },
): ImageStore => {
  const path = join(directory, `${slot}-${incarnation}.image`)
  return {
    write: (image) => {
      try {
        writeFileSync(path, zstdCompressSync(serialize(image), compression), { mode: 0o600 })
      } catch (cause) {
        // A part of it is of no use, and what was missing is usually space.
        rmSync(path, { force: true })
        throw cause
      }
    },
    read: (): GuestImage => deserialize(zstdDecompressSync(readFileSync(path))),
    remove: () => rmSync(path, { force: true }),
  }
}
