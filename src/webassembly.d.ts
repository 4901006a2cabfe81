/** The part of WebAssembly's JavaScript API that is used: Node has it, but the types are only in those of browsers. */
declare namespace WebAssembly {
  type Imports = Readonly<Record<string, Readonly<Record<string, unknown>>>>
  class Module {
    constructor(bytes: Uint8Array)
    static imports(
      module: Module,
    ): ReadonlyArray<{ readonly module: string; readonly name: string; readonly kind: string }>
    static exports(module: Module): ReadonlyArray<{ readonly name: string; readonly kind: string }>
  }
  class Instance {
    constructor(module: Module, imports?: Imports)
    readonly exports: Readonly<Record<string, unknown>>
  }
  class Memory {
    /** Both in pages of 64 KiB. */
    constructor(size: { readonly initial: number; readonly maximum: number })
    /** Another one after the memory has grown. */
    readonly buffer: ArrayBuffer
  }
  class CompileError extends Error {}
  class RuntimeError extends Error {}
  class Exception extends Error {}
}
