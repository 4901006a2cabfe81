/** The part of WebAssembly's JavaScript API that the SIMD modules use: Node has it, but the types are only in those of browsers. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array)
  }
  class Instance {
    constructor(module: Module)
    readonly exports: Readonly<Record<string, unknown>>
  }
  interface Memory {
    readonly buffer: ArrayBuffer
  }
  class CompileError extends Error {}
}
