/** The message of a thrown error, or another thrown value as text. */
export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
