import { pluralize, stripControlChars } from '../../protocol/format.ts'
import type { Exclusion } from '../../protocol/ignore/exclusions.ts'
import { describeExclusion } from '../../protocol/publish-story.ts'

/** Names shown before the rest is collapsed. */
const MAX_VISIBLE_NAMES = 3

interface SkippedFilesProps {
  excluded: readonly Exclusion[]
  /** What was guessed about the files, in sentences. */
  notes: readonly string[]
}

/** Skipped files and why, and what was guessed about the others. */
export function SkippedFiles({ excluded, notes }: SkippedFilesProps) {
  return (
    <>
      <ExclusionList excluded={excluded} />
      {notes.map((note) => (
        <p key={note} class="names small">
          {stripControlChars(note)}
        </p>
      ))}
    </>
  )
}

/** The first few, all on request. */
function ExclusionList({ excluded }: Pick<SkippedFilesProps, 'excluded'>) {
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
