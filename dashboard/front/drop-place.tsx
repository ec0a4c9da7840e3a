import { useState } from 'preact/hooks'
import { bound, count, span } from '../../client/words.ts'
import { signedInAs } from '../api/session.ts'
import { settings } from '../api/settings.ts'
import { useKept } from '../api/use-kept.ts'
import type { AnonymousSite } from '../drop/anonymous-sites.ts'
import { DropBox } from '../drop/drop-box.tsx'
import { useDropTarget } from '../drop/drop-target.ts'
import { Publishing } from '../drop/drop-to-update.tsx'
import { beginJob, endJob, isBusy, jobAt, NOTHING } from '../drop/jobs.ts'
import type { Picked } from '../drop/picked.ts'
import { Button } from '../kit/button.tsx'
import { PublishedHere } from './published-here.tsx'

const PLACE = 'front'

/** The large place to drop something, what becomes of it, and what was dropped here before. */
export function DropPlace() {
  const job = useKept(jobAt(PLACE))
  const step = useKept(job?.step ?? NOTHING)
  const isOpen = !job || !isBusy(step)
  const [updated, update] = useState<AnonymousSite | undefined>(undefined)
  const begin = (picked: Picked) => {
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
          <Button look="link" onClick={() => update(undefined)}>
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
      <PublishedHere onUpdate={isOpen ? askForUpdate : undefined} />
    </>
  )
}

function Limits() {
  const isSignedIn = useKept(signedInAs) !== null
  const { files, fileBytes, siteBytes } = isSignedIn ? settings.owned : settings.anonymous
  return (
    <p class="quiet small">
      Up to {count(files, 'file')}, {bound(fileBytes)} a file and {bound(siteBytes)} in all.{' '}
      {isSignedIn
        ? ''
        : `Without an account it lasts ${span(settings.anonymousLifetime)}, or for good once claimed.`}
    </p>
  )
}
