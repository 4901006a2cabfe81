/** An answer with a status and a body of its own: to a write, or to a read of what is below an object. */
export interface Reply {
  readonly type: "written"
  /** 200, or 201 for something new. */
  readonly status: number
  /** The body. */
  readonly json: string | Buffer
  /** Texts for `Warning` headers. */
  readonly warnings: ReadonlyArray<string>
}
