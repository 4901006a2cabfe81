/**
 * What a guest asks the host for. AssemblyScript has neither closures nor asynchronous functions, so whoever asks is an object with a
 * method for what comes back.
 */
import { Reader, Writer } from "./bincode"
import { parse } from "./json"

@external("http-proxy-abi", "request")
declare function abiRequest(address: usize, length: u32): u64
@external("delay-abi", "delay")
declare function abiDelay(milliseconds: u64): u64
@external("kube-watch-abi", "watch")
declare function abiWatch(address: usize, length: u32): u64

/** Something that waits for one response or delay at a time. */
export abstract class Task {
  abstract onResponse(response: Response): void
  abstract onDelay(): void
}

/** Something that hears the values of a watch. */
export abstract class Listener {
  abstract onValue(value: string): void
  abstract onEnd(): void
}

export class Response {
  constructor(
    readonly status: u16,
    readonly body: string,
  ) {}

  get isSuccess(): bool {
    return this.status >= 200 && this.status < 300
  }

  /** For people: the status and the message of the `Status` object, if the body is one. */
  get reason(): string {
    return this.status.toString() + " " + parse(this.body).text("message")
  }
}

const tasks = new Map<u64, Task>()
const listeners = new Map<u64, Listener>()
/** The memory that the host was given for values, kept from the garbage collector until the value is delivered. */
const written = new Map<usize, ArrayBuffer>()

/**
 * Sends a request for a task. The URI is a path, with a query if need be; the host adds the API server's address and the module's
 * credentials. A body is JSON. A request that the host cannot send is responded to with 503.
 */
export function request(method: string, uri: string, body: string, task: Task): void {
  const writer = new Writer().text(method).text(uri)
  if (body.length == 0) writer.size(0)
  else writer.size(1).text("content-type").size(1).text("application/json")
  writer.text(body)
  tasks.set(abiRequest(writer.address, writer.length), task)
}

/** Calls a task after that many milliseconds. */
export function delay(milliseconds: u64, task: Task): void {
  tasks.set(abiDelay(milliseconds), task)
}

/** Registers an encoded watch. */
export function watch(encoded: Writer, listener: Listener): void {
  listeners.set(abiWatch(encoded.address, encoded.length), listener)
}

export function allocate(size: u32): usize {
  const buffer = new ArrayBuffer(size)
  const address = changetype<usize>(buffer)
  written.set(address, buffer)
  return address
}

/** Takes over the memory of a value that the host wrote. */
function value(address: usize, length: u32): ArrayBuffer {
  assert(written.has(address), "a value in memory that was not allocated for it")
  const buffer = written.get(address)
  assert(<u32>buffer.byteLength == length, "a value of another length than was allocated for it")
  written.delete(address)
  return buffer
}

export function wakeup_future(id: u64, address: usize, length: u32): void {
  assert(tasks.has(id), "a wake-up of an operation that was never asked for, or is over")
  const task = tasks.get(id)
  tasks.delete(id)
  if (address == 0) return task.onDelay()
  const reader = new Reader(value(address, length))
  const status = reader.u16()
  for (let count = reader.size(); count > 0; count--) {
    reader.text()
    for (let values = reader.size(); values > 0; values--) reader.text()
  }
  task.onResponse(new Response(status, reader.text()))
}

export function wakeup_stream(id: u64, address: usize, length: u32): void {
  assert(listeners.has(id), "a wake-up of a watch that was never asked for, or has ended")
  const listener = listeners.get(id)
  if (address != 0) return listener.onValue(String.UTF8.decode(value(address, length)))
  listeners.delete(id)
  listener.onEnd()
}

/** Text as part of a path or a query. */
export function escaped(text: string): string {
  return encodeURIComponent(text)
}
