/** A Kubernetes object as plain data, with comments for people. */

export type Json = string | number | boolean | null | ReadonlyArray<Json> | { readonly [key: string]: Json }

/** A comment and its position; its lines are separated by line breaks. An empty path: above the whole object. */
interface Comment {
  readonly path: ReadonlyArray<string | number>
  readonly text: string
}

export interface Manifest {
  readonly object: { readonly apiVersion: string; readonly kind: string; readonly [key: string]: Json }
  readonly comments: ReadonlyArray<Comment>
}

export const manifest = (object: Manifest["object"], ...comments: ReadonlyArray<Comment>): Manifest => ({
  object,
  comments,
})
