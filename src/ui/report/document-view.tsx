/** A report: headings, tiles, tables, charts, and what can be unfolded. */

import { useState } from "preact/hooks"
import type { Block, DocumentChart, DocumentRow, PageDocument, Phrase, Phrases } from "../../page/document.ts"
import { visible } from "../text/shown-text.ts"
import { useScheme } from "../timeline/scheme.ts"
import { StepChart } from "./step-chart.tsx"

/** Characters of one text. */
const longest = 2000

/** Rows of a table, and blocks after one another, that are drawn until more are asked for. */
const mostShown = 200

export const DocumentView = ({ document: { title, blocks } }: { readonly document: PageDocument }) => {
  useScheme("auto")
  return (
    <main class="report">
      <h1>{visible(title, longest)}</h1>
      <Contents blocks={blocks} />
      <Blocks blocks={blocks} />
    </main>
  )
}

/** Links to the headings, where there are several. */
const Contents = ({ blocks }: { readonly blocks: ReadonlyArray<Block> }) => {
  const headings = blocks.flatMap((block) => (block.type === "heading" ? [block.text] : []))
  if (headings.length < 2) return null
  return (
    <nav aria-label="Parts of the page">
      {headings.map((text) => (
        <a key={text} href={`#${idOf(text)}`}>
          {visible(text)}
        </a>
      ))}
    </nav>
  )
}

const idOf = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")

const Blocks = ({ blocks }: { readonly blocks: ReadonlyArray<Block> }) => {
  const [most, setMost] = useState(mostShown)
  return (
    <>
      {blocks.slice(0, most).map((block, index) => (
        <Shown key={index} block={block} />
      ))}
      {blocks.length > most && <More left={blocks.length - most} onMore={() => setMost(most + mostShown)} />}
    </>
  )
}

const More = ({ left, onMore }: { readonly left: number; readonly onMore: () => void }) => (
  <button type="button" class="more" onClick={onMore}>
    {`${left} more`}
  </button>
)

const Shown = ({ block }: { readonly block: Block }) => {
  switch (block.type) {
    case "heading":
      return <h2 id={idOf(block.text)}>{visible(block.text, longest)}</h2>
    case "text":
      return (
        <p>
          <Text of={block.text} />
        </p>
      )
    case "tiles":
      return (
        <div class="report-tiles">
          {block.tiles.map(({ label, value, note, mood }) => (
            <div key={label} class="tile">
              <span>{label}</span>
              <b class={mood ?? ""}>{value}</b>
              <span class="quiet">{note}</span>
            </div>
          ))}
        </div>
      )
    case "table":
      return <Table columns={block.columns} rows={block.rows} />
    case "charts":
      return (
        <div class="charts">
          {block.charts.map((chart) => (
            <StepChart key={chart.title} title={visible(chart.title)} note={chart.note} lines={linesOf(chart)} />
          ))}
        </div>
      )
    case "fold":
      return <Fold summary={block.summary} blocks={block.blocks} />
  }
}

const linesOf = ({ lines, points }: DocumentChart) =>
  lines.map(({ name, values, isDashed = false }) => ({
    ...{ name, isDashed },
    points: [
      ...values.map((value, index) => [index / points, value] as const),
      [values.length / points, values.at(-1) ?? null] as const,
    ],
  }))

/** What is in it is drawn when it is opened first. */
const Fold = ({ summary, blocks }: { readonly summary: Phrases; readonly blocks: ReadonlyArray<Block> }) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <Text of={summary} />
      </summary>
      {isOpen && <Blocks blocks={blocks} />}
    </details>
  )
}

const Table = ({ columns, rows }: Pick<Extract<Block, { type: "table" }>, "columns" | "rows">) => {
  const [most, setMost] = useState(mostShown)
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled with the keyboard */}
      <div class="table" tabIndex={0}>
        <table>
          <thead>
            <tr>
              {columns.map(({ label, isNumber = false }, index) =>
                label === "" ? (
                  <td key={index} />
                ) : (
                  <th key={index} scope="col" class={isNumber ? "number" : ""}>
                    {visible(label)}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, most).map((row, index) => (
              <Row key={index} row={row} columns={columns} />
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > most && <More left={rows.length - most} onMore={() => setMost(most + mostShown)} />}
    </>
  )
}

type RowProps = Pick<Extract<Block, { type: "table" }>, "columns"> & { readonly row: DocumentRow }

const Row = ({ row, columns }: RowProps) => {
  if (typeof row === "string")
    return (
      <tr>
        <th scope="rowgroup" colSpan={columns.length}>
          {visible(row)}
        </th>
      </tr>
    )
  return (
    <tr>
      {row.map((cell, index) => (
        <td key={index} class={columns[index]?.isNumber === true ? "number" : ""}>
          <Text of={cell} />
        </td>
      ))}
    </tr>
  )
}

const Text = ({ of }: { readonly of: Phrases }) => (
  <>
    {(isList(of) ? of : [of]).map((phrase, index) => (
      <One key={index} phrase={phrase} />
    ))}
  </>
)

const isList = (phrases: Phrases): phrases is ReadonlyArray<Phrase> => Array.isArray(phrases)

const One = ({ phrase }: { readonly phrase: Phrase }) => {
  if (typeof phrase === "string") return <>{visible(phrase, longest)}</>
  if ("path" in phrase) {
    const { path, before, after } = phrase
    return (
      <span class="field code">
        <span class="path">{path === "" ? "(everything)" : visible(path)}</span>{" "}
        {before === undefined ? "(absent)" : <del>{visible(before, longest)}</del>} →{" "}
        {after === undefined ? "(absent)" : <ins>{visible(after, longest)}</ins>}
      </span>
    )
  }
  const { text, mood = "", form = "" } = phrase
  const shown = visible(text, longest)
  if (form === "code") return <span class={`code line ${mood}`}>{shown}</span>
  return form === "strong" ? <b class={mood}>{shown}</b> : <span class={`${form} ${mood}`}>{shown}</span>
}
