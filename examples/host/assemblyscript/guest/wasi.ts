/** The few functions of WASI preview 1 that a guest needs, called directly: AssemblyScript has no library for them. */

@external("wasi_snapshot_preview1", "fd_write")
declare function fdWrite(descriptor: u32, vectors: usize, count: u32, written: usize): u32
@external("wasi_snapshot_preview1", "random_get")
declare function randomGet(buffer: usize, length: u32): u32
@external("wasi_snapshot_preview1", "environ_sizes_get")
declare function environSizesGet(count: usize, size: usize): u32
@external("wasi_snapshot_preview1", "environ_get")
declare function environGet(pointers: usize, buffer: usize): u32

function write(descriptor: u32, line: string): void {
  const text = String.UTF8.encode(line + "\n")
  const vector = new StaticArray<u32>(3)
  vector[0] = <u32>changetype<usize>(text)
  vector[1] = text.byteLength
  const address = changetype<usize>(vector)
  // A log that cannot be written has nowhere to be reported.
  fdWrite(descriptor, address, 1, address + 8)
}

/** Writes a line to the standard output, which the host adds to its log. */
export function log(line: string): void {
  write(1, line)
}

/** Writes a line to the standard error output. */
export function logError(line: string): void {
  write(2, line)
}

/** Ends the guest with a reason, by a trap. The compiler calls it for failed checks: `abort` of asconfig.json. */
export function stop(reason: string | null, file: string | null, line: u32, column: u32): void {
  const what = reason === null ? "a check failed" : reason
  const where = file === null ? "" : " at " + file + ":" + line.toString() + ":" + column.toString()
  logError(what + where)
  unreachable()
}

/** A random number from 0 to less than 1. */
export function random(): f64 {
  const bytes = new StaticArray<u32>(1)
  assert(randomGet(changetype<usize>(bytes), 4) == 0, "random_get failed")
  return <f64>bytes[0] / 4294967296.0
}

/** The value of an environment variable, which the module's YAML file sets; empty if it is not set. */
export function variable(name: string): string {
  const sizes = new StaticArray<u32>(2)
  const address = changetype<usize>(sizes)
  assert(environSizesGet(address, address + 4) == 0, "environ_sizes_get failed")
  const pointers = new StaticArray<u32>(sizes[0])
  const buffer = new ArrayBuffer(sizes[1])
  assert(environGet(changetype<usize>(pointers), changetype<usize>(buffer)) == 0, "environ_get failed")
  const entries = String.UTF8.decode(buffer).split("\0")
  for (let index = 0; index < entries.length; index++)
    if (entries[index].startsWith(name + "=")) return entries[index].substring(name.length + 1)
  return ""
}
