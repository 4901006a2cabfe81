/**
 * The program of an export request. The parser is loaded with the first request that has one, so that a recorder without such requests does not pay for it.
 */
import type { Program } from "../../trace/transform/language/program.ts"
import { type ExportRefusal, type ExportRequest, windowOf } from "./request.ts"

/** The program, if there is one, or why the request is refused. Never rejects for what a program is. */
export const requestedProgram = async (
  request: ExportRequest,
): Promise<{ readonly program?: Program } | { readonly refusal: ExportRefusal }> => {
  const { transform } = request
  if (transform === undefined) return {}
  const [{ faultAt, parseProgram, ProgramError }, { insertionsOf }, { TransformFailed }] = await Promise.all([
    import("../../trace/transform/language/parse-program.ts"),
    import("../../trace/transform/insertions.ts"),
    import("../../trace/transform/transform-failed.ts"),
  ])
  try {
    const program = parseProgram(transform)
    const { fromTime, untilTime } = windowOf(request)
    insertionsOf(program, { start: fromTime, end: untilTime })
    return { program }
  } catch (error) {
    const fault =
      error instanceof TransformFailed
        ? faultAt(transform, error.at ?? 0, error.message)
        : error instanceof ProgramError
          ? error
          : undefined
    if (fault === undefined) throw error
    return { refusal: { status: 400, message: `transform: ${fault.message}` } }
  }
}
