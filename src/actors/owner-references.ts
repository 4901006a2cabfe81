/** `metadata.ownerReferences` as recorded: JSON text, read without trusting it. */

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
}

/** The references in a JSON array; whatever is none of them, or no JSON, is left out: the server validates little here. */
export const parseOwnerReferences = (json: string): ReadonlyArray<OwnerReference> => {
  if (json === "") return []
  try {
    const parsed: unknown = JSON.parse(json)
    return Array.isArray(parsed) ? parsed.flatMap(readReference) : []
  } catch (error) {
    if (error instanceof SyntaxError) return []
    throw error
  }
}

/** `apps/v1.ReplicaSet`. */
export const apiVersionGvk = ({ apiVersion, kind }: OwnerReference): string => `${apiVersion}.${kind}`

const readReference = (value: unknown): ReadonlyArray<OwnerReference> => {
  if (typeof value !== "object" || value === null) return []
  const { apiVersion, kind, name, uid } = value as Readonly<Record<string, unknown>>
  return typeof apiVersion === "string" &&
    typeof kind === "string" &&
    typeof name === "string" &&
    typeof uid === "string"
    ? [{ apiVersion, kind, name, uid }]
    : []
}
