// A guest in AssemblyScript for the tests: it notes what wakes it, in objects of its heap.

@external("delay-abi", "delay")
declare function delay(milliseconds: u64): u64

@external("kube-watch-abi", "watch")
declare function watch(pointer: usize, length: usize): u64

@external("wasi_snapshot_preview1", "fd_write")
declare function fd_write(file: u32, parts: usize, count: u32, written: usize): u32

const given = new Map<usize, ArrayBuffer>()
const seen = new Map<string, i32>()

function log(line: string): void {
  const text = String.UTF8.encode(line + "\n")
  const part = new StaticArray<usize>(3)
  part[0] = changetype<usize>(text)
  part[1] = <usize>text.byteLength
  fd_write(1, changetype<usize>(part), 1, changetype<usize>(part) + 2 * sizeof<usize>())
}

function append(bytes: u8[], text: string): void {
  const encoded = Uint8Array.wrap(String.UTF8.encode(text))
  for (let index = 0; index < 8; index++) bytes.push(index == 0 ? <u8>encoded.length : 0)
  for (let index = 0; index < encoded.length; index++) bytes.push(encoded[index])
}

export function allocate(size: usize): usize {
  const buffer = new ArrayBuffer(<i32>size)
  given.set(changetype<usize>(buffer), buffer)
  return changetype<usize>(buffer)
}

export function run(): void {
  const bytes: u8[] = []
  append(bytes, "v1")
  append(bytes, "")
  append(bytes, "Secret")
  append(bytes, "v1")
  bytes.push(1)
  append(bytes, "kube-system")
  append(bytes, "")
  bytes.push(0)
  bytes.push(0)
  bytes.push(0)
  bytes.push(1)
  watch(bytes.dataStart, bytes.length)
  delay(5)
}

export function wakeup_future(id: u64, pointer: usize, length: usize): void {
  log("waited " + id.toString())
  delay(6)
}

export function wakeup_stream(id: u64, pointer: usize, length: usize): void {
  const value = String.UTF8.decode(given.get(pointer))
  given.delete(pointer)
  const count = seen.has(value) ? seen.get(value) + 1 : 1
  seen.set(value, count)
  log(value + " " + count.toString() + " of " + seen.size.toString())
  if (value == "throw") throw new Error("as told")
}
