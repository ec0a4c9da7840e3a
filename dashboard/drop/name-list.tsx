import { count, harmless } from '../../client/words.ts'

/** Names shown before the rest is folded away. */
const FEW = 3

interface NameListProps {
  title: string
  names: readonly string[]
}

/** Names of files: a few at once, all on request. */
export function NameList({ title, names }: NameListProps) {
  if (names.length === 0) return null
  const few = names.slice(0, FEW).map(harmless).join(', ')
  if (names.length <= FEW)
    return (
      <p class="names small">
        {title}: {few}
      </p>
    )
  return (
    <details class="names small">
      <summary>
        {title}: {few} and {count(names.length - FEW, 'other')}
      </summary>
      <ul>
        {names.map((name) => (
          <li key={name}>{harmless(name)}</li>
        ))}
      </ul>
    </details>
  )
}
