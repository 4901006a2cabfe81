/**
 * Archives in the format of tar (POSIX ustar), the same bytes for the same files: tar programs differ in how they are told to leave out times,
 * owners and the order of a folder.
 */

/** One file of an archive. */
export interface ArchivedFile {
  /** Without a slash at its beginning. */
  readonly path: string
  readonly content: Uint8Array
  readonly isExecutable: boolean
}

const blockSize = 512

/**
 * The pieces of an archive, in the order of the paths, with 1970 as the time of everything.
 *
 * @throws Error for a path that the format has no room for: beyond 100 bytes it has to have a slash with at most 155 bytes before it and at
 * most 100 after it.
 */
export function* archiveOf(files: Iterable<ArchivedFile>): Generator<Uint8Array> {
  for (const file of [...files].sort((left, right) => (left.path < right.path ? -1 : 1))) {
    yield headerOf(file)
    yield file.content
    yield new Uint8Array((blockSize - (file.content.length % blockSize)) % blockSize)
  }
  // Two empty blocks are the end.
  yield new Uint8Array(2 * blockSize)
}

const headerOf = ({ path, content, isExecutable }: ArchivedFile): Uint8Array => {
  const header = Buffer.alloc(blockSize)
  const [prefix, name] = splitPath(path)
  header.write(name, 0)
  header.write(isExecutable ? "0000755\0" : "0000644\0", 100)
  // Owner and group: 0.
  header.write("0000000\0", 108)
  header.write("0000000\0", 116)
  header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124)
  header.write("00000000000\0", 136)
  // The sum is computed with spaces in its place.
  header.write("        ", 148)
  header.write("0", 156)
  header.write("ustar\x0000", 257)
  header.write(prefix, 345)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148)
  return header
}

const splitPath = (path: string): readonly [prefix: string, name: string] => {
  if (Buffer.byteLength(path) <= 100) return ["", path]
  for (let slash = path.indexOf("/"); slash !== -1; slash = path.indexOf("/", slash + 1)) {
    const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)]
    if (Buffer.byteLength(prefix) <= 155 && Buffer.byteLength(name) <= 100) return [prefix, name]
  }
  throw new Error(`${path} is too long for a tar archive`)
}
