/** A tool: one question about the past, with parameters of its own, answered page by page. */
import type { AskedPast } from "../past/asking.ts"
import type { AnswerPage } from "./answer-page.ts"
import {
  type InputSchema,
  inputSchemaOf,
  integerOr,
  optionalText,
  type ParameterTable,
  type ParameterValues,
  readParameters,
} from "./tool-parameters.ts"

/** What an answer is made with. */
export interface ToolAnswering extends AskedPast {
  readonly page: AnswerPage
  /** The answer is left before its end, so that what it lacks is not known. */
  readonly leave: () => void
  /** The answer lacks something, which its items say. */
  readonly noteIncomplete: () => void
}

/** A tool as the server offers it. */
export interface PastTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: InputSchema
  /** Whether the items after a page are offered too, so that their number is known. */
  readonly countsFurther: boolean
  /** What concerns pages. @throws Misasked */
  readonly pageOf: (given: Readonly<Record<string, unknown>>) => PageWanted
  /** Offers the items to the page. Rejects with Misasked and ExportError. */
  readonly answer: (given: Readonly<Record<string, unknown>>, answering: ToolAnswering) => Promise<void>
}

interface PageWanted {
  readonly limit: number
  readonly continue: string | undefined
}

const pageParameters = {
  limit: integerOr(50, 500, "at most so many items; an answer is also limited to 64 KiB"),
  continue: optionalText("for the next page: what the page before has in continue, with the same other parameters"),
}

interface DeclaredTool<Table extends ParameterTable> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly parameters: Table
  /** Default: true. */
  readonly countsFurther?: boolean
  readonly answer: (values: ParameterValues<Table>, answering: ToolAnswering) => Promise<void>
}

/** Declares a tool; the parameters for pages are added. */
export const pastTool = <Table extends ParameterTable>(declared: DeclaredTool<Table>): PastTool => {
  const { name, title, description, parameters, countsFurther = true, answer } = declared
  const table = { ...parameters, ...pageParameters }
  return {
    name,
    title,
    description,
    countsFurther,
    inputSchema: inputSchemaOf(table),
    pageOf: (given) => {
      const { limit, continue: next } = readParameters(table, given) as ParameterValues<typeof pageParameters>
      return { limit, continue: next }
    },
    answer: (given, answering) => answer(readParameters(table, given) as ParameterValues<Table>, answering),
  }
}
