import { useEffect } from 'preact/hooks'
import { formatDuration, formatLimit, pluralize, UNLIMITED } from '../../protocol/format.ts'
import { signedInAs } from '../api/session.ts'
import { settings } from '../api/settings.ts'
import { useSignal } from '../api/use-signal.ts'
import { DropBox } from '../drop/drop-box.tsx'
import { HAS_FOLDERS } from '../drop/file-pickers.tsx'
import { beginJob } from '../drop/jobs.ts'
import { anonymousTarget, FRONT_PLACE, setPageTarget } from '../drop/page-target.ts'
import { Button } from '../kit/button.tsx'
import { updatedSite } from './updated-site.ts'

/** The drop zone of the front page. */
export function Dropzone() {
  const updated = useSignal(updatedSite)
  useEffect(() => updated && setPageTarget(anonymousTarget(updated)), [updated])
  if (!updated)
    return (
      <DropBox
        size="page"
        title="Drop a folder, files or a ZIP here"
        phoneTitle="Choose files to publish"
        onPicked={(picked) => beginJob(FRONT_PLACE, picked, { kind: 'new' })}
      >
        <Button variant="link" onClick={publishExample}>
          Try an example site
        </Button>
        <Limits />
      </DropBox>
    )
  const { host } = new URL(updated.siteUrl)
  return (
    <DropBox
      size="page"
      title={`Drop the new version of ${host}`}
      phoneTitle={`Choose the new version of ${host}`}
      onPicked={(picked) => beginJob(FRONT_PLACE, picked, anonymousTarget(updated).destination)}
    >
      <Button
        variant="link"
        onClick={() => {
          updatedSite.value = undefined
        }}
      >
        Publish a new site instead
      </Button>
    </DropBox>
  )
}

async function publishExample(): Promise<void> {
  const { exampleSite } = await import('./example-site.ts')
  beginJob(FRONT_PLACE, exampleSite(), { kind: 'new' })
}

function Limits() {
  const isSignedIn = useSignal(signedInAs) !== null
  const { files, fileBytes, siteBytes } = isSignedIn ? settings.owned : settings.anonymous
  return (
    <p class="quiet small">
      {HAS_FOLDERS && 'You can also paste files, an image or HTML. '}
      Up to {pluralize(files, 'file')}, {formatLimit(fileBytes)} each, {formatLimit(siteBytes)} total.
      {!isSignedIn && settings.anonymousPublishing && ` ${describeAnonymousLimits()}`}
      {!isSignedIn && !settings.anonymousPublishing && (
        <>
          {' '}
          <a href="/sign-in?then=/">Sign in</a> to publish: this server publishes sites of accounts only.
        </>
      )}
    </p>
  )
}

/** A publish of a site costs a visitor without an account one request. */
function describeAnonymousLimits(): string {
  const { anonymousRequests, anonymousLifetime } = settings
  const expiry = `Sites without an account expire after ${formatDuration(anonymousLifetime)}`
  return anonymousRequests >= UNLIMITED
    ? `${expiry}.`
    : `${expiry}, and you can publish ${pluralize(anonymousRequests, 'time')} an hour.`
}
