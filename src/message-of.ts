/** What a thrown value says: the message of an error, or the value as text. */
export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
