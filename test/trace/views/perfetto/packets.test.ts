/** The packets of a Perfetto trace: the fields are those that Perfetto publishes, and what is written by hand is read back by them. */
import { readFileSync } from "node:fs"
import fc from "fast-check"
import protobuf from "protobufjs"
import { describe, expect, test } from "vitest"
import { eventPacket, firstPacket, trackPacket } from "../../../../src/trace/views/perfetto/packets.ts"
import { published } from "./published-schema.ts"

const ours = protobuf.parse(readFileSync(new URL("../../../../proto/perfetto.proto", import.meta.url), "utf8"), {
  keepCase: true,
}).root

/** `Message.field` to its number, type and whether it repeats; `Enum.VALUE` to its number. */
const fieldsOf = (parent: protobuf.NamespaceBase, path = ""): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  for (const each of parent.nestedArray) {
    const inner = `${path}${each.name}`
    if (each instanceof protobuf.Enum)
      for (const [name, number] of Object.entries(each.values)) found.set(`${inner}.${name}`, `${number}`)
    if (each instanceof protobuf.Type)
      for (const field of each.fieldsArray)
        found.set(`${inner}.${field.name}`, `${field.repeated ? "repeated " : ""}${field.type} = ${field.id}`)
    if (each instanceof protobuf.Namespace)
      for (const [name, shape] of fieldsOf(each, `${inner}.`)) found.set(name, shape)
  }
  return found
}

const decoded = (packet: Uint8Array): unknown => {
  const type = published.lookupType("Trace")
  return type.toObject(type.decode(packet), { longs: String, enums: String }).packet[0]
}

describe("packets of a Perfetto trace", () => {
  test("every field in proto/perfetto.proto has the name, the number and the type that Perfetto publishes", () => {
    const theirs = fieldsOf(published)
    const fields = fieldsOf(ours.lookup("kubereel.perfetto") as protobuf.Namespace)
    expect(fields.size).toBeGreaterThan(25)
    for (const [name, shape] of fields) expect(`${name}: ${shape}`).toBe(`${name}: ${theirs.get(name)}`)
  })

  test("are what was written: tracks, slices and instants with any names, times and annotations", () => {
    const uuid = fc.bigInt({ min: 1n, max: 2n ** 64n - 1n })
    const name = fc.string({ unit: "binary" })
    fc.assert(
      fc.property(uuid, fc.option(uuid, { nil: undefined }), name, (track, parent, title) => {
        expect(decoded(trackPacket({ uuid: track, parent, name: title, children: "by name" }))).toEqual({
          trusted_packet_sequence_id: 1,
          track_descriptor: {
            uuid: `${track}`,
            name: title,
            ...(parent !== undefined && { parent_uuid: `${parent}` }),
            child_ordering: "LEXICOGRAPHIC",
          },
        })
      }),
    )
    const value = fc.oneof(name, fc.maxSafeInteger(), fc.constant(undefined))
    const time = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
    fc.assert(
      fc.property(
        uuid,
        time,
        name,
        fc.array(fc.tuple(fc.string({ minLength: 1 }), value)),
        (track, at, title, said) => {
          const annotations = Object.fromEntries(said.filter(([key]) => key !== "__proto__"))
          const packet = eventPacket("begin", track, at, title, annotations)
          expect(decoded(packet)).toEqual({
            timestamp: `${BigInt(at) * 1000n}`,
            trusted_packet_sequence_id: 1,
            track_event: {
              type: "TYPE_SLICE_BEGIN",
              track_uuid: `${track}`,
              name: title,
              ...(Object.values(annotations).some((each) => each !== undefined) && {
                debug_annotations: Object.entries(annotations).flatMap(([key, each]) =>
                  each === undefined
                    ? []
                    : [
                        {
                          name: key,
                          ...(typeof each === "string" ? { string_value: each } : { int_value: `${each}` }),
                        },
                      ],
                ),
              }),
            },
          })
        },
      ),
    )
  })

  test("the first one sets the real time, and times that Perfetto cannot have become the nearest it can", () => {
    expect(decoded(firstPacket(1_700_000_000_000_001))).toMatchObject({
      timestamp: "1700000000000001000",
      clock_snapshot: {
        clocks: [
          { clock_id: 6, timestamp: "1700000000000001000" },
          { clock_id: 1, timestamp: "1700000000000001000" },
        ],
      },
    })
    for (const [time, written] of [
      [-5, "0"],
      [1.5, "1000"],
      [1e300, "9007199254740991000"],
    ] as const)
      expect(decoded(eventPacket("end", 1n, time, undefined, {}))).toMatchObject({ timestamp: written })
  })
})
