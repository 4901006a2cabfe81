/** How many values were replaced before objects were kept, by kind and place. */
import * as Schema from "effect/Schema"

/** Where a replaced value was: what is counted of redaction. The order is that of the counts in frames; add at the end only. */
export const valueKinds = ["secret", "env", "annotation", "header", "argument", "address", "pointer"] as const
export type ValueKind = (typeof valueKinds)[number]

/** The values that were replaced in objects of a kind, where they were; one of each place that had any. */
export const RedactedValues = Schema.Struct({
  gvk: Schema.String,
  place: Schema.Literals(valueKinds),
  values: Schema.Number,
})
export interface RedactedValues extends Schema.Schema.Type<typeof RedactedValues> {}

const Stored = Schema.fromJsonString(Schema.Array(Schema.Tuple([Schema.String, Schema.Array(Schema.Number)])))

/** Sums that only grow. */
export class RedactedSums {
  readonly #sums: Map<string, Array<number>>

  /** `text`: of earlier sums; default: none. @throws SchemaError for another text */
  constructor(text?: string) {
    const entries = text === undefined ? [] : Schema.decodeUnknownSync(Stored)(text)
    this.#sums = new Map(entries.map(([gvk, counts]) => [gvk, [...counts]]))
  }

  /** `counts`: in the order of `valueKinds`. */
  add(gvk: string, counts: ArrayLike<number>): void {
    const sums = this.#sums.get(gvk) ?? []
    for (let index = 0; index < counts.length; index++) sums[index] = (sums[index] ?? 0) + (counts[index] ?? 0)
    this.#sums.set(gvk, sums)
  }

  /** From which the sums can be made again. */
  get text(): string {
    return JSON.stringify([...this.#sums])
  }

  /** In the order in which kinds first had any. */
  get all(): ReadonlyArray<RedactedValues> {
    return [...this.#sums].flatMap(([gvk, counts]) =>
      valueKinds.flatMap((place, index) => {
        const values = counts[index] ?? 0
        return values === 0 ? [] : [{ gvk, place, values }]
      }),
    )
  }
}

/** For people and for a header: `v1.Secret: 12 secret; apps/v1.Deployment: 3 env, 1 argument`. */
export const describeRedacted = (redacted: ReadonlyArray<RedactedValues>): string =>
  [...new Set(redacted.map(({ gvk }) => gvk))]
    .map((gvk) => {
      const own = redacted.filter((each) => each.gvk === gvk)
      return `${gvk}: ${own.map(({ place, values }) => `${values} ${place}`).join(", ")}`
    })
    .join("; ")
