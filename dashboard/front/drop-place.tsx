import { useState } from 'preact/hooks'
import { count, size, span } from '../../client/words.ts'
import { signedInAs } from '../api/session.ts'
import { settings } from '../api/settings.ts'
import { useKept } from '../api/use-kept.ts'
import type { AnonymousSite } from '../drop/anonymous-sites.ts'
import type { Destination } from '../drop/destination.ts'
import { DropBox } from '../drop/drop-box.tsx'
import { Publishing } from '../drop/drop-to-update.tsx'
import { jobAt } from '../drop/jobs.ts'
import type { Picked } from '../drop/picked.ts'
import { Button } from '../kit/button.tsx'
import { PublishedHere } from './published-here.tsx'

const PLACE = 'front'

/** The large place to drop something, what becomes of it, and what was dropped here before. */
export function DropPlace() {
  const job = useKept(jobAt(PLACE))
  const [updated, update] = useState<AnonymousSite | undefined>(undefined)
  const begin = (picked: Picked) => {
    const destination: Destination = updated ? { kind: 'anonymous', site: updated } : { kind: 'new' }
    update(undefined)
    jobAt(PLACE).value = { picked, destination }
  }
  return (
    <>
      {job ? (
        <Publishing key={job} job={job} place={PLACE} />
      ) : updated ? (
        <DropBox
          size="page"
          title={`Drop the new version of ${new URL(updated.siteUrl).host}`}
          onPicked={begin}
        >
          <Button look="link" onClick={() => update(undefined)}>
            Publish something new instead
          </Button>
        </DropBox>
      ) : (
        <DropBox size="page" title="Drop a folder, files or a zip here" onPicked={begin}>
          <Limits />
        </DropBox>
      )}
      <PublishedHere onUpdate={job ? undefined : update} />
    </>
  )
}

function Limits() {
  const isSignedIn = useKept(signedInAs) !== null
  const { files, fileBytes, siteBytes } = isSignedIn ? settings.owned : settings.anonymous
  return (
    <p class="quiet small">
      Up to {count(files, 'file')}, {size(fileBytes)} a file and {size(siteBytes)} in all.{' '}
      {isSignedIn
        ? ''
        : `Without an account it lasts ${span(settings.anonymousLifetime)}, or for good once claimed.`}
    </p>
  )
}
