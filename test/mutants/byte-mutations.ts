/** Changes to bytes, whatever they mean: what a broken disk, a cut connection or a wrong tool leaves. */
import fc from "fast-check"

export interface ByteMutation {
  readonly at: number
  readonly how: number
  readonly what: number
}

const choice = fc.noBias(fc.nat())

export const byteMutation: fc.Arbitrary<ByteMutation> = fc.record({ at: choice, how: choice, what: choice })

const invalidUtf8 = [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80], [0xe2, 0x28, 0xa1]]
const inserted = [
  "\n",
  "\n\n",
  "\r\n",
  "\u0000",
  "\u001b[2J",
  '"',
  "{",
  "}",
  "[",
  ",",
  ":",
  "---\n",
  "\ufeff",
  " ",
  "\\",
  "9",
]

type Change = (bytes: Buffer, at: number, what: number, donor: Buffer) => Buffer

const changes: ReadonlyArray<Change> = [
  (bytes, at, what) => replaced(bytes, at, 1, [(bytes[at] ?? 0) ^ (1 << (what % 8))]),
  (bytes, at, what) => replaced(bytes, at, 1, [(bytes[at] ?? 0) ^ (1 << (what % 8))]),
  (bytes, at, what) => replaced(bytes, at, 1, [what % 256]),
  (bytes, at, what) => replaced(bytes, at, 1 + (what % 100), []),
  (bytes, at) => bytes.subarray(0, at),
  (bytes, at, what) => replaced(bytes, at, 0, [what % 256]),
  (bytes, at, what) => replaced(bytes, at, 0, bytes.subarray(at, at + 1 + (what % 500))),
  (bytes, at, what, donor) => {
    const from = what % (donor.length + 1)
    return replaced(bytes, at, 0, donor.subarray(from, from + 1 + (what % 2000)))
  },
  (bytes, at, what, donor) => Buffer.concat([bytes.subarray(0, at), donor.subarray(what % (donor.length + 1))]),
  (bytes, at, what) => replaced(bytes, at, 0, invalidUtf8[what % invalidUtf8.length] ?? []),
  (bytes, at, what) => replaced(bytes, at, 0, Buffer.from(inserted[what % inserted.length] ?? "")),
  (bytes, at, what) => replaced(bytes, at, 0, Buffer.from((inserted[what % inserted.length] ?? "").repeat(5000))),
  (bytes, at) => bytes.subarray(at),
]

const replaced = (bytes: Buffer, at: number, length: number, by: ArrayLike<number>): Buffer =>
  Buffer.concat([bytes.subarray(0, at), Uint8Array.from(by), bytes.subarray(at + length)])

/** The bytes after these changes. `donor`: other bytes of the same sort, parts of which are put into these. */
export const mutatedBytes = (bytes: Buffer, mutations: ReadonlyArray<ByteMutation>, donor: Buffer): Buffer => {
  let result = bytes
  for (const { at, how, what } of mutations)
    result = (changes[how % changes.length] as Change)(result, at % (result.length + 1), what, donor)
  return result
}
