/** A Kubernetes object as plain data, with the comments that people read beside it. */

export type Json = string | number | boolean | null | ReadonlyArray<Json> | { readonly [key: string]: Json }

/** Where a comment stands, and what it says; lines are separated by line breaks. An empty path: above the whole object. */
export interface Comment {
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
