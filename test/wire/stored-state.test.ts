/** The frames of `proto/stored-state.proto`: round trips, and agreement with the schema. */
import { readFileSync } from "node:fs"
import fc from "fast-check"
import protobuf from "protobufjs"
import { describe, expect, test } from "vitest"
import type { NamespaceProgress } from "../../src/wire/namespace-progress.ts"
import {
  decodeStoredState,
  encodeStoredState,
  type StoredObject,
  type StoredState,
} from "../../src/wire/stored-state.ts"

const text = fc.oneof(fc.string({ unit: "grapheme", maxLength: 40 }), fc.constant(""))
const uint32 = fc.integer({ min: 0, max: 0xffff_ffff })
const int32 = fc.integer({ min: -0x8000_0000, max: 0x7fff_ffff })
const time = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 2_000_000_000_000_000 }))
const integerVersion = fc
  .oneof(fc.nat(), fc.maxSafeNat(), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }))
  .map((version) => (version <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(version) : version))
/** A letter at least: a server's opaque versions are all strings. */
const opaqueVersion = fc.string({ minLength: 0, maxLength: 30 }).map((version) => `v${version}`)

const anyProgress: fc.Arbitrary<NamespaceProgress> = fc.record({
  namespace: text,
  completeThrough: text,
  completeTime: time,
  listReason: fc.constantFrom("", "first", "expired", "overload", "stopped", "cluster-restored"),
})

const objectsWith = (version: fc.Arbitrary<StoredObject["version"]>): fc.Arbitrary<ReadonlyArray<StoredObject>> =>
  fc.array(
    fc.record({
      number: uint32,
      uid: text,
      namespace: text,
      name: text,
      version,
      fingerprintLow: int32,
      fingerprintHigh: int32,
    }),
    { maxLength: 20 },
  )
const stateWith = (version: fc.Arbitrary<StoredObject["version"]>): fc.Arbitrary<StoredState> =>
  fc.record({
    resumeVersion: text,
    epoch: uint32,
    nextObjectNumber: uint32,
    lastTime: time,
    completeTime: time,
    clusterUid: text,
    listReason: text,
    selection: text,
    objects: objectsWith(version),
    namespaces: fc.array(anyProgress, { maxLength: 5 }),
    lives: fc.record({
      resumeVersion: text,
      namespaces: fc.array(anyProgress, { maxLength: 5 }),
      epoch: uint32,
      completeTime: time,
    }),
    nextPodNumber: uint32,
    pods: fc.array(
      fc.record({
        number: uint32,
        uid: text,
        namespace: text,
        start: fc.maxSafeInteger(),
        end: fc.option(fc.maxSafeInteger(), { nil: undefined }),
        owned: fc.boolean(),
      }),
      { maxLength: 20 },
    ),
    last: fc.boolean(),
    incarnation: uint32,
  })

const schema = readFileSync(new URL("../../proto/stored-state.proto", import.meta.url), "utf8")
const type = protobuf.parse(schema, { keepCase: true }).root.lookupType("kubereel.StoredState")

const column = (values: ReadonlyArray<bigint>, bytes: 4 | 8): Buffer => {
  const buffer = Buffer.alloc(values.length * bytes)
  values.forEach((value, index) => {
    if (bytes === 4) buffer.writeUInt32LE(Number(value), index * 4)
    else buffer.writeBigUInt64LE(value, index * 8)
  })
  return buffer
}
const doubles = (values: ReadonlyArray<number>): Buffer => {
  const buffer = Buffer.alloc(values.length * 8)
  values.forEach((value, index) => void buffer.writeDoubleLE(value, index * 8))
  return buffer
}
const fingerprintOf = ({ fingerprintLow, fingerprintHigh }: StoredObject): bigint =>
  (BigInt(fingerprintHigh >>> 0) << 32n) | BigInt(fingerprintLow >>> 0)

/** The state as any protobuf library would name it. */
const asMessage = ({ objects, pods, ...state }: StoredState): Record<string, unknown> => {
  const isOpaque = objects.some(({ version }) => typeof version === "string")
  return {
    resume_version: state.resumeVersion,
    epoch: state.epoch,
    next_object_number: state.nextObjectNumber,
    last_time: state.lastTime,
    complete_time: state.completeTime,
    cluster_uid: state.clusterUid,
    object_numbers: column(
      objects.map(({ number }) => BigInt(number)),
      4,
    ),
    resource_versions: column(
      objects.map(({ version }) => (isOpaque ? 0n : BigInt(version))),
      8,
    ),
    fingerprints: column(objects.map(fingerprintOf), 8),
    opaque_versions: isOpaque ? objects.map(({ version }) => String(version)) : [],
    uids: objects.map(({ uid }) => uid),
    namespaces: objects.map(({ namespace }) => namespace),
    names: objects.map(({ name }) => name),
    last: state.last,
    incarnation: state.incarnation,
    pod_numbers: column(
      pods.map(({ number }) => BigInt(number)),
      4,
    ),
    pod_starts: doubles(pods.map(({ start }) => start)),
    pod_ends: doubles(pods.map(({ end }) => end ?? Number.NaN)),
    pods_owned: Buffer.from(pods.map(({ owned }) => (owned ? 1 : 0))),
    pod_uids: pods.map(({ uid }) => uid),
    pod_namespaces: pods.map(({ namespace }) => namespace),
    next_pod_number: state.nextPodNumber,
    lives_version: state.lives.resumeVersion,
    lives_epoch: state.lives.epoch,
    lives_time: state.lives.completeTime,
    list_reason: state.listReason,
    selection: state.selection,
    namespace_progress: state.namespaces.map(progressMessage),
    lives_progress: state.lives.namespaces.map(progressMessage),
  }
}
const progressMessage = ({ namespace, completeThrough, completeTime, listReason }: NamespaceProgress) => ({
  namespace,
  complete_through: completeThrough,
  complete_time: completeTime,
  list_reason: listReason,
})
const defaults = { arrays: true, defaults: true } as const

describe.each([
  ["integer", integerVersion],
  ["opaque", opaqueVersion],
] as const)("a stored state with %s versions", (_, version) => {
  test("survives encoding and decoding", () => {
    fc.assert(
      fc.property(stateWith(version), (state) => {
        expect(decodeStoredState(encodeStoredState(state))).toEqual(state)
      }),
    )
  })

  test("is read by any protobuf library from the schema alone", () => {
    fc.assert(
      fc.property(stateWith(version), (state) => {
        expect(type.toObject(type.decode(encodeStoredState(state)), defaults)).toEqual(asMessage(state))
      }),
    )
  })

  test("is read as any protobuf library writes it, with an unknown field", () => {
    fc.assert(
      fc.property(stateWith(version), text, (state, unknown) => {
        const later = protobuf.Writer.create()
          .uint32((500 << 3) | 2)
          .string(unknown)
          .finish()
        const bytes = Buffer.concat([later, type.encode(type.fromObject(asMessage(state))).finish(), later])
        expect(decodeStoredState(bytes)).toEqual(state)
      }),
    )
  })

  test("is read at any place of a larger buffer", () => {
    fc.assert(
      fc.property(stateWith(version), fc.nat(9), (state, offset) => {
        const bytes = encodeStoredState(state)
        const larger = Buffer.alloc(bytes.length + 20, 0xff)
        larger.set(bytes, offset)
        expect(decodeStoredState(larger.subarray(offset, offset + bytes.length))).toEqual(state)
      }),
    )
  })
})

test("an empty frame is an empty state", () => {
  expect(decodeStoredState(new Uint8Array(0))).toEqual({
    resumeVersion: "",
    epoch: 0,
    nextObjectNumber: 0,
    lastTime: 0,
    completeTime: 0,
    clusterUid: "",
    listReason: "",
    selection: "",
    objects: [],
    namespaces: [],
    lives: { resumeVersion: "", namespaces: [], epoch: 0, completeTime: 0 },
    nextPodNumber: 0,
    pods: [],
    last: false,
    incarnation: 0,
  })
})

const faultOf = (read: () => unknown): string => {
  try {
    read()
    return ""
  } catch (error) {
    expect(error).toBeInstanceOf(RangeError)
    return String(error)
  }
}

test("a truncated frame is rejected, or lacks all objects or none", () => {
  const object = { number: 1, uid: "u", namespace: "n", name: "a", version: 5, fingerprintLow: 1, fingerprintHigh: 2 }
  const state = { ...decodeStoredState(new Uint8Array(0)), resumeVersion: "100", objects: [object] }
  const bytes = encodeStoredState(state)
  for (let length = 0; length < bytes.length; length++) {
    const read = (): StoredState => decodeStoredState(bytes.subarray(0, length))
    // Between two fields of the state, before any column or behind all of them, nothing shows that it is not whole.
    if (faultOf(read) !== "") continue
    expect([[], [object]]).toContainEqual(read().objects)
  }
})
