import { pluralize } from '../../protocol/format.ts'
import type { Exclusion } from '../../protocol/ignore/exclusions.ts'
import { describeExclusion } from '../../protocol/publish-story.ts'

/** Names shown before the rest is collapsed. */
const MAX_VISIBLE_NAMES = 3

/** Skipped files and why: the first few, all on request. */
export function SkippedFiles({ excluded }: { excluded: readonly Exclusion[] }) {
  if (excluded.length === 0) return null
  const title = `Skipped ${pluralize(excluded.length, 'file')}`
  const visible = excluded.slice(0, MAX_VISIBLE_NAMES).map(describeExclusion).join(', ')
  if (excluded.length <= MAX_VISIBLE_NAMES)
    return (
      <p class="names small">
        {title}: {visible}
      </p>
    )
  return (
    <details class="names small">
      <summary>
        {title}: {visible} and {pluralize(excluded.length - MAX_VISIBLE_NAMES, 'other')}
      </summary>
      <ul>
        {excluded.map((one) => (
          <li key={one.path}>{describeExclusion(one)}</li>
        ))}
      </ul>
    </details>
  )
}
