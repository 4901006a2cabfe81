/** The part of WebAssembly's JavaScript API that the modules with SIMD use: Node has it, and its types only stand in those of browsers. */
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
