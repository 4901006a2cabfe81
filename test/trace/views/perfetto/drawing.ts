/** Reads a Perfetto trace by the published schema, checks what every trace must be, and shows it as people would describe it. */
import { published } from "./published-schema.ts"

/** A slice or an instant. Times are µs since the Unix epoch. */
export interface Drawn {
  readonly name: string
  readonly begin: number
  /** That of an instant is its begin. */
  readonly end: number
  /** How many slices are around it on its track. */
  readonly depth: number
  readonly isInstant: boolean
  readonly says: Readonly<Record<string, string | number>>
}

/** Everything in a trace: by the path of its lane, `namespace a > Deployment/web > Pod/web-1`. Lanes of one path are one. */
export interface Drawing {
  readonly lanes: ReadonlyMap<string, ReadonlyArray<Drawn>>
  readonly packets: number
  /** µs since the Unix epoch of the first packet. */
  readonly start: number
}

interface Packet {
  readonly timestamp?: string
  readonly trusted_packet_sequence_id?: number
  readonly sequence_flags?: number
  readonly first_packet_on_sequence?: boolean
  readonly clock_snapshot?: {
    readonly clocks: ReadonlyArray<{ readonly clock_id: number; readonly timestamp: string }>
  }
  readonly track_descriptor?: { readonly uuid: string; readonly name: string; readonly parent_uuid?: string }
  readonly track_event?: {
    readonly type: string
    readonly track_uuid: string
    readonly name?: string
    readonly debug_annotations?: ReadonlyArray<{
      readonly name: string
      readonly string_value?: string
      readonly int_value?: string
    }>
  }
}

interface OpenSlice {
  readonly name: string
  readonly begin: number
  says: Record<string, string | number>
}

interface TrackState {
  readonly path: string
  readonly description: string
  last: number
  readonly open: OpenSlice[]
}

/** Throws if a slice has no end, an event no described track, a track no described parent, or if time goes back on a track. */
export const drawingOf = (bytes: Uint8Array): Drawing => {
  const type = published.lookupType("Trace")
  const { packet = [] } = type.toObject(type.decode(bytes), { longs: String, enums: String }) as {
    packet?: ReadonlyArray<Packet>
  }
  const [first] = packet
  check(first?.first_packet_on_sequence === true && first.sequence_flags === 1, "the first packet does not say so")
  check(
    first?.clock_snapshot?.clocks.length === 2 &&
      first.clock_snapshot.clocks.every((clock) => clock.timestamp === first.timestamp),
    "the clock of the packets is not the real time",
  )
  const start = microsOf(first)
  const tracks = new Map<string, TrackState>()
  const lanes = new Map<string, Drawn[]>()
  for (const each of packet) {
    check(each.trusted_packet_sequence_id === 1, "a packet of no sequence")
    const { track_descriptor: described, track_event: event } = each
    if (described !== undefined) {
      const description = JSON.stringify(described)
      const known = tracks.get(described.uuid)
      check(known === undefined || known.description === description, `${described.name} is described in two ways`)
      const parent = described.parent_uuid === undefined ? undefined : tracks.get(described.parent_uuid)
      check(described.parent_uuid === undefined || parent !== undefined, `${described.name} has no described parent`)
      const path = parent === undefined ? described.name : `${parent.path} > ${described.name}`
      if (known === undefined) tracks.set(described.uuid, { path, description, last: start, open: [] })
      if (!lanes.has(path)) lanes.set(path, [])
    }
    if (event === undefined) continue
    const track = tracks.get(event.track_uuid)
    if (track === undefined) throw new Error(`${event.name} is on a track that is not described`)
    const time = microsOf(each)
    check(time >= track.last, `time goes back on ${track.path}`)
    track.last = time
    const says = Object.fromEntries(
      (event.debug_annotations ?? []).map((said) => [said.name, said.string_value ?? Number(said.int_value)]),
    )
    const lane = lanes.get(track.path) ?? []
    if (event.type === "TYPE_SLICE_BEGIN") track.open.push({ name: event.name ?? "", begin: time, says })
    else if (event.type === "TYPE_INSTANT")
      lane.push({ name: event.name ?? "", begin: time, end: time, depth: track.open.length, isInstant: true, says })
    else {
      const slice = track.open.pop()
      if (slice === undefined) throw new Error(`a slice on ${track.path} ends without having begun`)
      lane.push({ ...slice, end: time, depth: track.open.length, isInstant: false, says: { ...slice.says, ...says } })
    }
  }
  for (const { path, open } of tracks.values()) check(open.length === 0, `${path} has a slice without an end`)
  return { lanes, packets: packet.length, start }
}

/** `name begin–end` of what is drawn on a lane, in the order of the begins, the outer slices first; times in seconds since `from` µs. */
export const linesOf = (drawing: Drawing, lane: string, from = 0): ReadonlyArray<string> => {
  const seconds = (time: number): string => `${(time - from) / 1_000_000}`
  return (drawing.lanes.get(lane) ?? ([`there is no lane ${lane}`] as never[]))
    .toSorted((one, other) => one.begin - other.begin || one.depth - other.depth)
    .map(({ name, begin, end, isInstant }) => `${name} ${seconds(begin)}${isInstant ? "" : `–${seconds(end)}`}`)
}

const microsOf = (packet: Packet | undefined): number => Number(BigInt(packet?.timestamp ?? 0) / 1000n)

const check = (isTrue: boolean, problem: string): void => {
  if (!isTrue) throw new Error(problem)
}
