import { useState } from 'preact/hooks'
import { formatDuration, formatLimit, pluralize } from '../../protocol/format.ts'
import { signedInAs } from '../api/session.ts'
import { settings } from '../api/settings.ts'
import { useSignal } from '../api/use-signal.ts'
import type { AnonymousSite } from '../drop/anonymous-sites.ts'
import { DropBox } from '../drop/drop-box.tsx'
import { useDropTarget } from '../drop/drop-target.ts'
import { Publishing } from '../drop/drop-to-update.tsx'
import { beginJob, endJob, isBusy, jobAt, NOTHING } from '../drop/jobs.ts'
import type { Selection } from '../drop/selection.ts'
import { Button } from '../kit/button.tsx'
import { RecentSites } from './recent-sites.tsx'

const PLACE = 'front'

/** The drop zone of the front page, its job, and sites dropped here before. */
export function Dropzone() {
  const job = useSignal(jobAt(PLACE))
  const step = useSignal(job?.step ?? NOTHING)
  const isOpen = !job || !isBusy(step)
  const [updated, update] = useState<AnonymousSite | undefined>(undefined)
  const begin = (picked: Selection) => {
    beginJob(PLACE, picked, updated ? { kind: 'anonymous', site: updated } : { kind: 'new' })
    update(undefined)
  }
  const isOver = useDropTarget({ open: isOpen, onPicked: begin })
  const askForUpdate = (site: AnonymousSite) => {
    endJob(PLACE)
    update(site)
    scrollTo({ top: 0 })
  }
  return (
    <>
      {job ? (
        <div class={isOver ? 'drop-on over' : 'drop-on'}>
          <Publishing key={job} job={job} place={PLACE} />
        </div>
      ) : updated ? (
        <DropBox
          size="page"
          title={`Drop the new version of ${new URL(updated.siteUrl).host}`}
          phoneTitle={`Choose the new version of ${new URL(updated.siteUrl).host}`}
          isOver={isOver}
          onPicked={begin}
        >
          <Button variant="link" onClick={() => update(undefined)}>
            Publish something new instead
          </Button>
        </DropBox>
      ) : (
        <DropBox
          size="page"
          title="Drop a folder, files or a zip here"
          phoneTitle="Choose what to publish"
          isOver={isOver}
          onPicked={begin}
        >
          <Limits />
        </DropBox>
      )}
      <RecentSites onUpdate={isOpen ? askForUpdate : undefined} />
    </>
  )
}

function Limits() {
  const isSignedIn = useSignal(signedInAs) !== null
  const { files, fileBytes, siteBytes } = isSignedIn ? settings.owned : settings.anonymous
  return (
    <p class="quiet small">
      Up to {pluralize(files, 'file')}, {formatLimit(fileBytes)} a file and {formatLimit(siteBytes)} in all.{' '}
      {isSignedIn
        ? ''
        : `Without an account it lasts ${formatDuration(settings.anonymousLifetime)}, or for good once claimed.`}
    </p>
  )
}
