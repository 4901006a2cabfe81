/** Every key, and what it does. */

import { Modal } from "./modal.tsx"

const groups: ReadonlyArray<readonly [title: string, keys: ReadonlyArray<readonly [key: string, what: string]>]> = [
  [
    "Rows",
    [
      ["↑ ↓ or k j", "the row before or after"],
      ["→ ← or l h", "open or close a row"],
      ["Enter", "look at the object"],
      ["g G", "the first row, the last row"],
      ["f or /", "filter by name and kind"],
    ],
  ],
  [
    "Time",
    [
      [", .", "move the cursor by a pixel; Shift with ← → by ten"],
      ["[ ]", "the change before or after of the object"],
      ["+ −", "zoom at the cursor"],
      ["< >", "move the window by half of it"],
      ["0", "the whole recording"],
      ["F", "follow what happens now"],
    ],
  ],
  [
    "What to look at",
    [
      ["n N", "the next thing that went wrong, or the one before"],
      ["w", "the list of what went wrong"],
      ["c", "put the second cursor at the first"],
      ["d", "what differs between the two cursors"],
      ["p", "pinned windows, where the recording keeps them"],
      ["Esc", "close, or remove the cursor"],
    ],
  ],
]

export const Help = ({ onClose }: { readonly onClose: () => void }) => (
  <Modal label="Keys" onClose={onClose}>
    <h2>Keys</h2>
    <div class="columns">
      {groups.map(([title, keys]) => (
        <section key={title}>
          <h3>{title}</h3>
          <dl>
            {keys.map(([key, what]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </div>
    <p class="quiet">
      With the pointer: drag moves the window, Ctrl and the wheel zoom, a click sets the cursor, Shift-click the second
      one.
    </p>
    <Legend />
    <button type="button" onClick={onClose}>
      Close
    </button>
  </Modal>
)

const legend = [
  ["good", "as it should be"],
  ["waiting", "on its way"],
  ["bad", "something is wrong"],
  ["over", "has done what it was for"],
  ["plain", "exists"],
  ["gap", "not recorded, or changes were lost"],
  ["unseen", "so many changes that not all states were looked at: zoom in"],
] as const

const Legend = () => (
  <ul class="legend">
    {legend.map(([name, what]) => (
      <li key={name}>
        <span class={`swatch ${name}`} aria-hidden="true" />
        {what}
      </li>
    ))}
  </ul>
)
