/**
 * The WebAssembly pass over objects and watch lines (assembly/scan.ts), on a copy of the bytes in the module's own memory.
 *
 * When it returns true, the result is what the pass in TypeScript would have found; when it returns false, that pass decides, and so it
 * does for everything larger than the memory.
 *
 * Pays off from the smallest bookmark on, copy included (docs/decisions/0009).
 */

// Built by scripts/simd.ts from the sources in assembly/. Not to be edited.

/** SHA-256 of the sources, one after the other in the order of their names. */
export const simdSource = "a198bfceaa7747d0ee7f0ed756a3e0e97fb7dc728204f66285ff50257d1f208b"

/** The WebAssembly module in base64. */
const simdModule =
  "AGFzbQEAAAABHwVgAn9/AX9gAX8Bf2ACf38AYAN/f38AYAR/f39/AX8DCwoCAwEAAAEEAAABBQMBAFMGKQh/AUEAC38BQQALfwFB" +
  "AAt/AUEAC38BQQALfwFBAAt/AUEAC38BQQALBzMECHNjYW5MaW5lAAgKc2Nhbk9iamVjdAAHDmZpbmRDYW5kaWRhdGVzAAkGbWVt" +
  "b3J5AgAK4CIKOgEBfwNAIwUjBEkEQCMFQQN0QYAoaiECIwVBAWokBSACKAIAIAIoAgRB+wAQAQwBCwsgACABQQEQAQuEAgECfyAB" +
  "IAEgAGsiA0EHcWshBCMBIANB95Svr3hscyEDIwIgAkGx893xeWxzIQIDQCAAIARJBEAgAiAAKAIEQZPrnNwBbEEPd3NB95Svr3hs" +
  "IgIgAyAAKAIAQdHa+OR8bEEPd3NBsfPd8XlsQQ13aiIDIAJBEXdzIQIgAEEIaiEADAELCyABIABrIgQEQCADIARBBE8EfyAAKAIA" +
  "BUEAC0HR2vjkfGxBD3dzQbHz3fF5bEENdyACIARBA3EiAAR/IAFBBGsoAgBBBCAAa0EDdHYFQQALQZPrnNwBbEEPd3NB95Svr3hs" +
  "IgBqIgMgAEERd3MhAgsgAyQBIAIkAiMDQQFqJAMLqgUBBX8jACEEIAAtAAAhAwNAAkAgA0EiRgRAIAQoAgRBAWohACAEQQhqIQQF" +
  "IANB+wBGBEAgAEEBaiIALQAAIgJBIkYEQCABQYAgRg0DIAEiAEEBaiEBIAAgBToAAEH9ACEFIAQoAgRBAWohACAEQQhqIQQgAC0A" +
  "AEE6Rw0DIABBAWoiAC0AACEDDAQLIAJB/QBHDQIgAEEBaiEABSADQdsARgRAIABBAWoiAC0AACIDQd0ARwRAIAFBgCBGDQQgASIC" +
  "QQFqIQEgAiAFOgAAQd0AIQUMBQsgAEEBaiEABQJ/IANB9ABGBEAgAEEEakEAIAAoAgBB9OTVqwZGGwwBCyADQe4ARgRAIABBBGpB" +
  "ACAAKAIAQe7qseMGRhsMAQsgA0HmAEYEQCAAQQVqQQAgACgCAUHh2M2rBkYbDAELIABBAWogACADQS1GGyIALQAAQTBGBH8gAEEB" +
  "aiIALQAABSAAIQIDQCAALQAAQTBrQQlNBEAgAEEBaiEADAELC0EAIAAgAkYNARogAC0AAAsiAkEuRgR/IABBAWoiAiEAA0AgAC0A" +
  "AEEwa0EJTQRAIABBAWohAAwBCwtBACAAIAJGDQEaIAAtAAAFIAILQSByQeUARgRAIABBAWoiAC0AACICQS1GIAJBK0ZyBEAgAEEB" +
  "aiEACyAAIQIDQCAALQAAQTBrQQlNBEAgAEEBaiEADAELC0EAIAAgAkYNARoLIAALIgBFDQMLCwsDQAJAIAFFBEAgBCQAIAAPCyAA" +
  "IgJBAWohACACLQAAIgJBLEYEQCAALQAAIQMgBUH9AEYEQCADQSJHDQQgBCgCBEEBaiEAIARBCGohBCAALQAAQTpHDQQgAEEBaiIA" +
  "LQAAIQMLDAELIAIgBUcNAiABQQFrIgEtAAAhBQwBCwsMAQsLQQALtAMBCX8gAC0AASEFIAEtAAAiA0H9AEYEQCABQQFqDwsDQCAD" +
  "QSJHBEBBAA8LIAEhBCMAKAIEIQojAEEIaiQAIAotAAFBOkcEQEEAIQMFIARBAWohAQJAA0AgASAKSQRAIAEgAf0ABAD9DFxcXFxc" +
  "XFxcXFxcXFxcXFz9I/1kIgJoaiAKTyEDIAINAiABQRBqIQEMAQsLQQEhAwsLIANFBEBBAA8LIApBAmohCCAEQQFqIQdBACEBAkAg" +
  "CiAEa0EBayIJQf8BSw0AIAAoAhQgCUEBdGovAQAhAQNAIAEEQCABKAIIIQZBACEDAn8DQCADQQhqIgIgCU0EQEEAIAMgBmopAwAg" +
  "AyAHaikDAFINAhogAiEDDAELCyAJIANrIgIEfiADIAZqKQMAIAMgB2opAwCFQsAAIAKtQgOGfYYFQgALUAsNAiABKAIQIQEMAQsL" +
  "QQAhAQsgAQRAIAEgBCAKQQFqIAgQBiEBBSAIEAIiAUEAIAUbBEAgBCABEAALCyABRQRAQQAPCyABIgJBAWohASACLQAAIgJB/QBG" +
  "BEAgAQ8LIAJBLEYEQCABLQAAIQMMAQsLQQALpwIBAn8jBkEBaiQGIAFBgIAEayQHQQAkAUEAJAJBACQDQQAkBEEAJAVBACEBA0Ag" +
  "AUHgAEkEQCABQYAgav0MAAAAAAAAAAAAAAAAAAAAAP0LBAAgAUEQaiEBDAELC0GgwAAgAEEBahADIgIEf0G4ICgCAAVBAAtFBEBB" +
  "AA8LQdAgIAAjB2o2AgBB1CAgAiMHajYCAEGAwAAoAgAEQEEAQYTAACgCACIAIwMbBEBBiMAAIABBiMAAakEBEAELIwEhACMCIwNz" +
  "IQEDQCADQQJIBEAgACAAQQ92c0H3lK+veGwiACABaiIBIAFBDXZzQbXcypV8bCIBQQ93IABqIQAgA0EBaiEDDAELC0HYICAAIABB" +
  "EHZzNgIAQdwgIAEgAUEQdnM2AgALIAIL5QcDBX8FfgV7IAD9DCAgICAgICAgICAgICAgICD9CwQAIAD9DCAgICAgICAgICAgICAg" +
  "ICD9CwQQIAD9DCAgICAgICAgICAgICAgICD9CwQgIAD9DCAgICAgICAgICAgICAgICD9CwQw/QwgICAgICAgICAgICAgICAgIQ9B" +
  "gIDIACECQYCABCEFA0AgACAFSwRAIA8gBf0ABAAiDiAF/QAEECIN/Xf9dyAF/QAEICIMIAX9AAQwIgv9d/13IQ8gDv0MIiIiIiIi" +
  "IiIiIiIiIiIiIv0j/WQgDf0MIiIiIiIiIiIiIiIiIiIiIv0j/WRBEHRyrSAM/QwiIiIiIiIiIiIiIiIiIiIi/SP9ZCAL/QwiIiIi" +
  "IiIiIiIiIiIiIiIi/SP9ZEEQdHKtQiCGhCEGQQEgB6cgDv0MXFxcXFxcXFxcXFxcXFxcXP0jIg4gDf0MXFxcXFxcXFxcXFxcXFxc" +
  "XP0jIg39UCAM/QxcXFxcXFxcXFxcXFxcXFxc/SMiDCAL/QxcXFxcXFxcXFxcXFxcXFxc/SMiC/1Q/VD9UxsEQCAO/WQgDf1kQRB0" +
  "cq0gDP1kIAv9ZEEQdHKtQiCGhCAHIghCf4WDIQpCACEHA0AgCkIAUgRAIAUgCnoiCadqIgQtAAEiAUHcAEYgAUEiRnIgAUHuAEZy" +
  "IAFBL0ZyIAFB4gBGciABQeYARnIgAUHyAEZyIAFB9ABGciEDIAFB9QBGBH8gBC0AAiIBQTBrQQlNBH9BAQUgAUEgckHhAGtBBU0L" +
  "BH8gBC0AAyIBQTBrQQlNBH9BAQUgAUEgckHhAGtBBU0LBUEACwR/IAQtAAQiAUEwa0EJTQR/QQEFIAFBIHJB4QBrQQVNCwVBAAsE" +
  "fyAELQAFIgFBMGtBCU0Ef0EBBSABQSByQeEAa0EFTQsFQQALBSADC0UEQEEADwsgCEICIAmGhCEIQgEgByAJQj9RGyEHIApCAyAJ" +
  "hkJ/hYMhCgwBCwsgBiAIQn+FgyEGCyACIAZ7p0ECdGohAQNAIAIgBSAGeqdqNgIAIAIgBSAGIAZCAX2DIgZ6p2o2AgQgAiAFIAYg" +
  "BkIBfYMiBnqnajYCCCACIAUgBiAGQgF9gyIGeqdqNgIMIAIgBSAGIAZCAX2DIgZ6p2o2AhAgAiAFIAYgBkIBfYMiBnqnajYCFCAC" +
  "IAUgBiAGQgF9gyIGeqdqNgIYIAIgBSAGIAZCAX2DIgZ6p2o2AhwgBiAGQgF9gyEGIAJBIGoiAiABSQ0ACyABIQIgBUFAayEFDAEL" +
  "CyAP/QwgICAgICAgICAgICAgICAg/Sb9ZARAQQAPC0EAIAIgAkGAgMgAa0EEcRsLmQUBBX8CQAJAIwYgACgCBEYNACAAIwY2AgQg" +
  "Ay0AACEFIAAtAAEhBiAALQAAIgRBAEciBwR/IARBBk0Ef0EBBSAFQSJGIARBCkZxCwUgBwsEQCAFQSJHDQEjACgCBCEIIwBBCGok" +
  "ACADQQFqIQICQANAIAIgCEkEQCACIAL9AAQA/QxcXFxcXFxcXFxcXFxcXFxc/SP9ZCIHaGogCE8hACAHDQIgAkEQaiECDAELC0EB" +
  "IQALIABFDQEgCEEBaiEABSAFQfsARkEAIAAtAAIbBEAjBEEDdEGAKGoiByABNgIAIAcgAjYCBCMEQQFqJAQgACADQQFqEAMiAEUN" +
  "AiMEQQFrJAQgACADQQJqRkEAQQAgBiMFIwRNBH9BAAUjBCQFIwJB95Svr3hsIgIjAUGitfHJeXNBsfPd8XlsQQ13aiQBIwEgAkER" +
  "d3MkAkEBCxsbBEAgASAAEAALDAMFIAVB2wBGQQAgAC0AAhsNAiADEAIiAEUNAgsLIAYEQCABIAAQAAsMAQtBAA8LIABBACAEBH8C" +
  "fyAEQQZNBEAgBEEDdEGAIGoiASMHIANBAWpqNgIAIAEjByAAQQFrajYCBEEBDAELIARBB0YEQEG4IEEBNgIAIAVB+wBGDAELIARB" +
  "CEYEQCAEQQN0QYAgaiIBIAMjB2o2AgAgASAAIwdqNgIEIAVB2wBGDAELIARBCUYEQCAALQAAQSxGBEAgBEEDdEGAIGoiAiABIwdq" +
  "NgIAIAIjByAAQQFqajYCBAUgBEEDdEGAIGoiAiMHIAFBAWsiAyABIAMtAABBLEYbajYCACACIAAjB2o2AgQLQQEMAQtBhCAgACAD" +
  "a0EGRiAFQSJGcQR/IAMoAgFB9OTVqwZGBUEACzYCAEEBCwVBAQsbCzYAIABBgIAEaiIAEAUEf0GAgAQtAABB+wBHBUEBCwRAQQAP" +
  "C0GAgMgAJABBgIAEIAEQBCAARgu6AgIBfgJ/IABBgIAEaiIAEAVBoIDIAEkEQEEADwtBgIAEKQMAQvvE0MuHrpmROlIEf0EBBUGI" +
  "gAQtAABBIkcLBEBBAA8LQYmABCkDACECAn9BjIDIACgCACIDQYmABGsiBEEIRgRAQQIgAkLNnpHK5KjSosQAUQ0BGkEEQQAgAkLC" +
  "nr3a1KmQqcsAURsMAQsgAkL//////x+DQsGIkarECFEgBEEFRg0AGkEDQQAgAkL//////////wCDQsSKsarEqpEiURsgBEEHRg0A" +
  "GkEACyIERQRAQQAPCyADKQMBQqzEvJOmrdmx9ABSBEBBAA8LIAMoAghB9MTo2QdHBEBBAA8LQZiAyAAkACADQQtqIAEQBCEBQYAg" +
  "IAQ2AgAgAUEBaiAARiEAIAEEfyABLQAAQf0ARgVBAAsgAHELnAUDBH8NewF+IABBgIAEaiECA0AgAUHQAEkEQCABIAJq/QwgICAg" +
  "ICAgICAgICAgICAg/QsEACABQRBqIQEMAQsLQYCAyAAhASAAQR92IgBBImr9DyEFIABBCWr9DyEGIABBCGr9DyEHIABBOmr9DyEI" +
  "IABBL2r9DyEJIABB3ABq/Q8hCiAAQfUAav0PIQtBgIAEIQADQCAAIAJJBEAgAP0ABAAiDCAF/SMgAP0ABAIiDSAA/QAEASIO/XEg" +
  "Bv1xIAf9Kv1OIAwgCP0jIA0gCf0j/U79UCAMIAr9IyAOIAv9I/1O/VAiDSAAQRBq/QAEACIMIAX9IyAA/QAEEiIOIAD9AAQRIg/9" +
  "cSAG/XEgB/0q/U4gDCAI/SMgDiAJ/SP9Tv1QIAwgCv0jIA8gC/0j/U79UCIO/VAgAEEgav0ABAAiDCAF/SMgAP0ABCIiDyAA/QAE" +
  "ISIQ/XEgBv1xIAf9Kv1OIAwgCP0jIA8gCf0j/U79UCAMIAr9IyAQIAv9I/1O/VAiDyAAQTBq/QAEACIQIAX9IyAA/QAEMiIMIAD9" +
  "AAQxIhH9cSAG/XEgB/0q/U4gECAI/SMgDCAJ/SP9Tv1QIBAgCv0jIBEgC/0j/U79UCIM/VD9UP1TBEAgDf1kIA79ZEEQdHKtIA/9" +
  "ZCAM/WRBEHRyrUIghoQhEgNAIBJCAFIEQCAAIBJ6p2oiAygCACIEQaLCufMGRiAEQaLKubMHRnIgBEGixr3rBkZyIARBosLJuwZG" +
  "ciAEQaLQ0aMHRnIgBEHc6sGBA0ZyIARBuri94QVGciAEQf///wdxQbrevAFGcgRAIAEgA0GAgARrNgIAIAFBBGohAQsgEiASQgF9" +
  "gyESDAELCwsgAEFAayEADAELCyABQYCAyABrQQJ2Cw=="

// Positions in the memory, in bytes: assembly/layout.ts.
const resultsStart = 4096
const resultWords = 24
/** Where encoded change rules are. */
export const rulesStart = 8192
const inputStart = 65_536
const positionsStart = 65_536 + 1024 * 1024 + 65_536

/** Largest number of bytes to copy. An object at etcd's usual limit is larger; a usual object is not a hundredth of this. */
const largest = 1024 * 1024

/** Words of the results. Spans are at twice the numbers of the captures in member-trie.ts. */
export const SimdResult = { type: 0, initialEventsEnd: 1, objectStart: 20, objectEnd: 21, low: 22, high: 23 } as const

interface SimdExports {
  readonly memory: WebAssembly.Memory
  readonly scanLine: (length: number, offset: number) => number
  readonly scanObject: (length: number, offset: number) => number
  readonly findCandidates: (length: number) => number
}

/** One for each thread that scans, shared by all its scanners. */
export class SimdScan {
  /** The results of the last scan that returned true; positions refer to the bytes passed to it. */
  readonly results: Int32Array
  /** What {@link findCandidates} found, counted from the start of the bytes; valid until the next call of any method. */
  readonly positions: Int32Array
  readonly #memory: Uint8Array
  readonly #exports: SimdExports
  #rules: Uint8Array | undefined

  private constructor(exports: SimdExports) {
    const { buffer } = exports.memory
    this.#memory = new Uint8Array(buffer)
    this.results = new Int32Array(buffer, resultsStart, resultWords)
    this.positions = new Int32Array(buffer, positionsStart)
    this.#exports = exports
  }

  /** `undefined` if the processor or the runtime has no SIMD. */
  static create(): SimdScan | undefined {
    try {
      const module = new WebAssembly.Module(Buffer.from(simdModule, "base64"))
      return new SimdScan(new WebAssembly.Instance(module).exports as unknown as SimdExports)
    } catch (error) {
      if (error instanceof WebAssembly.CompileError) return undefined
      throw error
    }
  }

  /** Scans the watch line that fills `bytes[start, end)`, with `rules` from `encodeRules`. */
  scanLine(rules: Uint8Array, bytes: Buffer, start: number, end: number): boolean {
    return this.#load(rules, bytes, start, end) && this.#exports.scanLine(end - start, start) !== 0
  }

  /** Scans the object that fills `bytes[start, end)`. */
  scanObject(rules: Uint8Array, bytes: Buffer, start: number, end: number): boolean {
    return this.#load(rules, bytes, start, end) && this.#exports.scanObject(end - start, start) !== 0
  }

  /**
   * Fills {@link positions} with the places in `bytes[start, end)` where redaction has to look closer (assembly/candidates.ts).
   *
   * @returns how many there are; -1 for more bytes than the memory has room for
   */
  findCandidates(bytes: Buffer, start: number, end: number): number {
    return this.#copy(bytes, start, end) ? this.#exports.findCandidates(end - start) : -1
  }

  #load(rules: Uint8Array, bytes: Buffer, start: number, end: number): boolean {
    if (!this.#copy(bytes, start, end)) return false
    if (rules !== this.#rules) {
      this.#rules = rules
      this.#memory.set(rules, rulesStart)
    }
    return true
  }

  #copy(bytes: Buffer, start: number, end: number): boolean {
    if (end - start > largest) return false
    // Creates no view of the range, which would cost as much as the copy.
    copyBytes.call(bytes, this.#memory, inputStart, start, end)
    return true
  }
}

const copyBytes = Buffer.prototype.copy

/** The one that all scanners of this thread share; `undefined` without SIMD. */
export const threadScan: SimdScan | undefined = SimdScan.create()
