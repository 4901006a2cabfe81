/** A guest's linear memory, for code that gets addresses from the guest. Addresses are unsigned: convert what the guest passes with `>>> 0`. */

export class GuestMemory {
  readonly memory: WebAssembly.Memory
  #view: DataView

  constructor(memory: WebAssembly.Memory) {
    this.memory = memory
    this.#view = new DataView(memory.buffer)
  }

  get byteLength(): number {
    return this.memory.buffer.byteLength
  }

  /** Whether the guest has all of these bytes. */
  has(address: number, length: number): boolean {
    return address + length <= this.memory.buffer.byteLength
  }

  /** Of the memory as it is now; another one once the guest has run. */
  view(): DataView {
    if (this.#view.buffer !== this.memory.buffer) this.#view = new DataView(this.memory.buffer)
    return this.#view
  }

  /** A view, valid until the guest runs. {@link has} must hold. */
  bytes(address: number, length: number): Uint8Array {
    return new Uint8Array(this.memory.buffer, address, length)
  }
}
