/** A response with its own status and body: to a write, or to a read of a subresource. */
export interface Reply {
  readonly type: "written"
  /** 200, or 201 for something new. */
  readonly status: number
  /** The body. */
  readonly json: string | Buffer
  /** Texts for `Warning` headers. */
  readonly warnings: ReadonlyArray<string>
}
