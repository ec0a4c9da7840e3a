import { pluralize, stripControlChars } from '../../protocol/format.ts'

/** Names shown before the rest is collapsed. */
const MAX_VISIBLE_NAMES = 3

interface NameListProps {
  /** What the names are, in the singular: "system file". */
  kind: string
  names: readonly string[]
}

/** Names of skipped files: the first few, all on request. */
export function NameList({ kind, names }: NameListProps) {
  if (names.length === 0) return null
  const title = `Skipped ${pluralize(names.length, kind)}`
  const visible = names.slice(0, MAX_VISIBLE_NAMES).map(stripControlChars).join(', ')
  if (names.length <= MAX_VISIBLE_NAMES)
    return (
      <p class="names small">
        {title}: {visible}
      </p>
    )
  return (
    <details class="names small">
      <summary>
        {title}: {visible} and {pluralize(names.length - MAX_VISIBLE_NAMES, 'other')}
      </summary>
      <ul>
        {names.map((name) => (
          <li key={name}>{stripControlChars(name)}</li>
        ))}
      </ul>
    </details>
  )
}
