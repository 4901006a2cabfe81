/** A report for people as data: the page (src/ui) draws it. Everything in it is text, whatever a cluster calls its objects. */

/** How a text is meant. */
export type Mood = "good" | "bad" | "warn" | "quiet"

/** A text, or one with a meaning. */
export type Phrase =
  | string
  | {
      readonly text: string
      readonly mood?: Mood
      readonly form?: "badge" | "code" | "strong"
    }
  /** A field before and after, as JSON; absent: it is not there. */
  | { readonly path: string; readonly before?: string; readonly after?: string }

/** What is in a cell or a paragraph. Fields are a list below the texts. */
export type Phrases = Phrase | ReadonlyArray<Phrase>

export interface DocumentColumn {
  readonly label: string
  /** Numbers are to the right. */
  readonly isNumber?: boolean
}

/** A row of cells; a text alone: the heading of the rows below it. */
export type DocumentRow = string | ReadonlyArray<Phrases>

/** Numbers in equal steps, each of which holds until the next. */
export interface DocumentChart {
  readonly title: string
  readonly note: string
  readonly points: number
  readonly lines: ReadonlyArray<{
    readonly name: string
    readonly values: ReadonlyArray<number>
    readonly isDashed?: boolean
  }>
}

export type Block =
  | { readonly type: "heading"; readonly text: string }
  | { readonly type: "text"; readonly text: Phrases }
  | {
      readonly type: "tiles"
      readonly tiles: ReadonlyArray<{
        readonly label: string
        readonly value: string
        readonly note: string
        readonly mood?: Mood
      }>
    }
  | {
      readonly type: "table"
      readonly columns: ReadonlyArray<DocumentColumn>
      readonly rows: ReadonlyArray<DocumentRow>
    }
  | { readonly type: "charts"; readonly charts: ReadonlyArray<DocumentChart> }
  | { readonly type: "fold"; readonly summary: Phrases; readonly blocks: ReadonlyArray<Block> }

export interface PageDocument {
  readonly title: string
  readonly blocks: ReadonlyArray<Block>
}
