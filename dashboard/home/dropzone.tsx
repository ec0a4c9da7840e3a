import { useEffect } from 'preact/hooks'
import { formatDuration, formatLimit, pluralize } from '../../protocol/format.ts'
import { signedInAs } from '../api/session.ts'
import { settings } from '../api/settings.ts'
import { useSignal } from '../api/use-signal.ts'
import type { AnonymousSite } from '../drop/anonymous-sites.ts'
import { DropBox } from '../drop/drop-box.tsx'
import { beginJob } from '../drop/jobs.ts'
import { type DropTarget, FRONT_PLACE, setPageTarget } from '../drop/page-target.ts'
import { Button } from '../kit/button.tsx'

interface DropzoneProps {
  /** The anonymous site that the next drop updates; by default it publishes a new one. */
  updated: AnonymousSite | undefined
  onCancel: () => void
}

/** The drop zone of the front page. */
export function Dropzone({ updated, onCancel }: DropzoneProps) {
  useEffect(() => updated && setPageTarget(updateTarget(updated)), [updated])
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
      onPicked={(picked) => beginJob(FRONT_PLACE, picked, updateTarget(updated).destination)}
    >
      <Button variant="link" onClick={onCancel}>
        Publish a new site instead
      </Button>
    </DropBox>
  )
}

async function publishExample(): Promise<void> {
  const { exampleSite } = await import('./example-site.ts')
  beginJob(FRONT_PLACE, exampleSite(), { kind: 'new' })
}

function updateTarget(site: AnonymousSite): DropTarget {
  return {
    place: FRONT_PLACE,
    path: '/',
    destination: { kind: 'anonymous', site },
    label: `Publish as new version of ${new URL(site.siteUrl).host}`,
  }
}

function Limits() {
  const isSignedIn = useSignal(signedInAs) !== null
  const { files, fileBytes, siteBytes } = isSignedIn ? settings.owned : settings.anonymous
  return (
    <p class="quiet small">
      Up to {pluralize(files, 'file')}, {formatLimit(fileBytes)} each, {formatLimit(siteBytes)} total.{' '}
      {isSignedIn
        ? ''
        : `Sites without an account expire after ${formatDuration(settings.anonymousLifetime)}.`}
    </p>
  )
}
