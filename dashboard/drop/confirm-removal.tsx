import { formatNumber, pluralize, stripControlChars } from '../../protocol/format.ts'
import { Button } from '../kit/button.tsx'
import type { Preflight } from './preflight.ts'
import type { Publication, Step } from './publication.ts'
import { StepHeading } from './step-heading.tsx'

interface ConfirmRemovalProps {
  step: Extract<Step, { at: 'replacing' }>
  publication: Publication
  onClose: () => void
}

/** The decision before an update removes the start page or most files of a site. */
export function ConfirmRemoval({ step, publication, onClose }: ConfirmRemovalProps) {
  const { preflight, removal, sameName } = step
  const { files, liveFiles, index } = removal
  const removed =
    files === liveFiles
      ? pluralize(files, 'file')
      : `${formatNumber(files)} of ${pluralize(liveFiles, 'file')}`
  return (
    <>
      <StepHeading focused>
        Replace {liveFiles === 1 ? 'the only' : 'all'} {pluralize(liveFiles, 'file')} with{' '}
        {formatNumber(preflight.files.length)}?
      </StepHeading>
      <p>
        Replacing everything removes {removed} from the site
        {index && ', including its start page, index.html'}.
      </p>
      <p>
        Adding changes only <bdi>{describePlace(preflight.files)}</bdi>.
        {sameName !== undefined && (
          <>
            {' '}
            Your site has <bdi>{stripControlChars(sameName)}</bdi>.
          </>
        )}
      </p>
      <div class="choices">
        {sameName !== undefined && (
          <Button onClick={() => publication.publish(renameFile(preflight, sameName), 'merge')}>
            Replace {stripControlChars(sameName)}
          </Button>
        )}
        <Button variant="main" onClick={() => publication.publish(preflight, 'merge')}>
          Add to the site
        </Button>
        <Button variant="danger" onClick={() => publication.publish(preflight, 'replace')}>
          Replace everything
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </>
  )
}

/** The findings with their only file under this path. */
function renameFile(preflight: Preflight, path: string): Preflight {
  return { ...preflight, files: preflight.files.map((file) => ({ ...file, path })) }
}

/** Number of paths that are named. */
const MAX_NAMED = 3

/** "style.css, in the top folder", or "a.txt, b.txt, c.txt and 2 more". */
function describePlace(files: readonly { path: string }[]): string {
  const names = files.slice(0, MAX_NAMED).map(({ path }) => stripControlChars(path))
  const more = files.length - names.length
  const place = files.some(({ path }) => path.includes('/')) ? '' : ', in the top folder'
  return names.join(', ') + (more > 0 ? ` and ${formatNumber(more)} more` : '') + place
}
